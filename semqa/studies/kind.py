"""How a rating task is declared: its items, stages, parts and questions.

The server sends a stage to the browser only after the previous stage was saved. AIS requires that
the source stay hidden until then, even from raters who inspect network traffic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from semqa.checks import check_choice, check_number
from semqa.data.csv_rows import encode_record
from semqa.data.jsonl import Row, encode_row
from semqa.errors import InputError

Part = dict[str, Any]
"""A part of a stage, as JSON; its ``kind`` selects the function in the page that draws it."""

Format = Literal["csv", "jsonl"]

Table = tuple["Sequence[str]", "Sequence[Sequence[str]]"]
"""Headers and rows; the first header names the table."""

_Vote = TypeVar("_Vote", bound=Hashable)

MAX_TEXT = 10_000
"""Maximum length of a text field, in characters."""

MAX_SPANS = 100
"""Maximum number of spans marked for one question."""


class Input(NamedTuple):
    """A file or folder to read items from, with the name that the user gave (``NAME=FILE``).

    Gold items must have expected answers (`expected_of`).
    """

    path: Path
    name: str = ""
    gold: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """An item to rate. Raters see only what its stages show.

    Attributes:
        expected: for a gold item, the expected answers by question.
    """

    item: str
    system: str
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)
    expected: Mapping[str, Any] | None = field(default=None, hash=False)

    def right(self, values: Mapping[str, Any]) -> bool:
        """Whether a rater gave the expected answers to a gold item; a list accepts any of its values."""
        return all(
            any(
                same(values.get(name), each)
                for each in (value if isinstance(value, list) else [value])
            )
            for name, value in (self.expected or {}).items()
        )


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a question; one that stands `alone`, such as "none", excludes the others."""

    value: bool | int | str
    label: str
    hint: str = ""
    alone: bool = False


def levels(*labels: str) -> tuple[Option, ...]:
    """Return the options of a scale, numbered from 1."""
    return tuple(Option(level, label) for level, label in enumerate(labels, 1))


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a rater.

    Attributes:
        answer: ``choice`` (one option), ``scale`` (one option, drawn in a row), ``several``
            (several options), ``toggle`` (true or false), ``text``, ``lines`` (multi-line text) or
            ``spans`` (spans of a displayed text, as pairs of code point offsets).
        when: ask only if each question named here has one of the given answers.
        lines_of: a question of an earlier stage; each line of its answer becomes an option,
            numbered from 1, before the other options.
        part: for ``spans``, the ``id`` of the part with the text.
        length: for ``spans``, the length of that text in code points.
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
        """Return the question with options added from an earlier answer; see `lines_of`."""
        if not self.lines_of:
            return self
        lines = (line.strip() for line in str(values.get(self.lines_of, "")).splitlines())
        given = (Option(n, line) for n, line in enumerate(filter(None, lines), 1))
        return replace(self, options=(*given, *self.options))

    def asked(self, values: Mapping[str, Any]) -> bool:
        """Whether this question is asked, given the answers so far."""
        return all(
            any(same(values.get(name), value) for value in allowed) for name, allowed in self.when
        )

    def check(self, value: object) -> Any:
        """Return the validated answer, or None if it is empty."""
        if self.answer == "toggle":
            if not isinstance(value, bool | None):
                raise InputError("must be true or false.", field=self.id)
            return bool(value)
        if value is None or value in ("", []):
            if self.required:
                raise InputError("is required.", field=self.id)
            return None
        if self.answer in ("text", "lines"):
            if not isinstance(value, str) or len(value) > MAX_TEXT:
                raise InputError(f"must be at most {MAX_TEXT:,} characters.", field=self.id)
            return value.strip() or None
        if self.answer == "spans":
            return self._spans(value)
        if self.answer == "several":
            chosen = value if isinstance(value, list) else [value]
            if not all(any(same(each, o.value) for o in self.options) for each in chosen):
                raise InputError("is not one of the options.", field=self.id)
            found = [o for o in self.options if any(same(each, o.value) for each in chosen)]
            if len(found) > 1 and any(option.alone for option in found):
                raise InputError("combines an option that excludes the others.", field=self.id)
            return [option.value for option in found] or None
        if not any(same(option.value, value) for option in self.options):
            raise InputError("is not one of the options.", field=self.id)
        return value

    def _spans(self, value: object) -> list[list[int]]:
        """Return the spans sorted, with touching or overlapping spans merged."""
        given = value if isinstance(value, list) else [value]
        if len(given) > MAX_SPANS or not all(self._is_span(each) for each in given):
            raise InputError(f"must be at most {MAX_SPANS} spans of the text.", field=self.id)
        found: list[list[int]] = []
        for start, end in sorted(given):
            if found and start <= found[-1][1]:
                found[-1][1] = max(end, found[-1][1])
            else:
                found.append([start, end])
        return found

    def _is_span(self, span: object) -> bool:
        if not isinstance(span, list) or [type(each) for each in span] != [int, int]:
            return False
        return bool(0 <= span[0] < span[1] <= self.length)


