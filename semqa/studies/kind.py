"""How a task for raters is declared: items, stages, what each stage shows, and its questions.

A stage is shown once the one before was answered and saved, and only then is what it shows sent to the
browser. That keeps the source hidden, as AIS demands, from raters who look at the page's traffic as well.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from semqa.data.jsonl import Row
    from semqa.studies.folder import Study

Part = dict[str, Any]
"""A thing that a stage shows, as JSON: its ``kind`` names the function of the page that draws it."""

Format = Literal["csv", "jsonl"]

Table = tuple["Sequence[str]", "Sequence[Sequence[str]]"]
"""Headers, of which the first names the table, and rows."""

_Vote = TypeVar("_Vote", bound=Hashable)

MAX_TEXT = 10_000
"""Characters that a rater may write in one field."""

MAX_SPANS = 100
"""Spans that a rater may mark for one question."""


class Input(NamedTuple):
    """A file or folder to make items of.

    Attributes:
        name: what the user called it (``NAME=FILE``), such as the name of a system; may be empty.
        gold: whether its items must say what the right answers are (`expected_of`).
    """

    path: Path
    name: str = ""
    gold: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to rate.

    Raters see none of these fields, only what the stages show.

    Attributes:
        data: whatever the kind needs to show it; JSON.
        expected: the right answers of a gold item, by question; None for an ordinary one.
    """

    item: str
    system: str
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)
    expected: Mapping[str, Any] | None = field(default=None, hash=False)


class Option(NamedTuple):
    """One of the answers to a question.

    Attributes:
        alone: of ``several``, whether it excludes the others, such as "none of them".
    """

    value: bool | int | str
    label: str
    hint: str = ""
    alone: bool = False


