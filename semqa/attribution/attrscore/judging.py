"""Ask a judge for the label of each claim, with prompts or by entailment; records of runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from semqa.attribution.attrscore.examples import (
    DEFAULT_FAMILY,
    FAMILIES,
    LABEL_OF,
    LABELS,
    Example,
    Family,
    Label,
    column_of,
    label_named,
    official_label,
    parse_label,
)
from semqa.attribution.attrscore.scores import official_scores, score_by_domain, score_labels
from semqa.attribution.judges import Entailment, Judge, Pair, TooLongError, unless_too_long
from semqa.attribution.judges.replies import verdict_schema
from semqa.attribution.prompts import JudgePrompt
from semqa.attribution.records import invalid_field, kind_of, read_record, read_table
from semqa.checks import check_choice
from semqa.data.jsonl import Row, describe
from semqa.errors import InputError
from semqa.prompting.template import one_line


@dataclass(frozen=True, slots=True)
class Shot:
    """A labelled claim shown in a prompt; `why` is an optional one-sentence reason."""

    claim: str
    reference: str
    label: Label
    why: str = ""


@dataclass(frozen=True, slots=True)
class AttrPrompt:
    """A prompt for a language model; create it with `create`.

    The template has the variables ``claim``, ``reference``, ``words`` (by lower-case label, such as
    ``words.attributable``) and ``exemplars`` (each with ``claim``, ``reference``, ``word`` and
    ``why``).
    """

    family: Family
    template: JudgePrompt
    shots: tuple[Shot, ...] = ()

    @classmethod
    def create(
        cls,
        family: str = DEFAULT_FAMILY,
        *,
        prompt: Path | str | None = None,
        shots: Sequence[Shot] = (),
    ) -> AttrPrompt:
        check_choice("family", family, tuple(FAMILIES))
        chosen = FAMILIES[family]
        made = cls(chosen, JudgePrompt.load(prompt or chosen.prompt), tuple(shots))
        filled = made.fill("A test claim?", "A test reference.")
        for name in ("claim", "reference"):
            if f"A test {name}" not in filled:
                raise InputError(f"The prompt {made.template.name} must contain {{{{ {name} }}}}.")
        return made

    def fill(self, claim: str, reference: str) -> str:
        """Render the prompt for a claim.

        Line breaks in texts become spaces. So a text cannot imitate a part of the prompt, and only
        the template can put a label at the beginning of a line.
        """
        return self.template.fill(
            claim=one_line(claim),
            reference=one_line(reference),
            words={label.lower(): self.family.word(label) for label in LABELS},
            exemplars=[
                {
                    "claim": one_line(shot.claim),
                    "reference": one_line(shot.reference),
                    "word": self.family.word(shot.label),
                    "why": one_line(shot.why),
                }
                for shot in self.shots
            ],
        )

    def to_dict(self) -> dict[str, object]:
        """Return a JSON-ready object that identifies the prompt, for records."""
        shown = json.dumps([[s.claim, s.reference, s.label, s.why] for s in self.shots])
        return {
            "family": self.family.name,
            "template": self.template.name,
            "sha256": self.template.sha256,
            "shots": len(self.shots),
            "shots_sha256": hashlib.sha256(shown.encode()).hexdigest() if self.shots else None,
        }


def shipped_shots() -> tuple[Shot, ...]:
    """Return the exemplars shipped with semqa: two of each label, in alternating order."""
    raw = files("semqa.attribution.attrscore").joinpath("exemplars.json").read_text("utf-8")
    return tuple(_shot(Row("exemplars.json", row)) for row in json.loads(raw))


def read_shots(path: Path | str) -> tuple[Shot, ...]:
    """Read exemplars.

    A row has ``reference``, ``label``, optionally ``why``, and ``claim`` or ``query`` with
    ``answer``.
    """
    return tuple(_shot(row) for row in read_table(path))


def _shot(row: Row) -> Shot:
    claim = row.text("claim", "") or f"{row.text('query', '')} {row.text('answer', '')}"
    label = label_named(row.text("label"))
    if label is None:
        raise invalid_field(row, "label", f"one of {', '.join(LABELS)}")
    if not claim.strip():
        raise InputError("The claim is missing: give claim, or query and answer.", where=row.where)
    return Shot(claim, row.text("reference"), label, row.text("why", ""))


MAX_NEW_TOKENS = 64
"""Enough for a label and a sentence; text after the verdict is not needed."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A judge's label of an example; None if it is too long for the judge or the output unparsed.

    There is an `output` if a prompt was used, otherwise an `entailment`.
    """

    example: Example
    label: Label | None
    output: str | None = None
    entailment: Entailment | None = None
    too_long: bool = False


def uses_prompts(judge: Judge, *, prompted: bool = False) -> bool:
    """Return whether to ask a judge with prompts: if it completes them or if `prompted`."""
    prompts = prompted or "complete" in judge.abilities
    judge.require("complete" if prompts else "entailment")
    return prompts


def judge_by_prompt(
    judge: Judge,
    examples: Sequence[Example],
    prompt: AttrPrompt,
    *,
    with_query: bool = True,
    max_new_tokens: int = MAX_NEW_TOKENS,
) -> list[Judged]:
    """Ask a judge about each claim with a prompt, and parse its output.

    Source: Yue et al. 2023, prompting.
    """
    prompts = [prompt.fill(each.claim(with_query), each.reference) for each in examples]
    schema = None
    if prompt.template.name == prompt.family.prompt:  # a user's prompt may request another format
        schema = verdict_schema("label", tuple(prompt.family.words))
    outputs = unless_too_long(
        lambda some: judge.complete(some, max_new_tokens=max_new_tokens, schema=schema), prompts
    )
    return [
        Judged(example, None, too_long=True)
        if isinstance(output, TooLongError)
        else Judged(example, parse_label(output), output=output)
        for example, output in zip(examples, outputs, strict=True)
    ]


def judge_by_entailment(
    judge: Judge, examples: Sequence[Example], *, with_query: bool = True
) -> list[Judged]:
    """Judge whether each reference entails its claim; the most probable relation is the label.

    Source: like the fine-tuned classifiers in Yue et al. 2023, except that an entailment model's
    three relations stand for the three labels.
    """
    pairs = [Pair(each.reference, each.claim(with_query)) for each in examples]
    relations = unless_too_long(judge.entailment, pairs)
    return [
        Judged(example, None, too_long=True)
        if isinstance(found, TooLongError)
        else Judged(example, LABEL_OF[found.relation], entailment=found)
        for example, found in zip(examples, relations, strict=True)
    ]


_OUTPUT = ("output", "Prediction", "prediction", "response")
_LABEL = ("label", "Label", "gold")


def read_outputs(path: Path | str) -> tuple[tuple[Judged, ...], str | None]:
    """Read outputs with gold labels from a table or from the record of a run.

    In CSV, TSV, JSON lines or a JSON array, the output is in ``output``, ``prediction`` or
    ``response``, and the label in ``label`` or ``gold``. The released code's ``predictions.json``
    has this format.

    Returns:
        The parsed outputs, and the prompt family if the file is a record.
    """
    rows: Iterable[Row]
    if kind_of(path) is None:
        rows, family = read_table(path), None
    else:
        record = read_record(path, KIND)
        rows, family = record.rows, Row(record.name, record.fields).text("family")
    return tuple(
        _judged(row, n, recorded=family is not None) for n, row in enumerate(rows, 1)
    ), family


def _judged(row: Row, number: int, *, recorded: bool) -> Judged:
    """Return the parsed output of a row; only the rows of records may have no label."""
    given = None
    if not recorded or row.fields.get("label") is not None:
        given = row.text(column_of(row, _LABEL, "gold label"))
    label = None if given is None else label_named(given)
    if given is not None and label is None:
        rule = f"must be one of {', '.join(LABELS)}, got {describe(given)}."
        raise InputError(rule, field="label", where=row.where)
    query, answer, reference = (row.text(name, "") for name in ("query", "answer", "reference"))
    example = Example(
        str(row.fields.get("id") or number),
        query,
        answer,
        reference,
        label,
        where=row.where,
        domain=row.text("domain", "").strip(),
    )
    if recorded and row.fields.get("too_long"):
        return Judged(example, None, too_long=True)
    if recorded and "output" not in row.fields:
        message = "There is no output to parse, because no language model judged this run."
        raise InputError(message, where=row.where)
    output = row.text(column_of(row, _OUTPUT, "output"))
    return Judged(example, parse_label(output), output=output)


KIND = "semqa-attrscore"


def run_record(
    judged: Sequence[Judged],
    settings: Mapping[str, Any],
    *,
    family: str = DEFAULT_FAMILY,
    resamples: int = 1_000,
    seed: int = 0,
) -> dict[str, Any]:
    """Return the JSON-ready record of a run, with scores overall and by domain.

    In ``scores``, ``unlabelled`` is the number of examples without a gold label. ``official`` has
    the scores of the released code if there are labelled outputs. `settings` has judge, way,
    prompt, data and versions.
    """
    rows = [
        (each.example.domain, each.example.label, each.label)
        for each in judged
        if each.example.label
    ]
    draws: Any = {"resamples": resamples, "seed": seed}
    scores = score_labels([gold for _, gold, _ in rows], [label for *_, label in rows], **draws)
    if not rows:
        scores["unscored"] = dict.fromkeys(scores["unscored"], "no example has a gold label")
    scores["domains"] = score_by_domain(rows, **draws)
    scores["unlabelled"] = len(judged) - len(rows)
    outputs = [
        (each.example.label, official_label(each.output, family))
        for each in judged
        if each.output is not None and each.example.label is not None
    ]
    too_long = sum(each.too_long for each in judged)
    return {
        "kind": KIND,
        **settings,
        "family": family,
        **draws,
        "scores": scores,
        **({"official": official_scores(outputs)} if outputs else {}),
        **({"too_long": too_long} if too_long else {}),
        "rows": [_row(each) for each in judged],
    }


def _row(judged: Judged) -> dict[str, object]:
    row = judged.example.to_dict() | {"predicted": judged.label}
    if judged.too_long:
        row["too_long"] = True
    if judged.output is not None:
        row["output"] = judged.output
    if judged.entailment is not None:
        row["entailment"] = judged.entailment._asdict()
    return row