def span_question(
    id: str,  # noqa: A002 - as in `Question`
    text: str,
    part: str,
    content: str,
    when: tuple[tuple[str, tuple[Any, ...]], ...],
    *,
    required: bool = True,
) -> Question:
    """Return a question that asks to mark words of a displayed text."""
    how = "Drag over the words, or click the first and the last one."
    length = len(content)
    return Question(
        id, text, "spans", when=when, required=required, hint=how, part=part, length=length
    )


def same(one: object, other: object) -> bool:
    """Whether two JSON values are equal; unlike in Python, true differs from 1."""
    return type(one) is type(other) and one == other


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of a task.

    Attributes:
        parts: shown in addition to those of earlier stages; a part replaces an earlier part with
            the same ``id``.
        questions: the stage is skipped if none of them is asked.
        revisable: whether it can be changed after later stages were shown. Those stages must not
            depend on its answers or reveal anything that could influence them.
    """

    title: str
    parts: tuple[Part, ...]
    questions: tuple[Question, ...]
    revisable: bool = False

    def asked(self, values: Mapping[str, Any]) -> bool:
        """Whether any question of this stage is asked, given the answers so far."""
        return any(question.asked(values) for question in self.questions)

    def check(self, values: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
        """Return the validated answers of this stage, without questions that are not asked."""
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
        seconds: working time of the rater, without pauses.
        revision: 1 for an answer that was never corrected.
        place: index of the rater, in the order in which raters were added.
    """

    item: Item
    rater: str
    values: dict[str, Any]
    seconds: float
    revision: int
    place: int = 0


class Figures(NamedTuple):
    """The results of a study: a record for JSON, and tables and notes to print."""

    record: dict[str, Any]
    tables: Sequence[Table]
    notes: Sequence[str]


Studies = Sequence[tuple["Study", Sequence[Rated]]]
"""Studies of one task with their ratings."""