def levels(*labels: str) -> tuple[Option, ...]:
    """Return the options of a scale, from 1."""
    return tuple(Option(level, label) for level, label in enumerate(labels, 1))


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a rater.

    Attributes:
        answer: ``choice`` of one option; ``scale``, the same in a row; ``several`` options;
            ``toggle``, true or false; ``text``; ``lines``, a text in which Enter begins a new
            line; or ``spans``, marked in a text that is shown, as pairs of offsets in code points.
        when: asked only if each question named here has one of these answers.
        lines_of: a question of an earlier stage; the lines of its answer are options, numbered from
            1, before the others.
        part: of ``spans``, the ``id`` of the part that has the text.
        length: of ``spans``, the code points of that text.
    """

    id: str
    text: str
    answer: Literal["choice", "scale", "several", "toggle", "text", "lines", "spans"]
    options: tuple[Option, ...] = ()
    when: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    required: bool = True
    hint: str = ""
    lines_of: str = ""
    part: str = ""
    length: int = 0

    def with_lines(self, values: Mapping[str, Any]) -> Question:
        """Return the question with the options that an earlier answer gives; see `lines_of`."""
        if not self.lines_of:
            return self
        lines = (line.strip() for line in str(values.get(self.lines_of, "")).splitlines())
        given = (Option(n, line) for n, line in enumerate(filter(None, lines), 1))
        return replace(self, options=(*given, *self.options))

    def asked(self, values: Mapping[str, Any]) -> bool:
        """Whether these answers lead to this question."""
        return all(
            any(same(values.get(name), value) for value in wanted) for name, wanted in self.when
        )

    def check(self, value: object) -> Any:
        """Return an allowed answer, or None if it is empty."""
        if self.answer == "toggle":
            if not isinstance(value, bool | None):
                raise InputError("must be true or false.", field=self.id)
            return bool(value)
        if value is None or value in ("", []):
            if self.required:
                raise InputError("is not answered.", field=self.id)
            return None
        if self.answer in ("text", "lines"):
            if not isinstance(value, str) or len(value) > MAX_TEXT:
                raise InputError(f"must be at most {MAX_TEXT:,} characters.", field=self.id)
            return value.strip() or None
        if self.answer == "spans":
            return self._spans(value)
        if self.answer == "several":
            chosen = value if isinstance(value, list) else [value]
            found = [o for o in self.options if self._one(chosen, o.value)]
            if len(found) > 1 and any(option.alone for option in found):
                raise InputError("has an option that excludes the others.", field=self.id)
            return [option.value for option in found] or None
        if not any(same(option.value, value) for option in self.options):
            raise InputError("is not one of the options.", field=self.id)
        return value

    def _one(self, chosen: Sequence[Any], value: object) -> bool:
        known = [option.value for option in self.options]
        if not all(any(same(each, other) for other in known) for each in chosen):
            raise InputError("is not among the options.", field=self.id)
        return any(same(each, value) for each in chosen)

    def _spans(self, value: object) -> list[list[int]]:
        """Return spans in order, those that touch as one."""
        given = value if isinstance(value, list) else [value]
        if len(given) > MAX_SPANS or not all(self._fits(each) for each in given):
            raise InputError("must be spans of the text.", field=self.id)
        found: list[list[int]] = []
        for start, end in sorted(given):
            if found and start <= found[-1][1]:
                found[-1][1] = max(end, found[-1][1])
            else:
                found.append([start, end])
        return found

    def _fits(self, span: object) -> bool:
        if not isinstance(span, list) or [type(each) for each in span] != [int, int]:
            return False
        return bool(0 <= span[0] < span[1] <= self.length)

    def to_dict(self) -> dict[str, Any]:
        """Return what the page needs to ask it."""
        return {
            "id": self.id,
            "text": self.text,
            "answer": self.answer,
            "options": [option._asdict() for option in self.options],
            "when": [[name, list(wanted)] for name, wanted in self.when],
            "required": self.required,
            "hint": self.hint,
            "part": self.part,
        }


def same(one: object, other: object) -> bool:
    """Whether two JSON values are equal; true is not 1."""
    return type(one) is type(other) and one == other


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of a task.

    Attributes:
        parts: what it shows, beside what earlier stages showed; a part takes the place of one with
            the same ``id``.
        questions: what it asks; a stage none of whose questions is asked is skipped.
        revisable: whether it may be changed though later stages were shown. None of these may
            depend on its answers, nor show what it has to be answered without.
    """

    title: str
    parts: tuple[Part, ...]
    questions: tuple[Question, ...]
    revisable: bool = False

    def asked(self, values: Mapping[str, Any]) -> bool:
        """Whether these answers lead to this stage."""
        return any(question.asked(values) for question in self.questions)

    def check(self, values: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answers of this stage, those of questions that are not asked left out."""
        found: dict[str, Any] = {}
        for question in self.questions:
            if question.asked({**before, **found}):
                known = question.with_lines(before)
                answer = known.check(values.get(question.id))
                if answer is not None:
                    found[question.id] = answer
        return found


class Rated(NamedTuple):
    """A finished rating.

    Attributes:
        seconds: time that the rater worked on it, pauses left out.
        saved: when, in microseconds since 1970, UTC.
        revision: 1 for an answer that was never corrected.
        place: the rater's, in the order in which raters were added, from 0.
    """

    item: Item
    rater: str
    values: dict[str, Any]
    seconds: float
    saved: int
    revision: int
    place: int = 0


class Given(NamedTuple):
    """A finished rating that comes from elsewhere."""

    item: int
    values: dict[str, Any]


class Figures(NamedTuple):
    """What a study found."""

    record: dict[str, Any]
    tables: Sequence[Table]
    notes: Sequence[str]


class Kind(ABC):
    """A kind of task.

    Attributes:
        designs: how the same thing can be asked; the first is the default.
        adjudicated: designs in which an item goes to one more rater while it is `undecided`.
        reviewed: whether reviewers can accept what was saved, or send it back (`review`).
    """

    name: str
    title: str
    designs: tuple[str, ...] = ("standard",)
    view: str = "form"
    per_item: int = 3
    adjudicated: tuple[str, ...] = ()
    reviewed: bool = False

    @abstractmethod
    def read(self, inputs: Sequence[Input], design: str) -> list[Item]:
        """Make items of files."""

    @abstractmethod
    def stages(self, item: Item, design: str) -> tuple[Stage, ...]:
        """Return the steps of rating an item."""

    def check(
        self,
        item: Item,
        design: str,
        stage: int,
        values: Mapping[str, Any],
        before: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Return the answers of a stage that are allowed; see `Stage.check`."""
        return self.stages(item, design)[stage].check(values, before)

    def review(self, item: Item, design: str, values: Mapping[str, Any]) -> tuple[Part, ...]:
        """Return what a reviewer sees of a finished item; nothing unless the kind is `reviewed`."""
        del item, design, values
        return ()

    def keep(self, inputs: Sequence[Input]) -> dict[str, bytes]:
        """Return files that an export needs, by name: they are kept in the folder of the study."""
        del inputs
        return {}

    def key(self, item: Item) -> tuple[str, ...]:
        """Return what tells an item from others: none may be in a study twice."""
        return item.item, item.system

    def guidelines(self, design: str) -> str:
        """Return the guidelines for raters, in Markdown; the file is a template over the design."""
        from jinja2 import Environment, StrictUndefined

        text = (files("semqa.studies") / "guidelines" / f"{self.name}.md").read_text("utf-8")
        environment = Environment(undefined=StrictUndefined, trim_blocks=True)  # noqa: S701 - Markdown
        return environment.from_string(text).render(design=design).strip() + "\n"

    def right(self, item: Item, values: Mapping[str, Any]) -> bool:
        """Whether a rater's answers to a gold item are among the expected ones."""
        return all(
            any(same(values.get(name), value) for value in _listed(wanted))
            for name, wanted in (item.expected or {}).items()
        )

    def undecided(self, item: Item, given: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the answers of all raters of an item need one more rater to settle them."""
        del item, given
        return False

    def imported(self, study: Study, inputs: Sequence[Input]) -> list[Given]:
        """Return the finished ratings in files, such as released ones."""
        del study, inputs
        raise InputError(f"Ratings of the kind {self.name} cannot be imported.")

    def released(self, study: Study, ratings: Sequence[Rated]) -> dict[str, Iterable[bytes]]:
        """Return the files that the study was made of, with its verdicts, by name."""
        return {f"{self.name}.csv": self.export(study, ratings, "csv")}

    @abstractmethod
    def export(self, study: Study, ratings: Sequence[Rated], form: Format) -> Iterable[bytes]:
        """Return the lines of a file of ratings, in the form in which such ratings are released."""

    @abstractmethod
    def report(self, studies: Sequence[tuple[Study, Sequence[Rated]]]) -> Figures:
        """Compute the figures of the paper.

        Args:
            studies: with their ratings; several ones of a kind, such as of different designs, are
                compared.
        """


def expected_of(row: Row, *, gold: bool) -> dict[str, Any] | None:
    """Return the right answers of a gold item, by question; a list is of answers that will do."""
    found = row.fields.get("expected")
    if found is None and not gold:
        return None
    if not isinstance(found, dict) or not found:
        raise InputError(
            "must be an object of right answers by question.", field="expected", where=row.where
        )
    return found


def _listed(wanted: object) -> list[Any]:
    return wanted if isinstance(wanted, list) else [wanted]


def next_stage(stages: Sequence[Stage], done: int, values: Mapping[str, Any]) -> int | None:
    """Return the first stage from `done` on that the answers lead to, or None."""
    return next((n for n in range(done, len(stages)) if stages[n].asked(values)), None)


def text_part(label: str, text: str) -> Part:
    """Return a text under a label."""
    return {"kind": "text", "label": label, "text": text}


def spans_of(spans: Iterable[Sequence[int]] | None, text: str) -> list[dict[str, Any]]:
    """Return marked spans as exports have them: offsets in code points, and what is marked.

    Example:
        >>> spans_of([[3, 5]], "It is.")
        [{'start': 3, 'end': 5, 'text': 'is'}]
    """
    return [{"start": start, "end": end, "text": text[start:end]} for start, end in spans or ()]


def tied(votes: Iterable[Hashable]) -> bool:
    """Whether the most frequent vote has as many as another.

    Example:
        >>> tied("ab"), tied("aba"), tied("abc"), tied("")
        (True, False, True, False)
    """
    counts = [count for _, count in Counter(votes).most_common(2)]
    return len(counts) == 2 and counts[0] == counts[1]


def majority(votes: Sequence[_Vote]) -> _Vote | None:
    """Return the most frequent vote, or None if there are no votes or a tie."""
    return None if not votes or tied(votes) else Counter(votes).most_common(1)[0][0]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    Example:
        >>> counted(1, "item"), counted(1200, "item"), counted(2, "summary")
        ('1 item', '1,200 items', '2 summaries')
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("y") else f"{number:,} {noun}s"


def json_bytes(row: Mapping[str, Any]) -> bytes:
    """Return a line of JSON."""
    return (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n").encode()
