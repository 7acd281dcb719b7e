"""Read files of responses: the released tables, user tables, and JSON lines.

There are six formats, recognised by their columns:

- *responses*: ``response`` and ``knowledge``, one row per response (the released files of one
  class).
- *contexts*: ``knowledge`` and, for each system, ``<system>_response`` and ``<system>_label``, one
  row per context (the released cross annotation).
- *steps*, the intermediate file of the released code: ``id``, ``response``, ``cand`` (the span),
  ``question``, ``knowledge``, ``knowledge_ans``, ``score`` (the overlap; -1 without a valid
  question), and optionally ``label``. ``[CLS]`` means no answer, and ``NO_Q`` means no question.
- JSON lines with the fields of *responses*.
- ``tc_usr_data.json``, the ratings of Topical-Chat by Mehri and Eskenazi (2020): an array of
  contexts with a ``fact`` and ``responses``. The rating is the mean of *Uses Knowledge*.
- The files of Dialogue NLI by Welleck et al. (2019): an array of pairs. ``sentence1`` is the
  knowledge, ``sentence2`` the response. A neutral response has no label and the rating 0.5.

``rating`` is a number, such as the mean of several people's ratings. ``label`` is 1 (or
``inconsistent``) for an inconsistent response and 0 (or ``consistent``) for a consistent one; if it
is empty, the response has no label. Without it, all responses of a file have the class that its
name contains, if any.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from semqa.attribution.q2.responses import Found, Question, Response, ResponseScore, repeated
from semqa.attribution.records import filled_text, invalid_field, number_of, rows_of
from semqa.data.files import open_input
from semqa.data.jsonl import Row, as_row, shown
from semqa.errors import InputError

STEP_COLUMNS = ("id", "response", "cand", "question", "knowledge", "knowledge_ans", "score")

NO_ANSWER = "[CLS]"
NO_QUESTION = -1.0


def scores_of_steps(
    rows: Sequence[Row], inconsistent: bool | None = None, *, official: bool = False
) -> list[ResponseScore]:
    """Return the responses of a *steps* table with their questions, in order of appearance.

    `inconsistent` is the class of responses without a label. With `official`, an empty answer is
    the text ``nan``, as in the released code; otherwise it means no answer.
    """
    responses: dict[str, Response] = {}
    questions: dict[str, list[Question]] = {}
    for row in rows:
        key = row.text("id")
        known = responses.get(key)
        if known is None:
            label = row.text("label", "").strip()
            if label not in {"", "0", "1"}:
                raise invalid_field(row, "label", "1 for inconsistent or 0 for consistent")
            responses[key] = Response(
                key,
                row.text("response"),
                row.text("knowledge"),
                label == "1" if label else inconsistent,
                where=row.where,
            )
            questions[key] = []
        elif known.knowledge != row.text("knowledge"):
            raise invalid_field(row, "knowledge", "the same in all rows with this id")
        rule = "a number from 0 to 1, or -1 for no valid question"
        score = number_of(row, "score", rule)
        if score != NO_QUESTION and not 0 <= score <= 1:
            raise invalid_field(row, "score", rule)
        if score == NO_QUESTION:
            continue
        answer = row.text("knowledge_ans")
        if official:
            answer = answer or "nan"
        found = None if not answer or NO_ANSWER in answer else Found(answer)
        span = row.text("cand")
        # The file states the overlap; without an answer, it does not count.
        stated = score if official or found is not None else None
        made = Question(row.text("question"), span, span, None, found, None, stated, official)
        questions[key].append(made)
    return [
        ResponseScore(response, tuple(questions[key]), official=official, spans=len(questions[key]))
        for key, response in responses.items()
    ]


_LABELS = dict.fromkeys(("1", "1.0", "inconsistent", "true"), True)
_LABELS |= dict.fromkeys(("0", "0.0", "consistent", "false"), False)
_CLASS = re.compile(r"(?:^|[^a-z])(in)?consistent(?:[^a-z]|$)")


@dataclass(frozen=True, slots=True)
class ResponseFile:
    """The contents of a file."""

    name: str
    sha256: str
    kind: Literal["responses", "contexts", "ratings", "steps"]
    responses: tuple[Response, ...]  # in file order
    dropped: int = 0  # number of duplicate responses that were left out
    steps: tuple[ResponseScore, ...] = ()  # with their questions, of a *steps* file

    @property
    def repeated(self) -> list[Response]:
        return repeated(self.responses)

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "sha256": self.sha256,
            "kind": self.kind,
            "responses": len(self.responses),
            "repeated": len(self.repeated),
            "dropped": self.dropped,
        }


def read_responses(
    path: Path | str,
    *,
    drop_repeated: bool = False,
    measures: Sequence[str] = (),
    official: bool = False,
) -> ResponseFile:
    """Read a file of responses, and the columns of scores that `measures` names.

    The file is JSON lines if the suffix is ``.jsonl`` or ``.ndjson`` or it begins with a brace, a
    JSON array, or else CSV; ``-`` is standard input. `official` reads *steps* as the released
    code does.
    """
    with open_input(path) as file:
        name, raw = file.name, file.read_all()
    rated = raw.lstrip()[:1] == b"["
    lines = Path(str(path)).suffix in {".jsonl", ".ndjson"} or raw.lstrip()[:1] in (b"{", b"[")
    rows = rows_of(raw, name, "" if lines else ".csv")
    if rated:
        rows = [each for number, row in enumerate(rows) for each in _of_item(row, number)]
    if not rows:
        raise InputError("There are no responses below the header.", where=name)
    names = list(dict.fromkeys(field for row in rows for field in row.fields))
    digest = hashlib.sha256(raw).hexdigest()
    inconsistent = class_from_name(name)
    steps: list[ResponseScore] = []
    kind: Literal["responses", "contexts", "ratings", "steps"] = "ratings" if rated else "responses"
    if set(STEP_COLUMNS) <= set(names):
        kind = "steps"
        steps = scores_of_steps(rows, inconsistent, official=official)
        found = [score.response for score in steps]
    elif "response" in names:
        found = _one_per_row(rows, inconsistent, measures)
    elif systems := _systems(names):
        kind = "contexts"
        found = _one_per_system(rows, systems, measures)
    else:
        columns = ", ".join(map(shown, names[:12])) + (" and more" if len(names) > 12 else "")
        raise InputError(
            f"There is no column 'response' or '<system>_response'. The columns are {columns}.",
            where=name,
        )
    kept = found
    if drop_repeated:
        duplicates = {id(each) for each in repeated(found)}
        kept = [each for each in found if id(each) not in duplicates]
    return ResponseFile(name, digest, kind, tuple(kept), len(found) - len(kept), tuple(steps))


def class_from_name(name: str) -> bool | None:
    """Return True for *inconsistent* in a file name, False for *consistent*, otherwise None.

    Example:
        >>> class_from_name("dodeca_inconsistent.csv"), class_from_name("mine.csv")
        (True, None)
    """
    found = {bool(match[1]) for match in _CLASS.finditer(Path(name).stem.lower())}
    return found.pop() if len(found) == 1 else None


def _systems(names: Sequence[str]) -> list[str]:
    return [
        name.removesuffix("_response")
        for name in names
        if name.endswith("_response") and name != "_response"
    ]


def _one_per_row(
    rows: Iterable[Row], inconsistent: bool | None, measures: Sequence[str]
) -> list[Response]:
    found = []
    ids: dict[str, str] = {}
    for number, row in enumerate(rows):
        key = _id(row) or str(number)
        if key in ids:
            raise InputError(f"The id {shown(key)} is already used at {ids[key]}.", where=row.where)
        ids[key] = row.where
        given = row.fields.get("system")
        system = None if given in (None, "") else str(given)
        rating = None if row.fields.get("rating") in (None, "") else number_of(row, "rating")
        one = _response(row, key, "", measures, inconsistent)
        found.append(replace(one, system=system, rating=rating))
    return found


def _one_per_system(
    rows: Iterable[Row], systems: Sequence[str], measures: Sequence[str]
) -> list[Response]:
    return [
        replace(
            _response(row, f"{number}/{system}", f"{system}_", measures),
            system=system,
            context=str(number),
        )
        for number, row in enumerate(rows)
        for system in systems
    ]


def _response(
    row: Row, key: str, prefix: str, measures: Sequence[str], inconsistent: bool | None = None
) -> Response:
    return Response(
        key,
        filled_text(row, f"{prefix}response"),
        filled_text(row, "knowledge"),
        _label(row, f"{prefix}label", inconsistent),
        where=row.where,
        scores={name: number_of(row, prefix + name) for name in measures},
    )


def _id(row: Row) -> str:
    value = row.fields.get("id")
    if isinstance(value, bool) or not isinstance(value, str | int | None):
        raise invalid_field(row, "id", "a string")
    return "" if value is None else str(value)


def _label(row: Row, column: str, default: bool | None) -> bool | None:
    value = row.fields.get(column)
    if value is None:
        return default
    if isinstance(value, str) and not value.strip():
        return None
    label = _LABELS.get(str(value).strip().lower())
    if label is None or not isinstance(value, str | int | float):
        raise invalid_field(row, column, "1 for inconsistent or 0 for consistent")
    return label


_USES_KNOWLEDGE = "Uses Knowledge"
_RELATIONS = {"positive": (0, 1.0), "neutral": (None, 0.5), "negative": (1, 0.0)}
"""Label and rating by the label of Dialogue NLI."""


def _of_item(row: Row, number: int) -> Iterator[Row]:
    """Yield the responses of an item of ``tc_usr_data.json`` or of Dialogue NLI as rows."""
    if "sentence1" in row.fields:
        texts = {"response": row.text("sentence2"), "knowledge": row.text("sentence1")}
        if (relation := row.text("label")) not in _RELATIONS:
            raise invalid_field(row, "label", "positive, neutral or negative")
        label, rating = _RELATIONS[relation]
        yield Row(row.where, {**texts, "label": label, "rating": rating})
        return
    responses = row.fields.get("responses")
    for place, each in enumerate(responses if isinstance(responses, list) else [None]):
        own = as_row(each, f"{row.where}, response {place}")
        given = own.fields.get(_USES_KNOWLEDGE)
        if not isinstance(given, list) or any(type(one) not in (int, float) for one in given):
            raise invalid_field(own, _USES_KNOWLEDGE, "a list of numbers")
        yield Row(
            own.where,
            {
                "id": f"{number}/{place}",
                "response": own.text("response"),
                "knowledge": row.text("fact"),
                "system": own.text("model"),
                "rating": fmean(given) if given else None,
            },
        )


def combine_responses(files: Sequence[tuple[str, Sequence[Response]]]) -> list[Response]:
    """Return the responses of all files; with several, ids and contexts contain the file name."""
    if len(files) == 1:
        return list(files[0][1])
    return [
        replace(
            each,
            id=f"{name}#{each.id}",
            context=None if each.context is None else f"{name}#{each.context}",
        )
        for name, responses in files
        for each in responses
    ]