class Kind(ABC):
    """A rating or writing task.

    Attributes:
        designs: variants of the task; the first is the default.
        view: the JavaScript module that draws the task.
        per_item: default number of ratings per item.
        adjudicated: designs in which `undecided` items go to one more rater.
        reviewed: whether reviewers accept answers or send them back (`review`).
        columns: columns of `table`.
    """

    name: str
    title: str
    designs: tuple[str, ...] = ("standard",)
    view: str = "form"
    per_item: int = 3
    adjudicated: tuple[str, ...] = ()
    reviewed: bool = False
    columns: tuple[str, ...] = ()

    @abstractmethod
    def read(self, inputs: Sequence[Input], design: str) -> list[Item]:
        """Read items from files."""

    @abstractmethod
    def stages(self, item: Item, design: str) -> tuple[Stage, ...]:
        """Return the stages of rating an item."""

    def check(
        self,
        item: Item,
        design: str,
        stage: int,
        values: Mapping[str, Any],
        before: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Return the validated answers of a stage; see `Stage.check`."""
        return self.stages(item, design)[stage].check(values, before)

    def review(self, item: Item, values: Mapping[str, Any]) -> tuple[Part, ...]:
        """Return what a reviewer sees of a finished item, if the task is `reviewed`."""
        return ()

    def keep(self, inputs: Sequence[Input]) -> dict[str, bytes]:
        """Return files by name that the export needs; they are saved in the study folder."""
        return {}

    def key(self, item: Item) -> tuple[str, ...]:
        """Return the unique key of an item within a study."""
        return item.item, item.system

    def guidelines(self, design: str) -> str:
        """Return the guidelines for raters, in Markdown."""
        from jinja2 import Environment, StrictUndefined

        text = (files("semqa.studies") / "guidelines" / f"{self.name}.md").read_text("utf-8")
        environment = Environment(undefined=StrictUndefined, trim_blocks=True)  # noqa: S701 - Markdown
        return environment.from_string(text).render(design=design).strip() + "\n"

    def undecided(self, item: Item, given: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the answers to an item disagree and need one more rater."""
        return False

    # Exports

    @abstractmethod
    def rows(self, study: Study, rated: Rated) -> Iterable[Mapping[str, Any]]:
        """Return the JSON lines of a rating."""

    def table(self, study: Study, ratings: Sequence[Rated]) -> Iterable[bytes]:
        """Return a CSV export that is not one of the input tables; here with a line per rating."""
        return csv_lines(self.columns, [row for each in ratings for row in self.rows(study, each)])

    def tables(self, study: Study, ratings: Sequence[Rated]) -> dict[str, Iterable[bytes]]:
        """Return the input tables by name, with the verdicts of the study filled in.

        An item without ratings has an empty label, or no row if the format needs a label.
        """
        return {}

    def export(self, study: Study, ratings: Sequence[Rated], form: Format) -> Iterable[bytes]:
        """Return the lines of a file of ratings.

        A CSV file is the input table with verdicts, if there is one, or else `table`.
        """
        if form == "jsonl":
            return [encode_row(row) for each in ratings for row in self.rows(study, each)]
        tables = self.tables(study, ratings)
        return next(iter(tables.values())) if len(tables) == 1 else self.table(study, ratings)

    def released(self, study: Study, ratings: Sequence[Rated]) -> dict[str, Iterable[bytes]]:
        """Return the files of an export into a folder, by name."""
        found = self.tables(study, ratings)
        return found or {f"{self.name}.csv": self.export(study, ratings, "csv")}

    @abstractmethod
    def report(self, studies: Studies) -> Figures:
        """Compute the statistics of the paper; several studies, such as designs, are compared."""


def expected_of(row: Row, *, gold: bool) -> dict[str, Any] | None:
    """Read the expected answers of a gold item, by question; a list means any of its values."""
    found = row.fields.get("expected")
    if found is None and not gold:
        return None
    if not isinstance(found, dict) or not found:
        raise InputError(
            "must be an object with the expected answer for each question.",
            field="expected",
            where=row.where,
        )
    return found


def next_stage(stages: Sequence[Stage], done: int, values: Mapping[str, Any]) -> int | None:
    """Return the first stage from `done` on that has a question to ask, or None."""
    return next((n for n in range(done, len(stages)) if stages[n].asked(values)), None)


def text_part(label: str, text: str) -> Part:
    """Return a part that shows a text under a label."""
    return {"kind": "text", "label": label, "text": text}


def spans_of(spans: Iterable[Sequence[int]] | None, text: str) -> list[dict[str, Any]]:
    """Return spans for an export, with code point offsets and the marked text.

    Example:
        >>> spans_of([[3, 5]], "It is.")
        [{'start': 3, 'end': 5, 'text': 'is'}]
    """
    return [{"start": start, "end": end, "text": text[start:end]} for start, end in spans or ()]


def tied(votes: Iterable[Hashable]) -> bool:
    """Whether two or more values share the highest number of votes.

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
    """Return a number with a noun, in the plural if needed.

    Example:
        >>> counted(1, "item"), counted(1200, "item"), counted(2, "summary")
        ('1 item', '1,200 items', '2 summaries')
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("y") else f"{number:,} {noun}s"


def csv_lines(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """Return the lines of a CSV file; a missing cell is empty."""
    lines = [columns, *([str(row.get(name, "")) for name in columns] for row in rows)]
    return [encode_record(line).encode() for line in lines]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a study.

    Attributes:
        qualify: number of gold items that each rater must begin with.
        threshold: share of the qualifying items that a rater must get right to continue.
        pilot: number of items that every rater gets first. If the study has reviewers, they must
            accept these before the rater continues.
        batch: size of the batches in which items are assigned, one after the other; 0 for all.
    """

    kind: Kind
    title: str
    design: str
    per_item: int
    qualify: int = 0
    threshold: float = 0.8
    seed: int = 0
    pilot: int = 0
    batch: int = 0

    def __post_init__(self) -> None:
        check_choice("design", self.design, self.kind.designs)
        for name, least in (("per_item", 1), ("qualify", 0), ("pilot", 0), ("batch", 0)):
            check_number(name, getattr(self, name), least, whole=True)
        check_number("threshold", self.threshold, 0, 1)


@dataclass(frozen=True)
class Study:
    """A study's settings and items; item number *k* is ``items[k - 1]``."""

    folder: Path
    settings: Settings
    items: tuple[Item, ...] = field(repr=False)
    guidelines: str = field(repr=False)

    @property
    def kind(self) -> Kind:
        return self.settings.kind

    @cached_property
    def places(self) -> dict[tuple[str, ...], int]:
        """The numbers of the items by key."""
        return {self.kind.key(item): number for number, item in enumerate(self.items, 1)}

    @property
    def gold(self) -> list[int]:
        return [n for n, item in enumerate(self.items, 1) if item.expected is not None]

    @property
    def ordinary(self) -> list[int]:
        """The numbers of the items to rate, without gold items."""
        return [n for n, item in enumerate(self.items, 1) if item.expected is None]

    @property
    def ordinary_items(self) -> list[Item]:
        """The items to rate, without gold items."""
        return [item for item in self.items if item.expected is None]

    @property
    def pilot(self) -> list[int]:
        """The numbers of the pilot items."""
        return self.ordinary[: self.settings.pilot]

    @cached_property
    def rounds(self) -> list[list[int]]:
        """The numbers of the items to rate by round: the (possibly empty) pilot, then batches."""
        rest = self.ordinary[self.settings.pilot :]
        size = self.settings.batch or max(1, len(rest))
        return [self.pilot, *(rest[at : at + size] for at in range(0, len(rest), size))]
