"""AIS (Rashkin et al. 2023): is an output clear on its own, and does its source support all of it?

The rater first reads the output with the source hidden, then sees the source. The other designs are
the ablations of the paper: attribution only, both in one question, and levels from 1 to 5 instead
of yes and no. Outputs may belong to conversations, documents or tables with highlighted cells.

Each line of an input file is an `Output`, or the context and the source of an item (`Evidence`),
which outputs without a source get. A line of ToTTo's files is the evidence of the item
``example_id``. Outputs may also come from released CSV files, whose rows without evidence are not
rated. A CSV export has the rated rows of the released file, with new verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, Field

from semqa.attribution.ais.ratings import (
    ATTRIBUTION_ONLY,
    LEVELS,
    Rating,
    Verdict,
    consensus,
)
from semqa.attribution.ais.released import read_released, released_table, with_verdicts
from semqa.data.csv_rows import encode_csv
from semqa.data.files import display_name
from semqa.data.jsonl import Row, read_as, read_rows
from semqa.errors import InputError
from semqa.studies.kind import (
    Figures,
    Input,
    Item,
    Kind,
    Option,
    Part,
    Question,
    Rated,
    Stage,
    Studies,
    Study,
    expected_of,
    levels,
    text_part,
)
from semqa.studies.tables import kept_tables, read_kept

TWO_STEP, ONE_QUESTION, LIKERT = "two-step", "one-question", "likert"

YES_FROM = 4
"""Levels from this one count as yes."""


class _Strict(BaseModel, extra="forbid", strict=True):
    pass


class Turn(_Strict):
    """An earlier turn of the conversation."""

    text: str
    speaker: str = ""


class Document(_Strict):
    """A text source."""

    text: str = Field(min_length=1)
    title: str = ""
    url: str = ""


class Cell(_Strict):
    """A cell of a table."""

    text: str = ""
    header: bool = False
    highlighted: bool = False
    colspan: int = Field(1, ge=1, le=100)
    rowspan: int = Field(1, ge=1, le=1000)


class TableSource(_Strict):
    """A table source; the output is about the highlighted cells."""

    rows: list[list[Cell | str]] = Field(min_length=1)
    title: str = ""
    section: str = ""


class _TottoCell(BaseModel):
    value: str
    is_header: bool = False
    column_span: int = 1
    row_span: int = 1


class _Totto(BaseModel):
    """A line of ToTTo's files, as far as raters see it."""

    example_id: int | str
    table: list[list[_TottoCell]] = Field(min_length=1)
    highlighted_cells: list[tuple[int, int]]
    table_page_title: str = ""
    table_section_title: str = ""
    table_section_text: str = ""
    table_webpage_url: str = ""

    def evidence(self) -> Evidence:
        """Return the table with its highlighted cells, and the text of its section as a source."""
        lit = set(self.highlighted_cells)
        cells = {(r, c) for r, row in enumerate(self.table) for c, _ in enumerate(row)}
        if lit - cells:
            raise InputError(f"has no cell {min(lit - cells)}.", field="highlighted_cells")
        rows: list[list[Cell | str]] = [
            [
                Cell(
                    text=cell.value,
                    header=cell.is_header,
                    highlighted=(r, c) in lit,
                    colspan=min(max(cell.column_span, 1), 100),
                    rowspan=min(max(cell.row_span, 1), 1000),
                )
                for c, cell in enumerate(row)
            ]
            for r, row in enumerate(self.table)
        ]
        table = TableSource(
            rows=rows, title=self.table_page_title, section=self.table_section_title
        )
        return Evidence(
            item=str(self.example_id),
            source=self.table_section_text.strip(),
            table=table,
            doc_url=self.table_webpage_url,
        )


class Expert(_Strict):
    """An expert's verdict on an output; `attributable` is None unless it is interpretable."""

    flagged: bool = False
    interpretable: bool | None = None
    attributable: bool | None = None


class Evidence(_Strict):
    """The context and source of an item; it must have a `source` or a `table`.

    Statistics are reported per task, the name of the data set, such as ``qrecc``.
    """

    item: str = Field(min_length=1)
    task: str = ""
    context: list[Turn | str] = []
    source: Document | str = ""
    table: TableSource | None = None
    doc_url: str = ""


class Output(Evidence):
    """An output to rate."""

    output: str = Field(min_length=1)
    system: str = ""
    expert: Expert | None = None
    expected: dict[str, Any] | None = None


_FULLY = levels("Not at all", "A little", "Partly", "Mostly", "Fully")
_SOUND = (("flagged", (False,)),)
_FLAG = Question(
    "flagged",
    "Something is wrong with this task",
    "toggle",
    hint="Only if it cannot be judged at all.",
)
_WRONG = (
    Option("garbled", "The text is garbled or cut off"),
    Option("context", "The conversation before it makes no sense"),
    Option("language", "It is not in English"),
    Option("offensive", "It is offensive"),
    Option("other", "Something else"),
)
_NO_SOURCE = Option("source", "The source is missing or unreadable")
_WHY = Question(
    "why_flagged", "What is wrong with it?", "choice", _WRONG, when=(("flagged", (True,)),)
)
_WHY_SEEN = replace(_WHY, options=(_NO_SOURCE, *_WRONG))
_BAD_SOURCE = Question("source_flagged", _NO_SOURCE.label, "toggle", when=_SOUND)
_ACCORDING = "Put “According to the source, …” in front of the text. Does that hold for all of it?"
_COMMENT = Question("justification", "Reason (optional)", "text", required=False, when=_SOUND)

_CLEAR = {
    TWO_STEP: Question(
        "interpretable",
        "Is the meaning of the whole text clear to you?",
        "choice",
        (Option(True, "Yes, all of it"), Option(False, "No, some of it is unclear")),
        when=_SOUND,
    ),
    LIKERT: Question(
        "interpretable_level",
        "How clear is the meaning of the text to you?",
        "scale",
        _FULLY,
        when=_SOUND,
    ),
}
_SUPPORTED = {
    TWO_STEP: Question(
        "attributable",
        "Does the source support everything in the text?",
        "choice",
        (Option(True, "Yes, all of it"), Option(False, "No, not all of it")),
        when=_SOUND,
        hint=_ACCORDING,
    ),
    LIKERT: Question(
        "attributable_level",
        "How much of the text does the source support?",
        "scale",
        levels("Nothing", "A little", "About half", "Most", "All"),
        when=_SOUND,
        hint="Think of the text as “According to the source, …”.",
    ),
}
_BOTH = Question(
    "both",
    "Is the text clear, and does the source support all of it?",
    "choice",
    (
        Option("yes", "Yes: it is clear, and the source supports all of it"),
        Option("unsupported", "No: it is clear, but the source does not support all of it"),
        Option("unclear", "No: some of it is unclear"),
    ),
    when=_SOUND,
)

_LABELS = {"conversation": "Response", "summary": "Summary", "table": "Description of the table"}


class Ais(Kind):
    """Rating of interpretability and attribution."""

    name = "ais"
    title = "Is it clear, and does the source support it?"
    designs = (TWO_STEP, ATTRIBUTION_ONLY, ONE_QUESTION, LIKERT)
    per_item = 5

    def read(self, inputs: Sequence[Input], design: str) -> list[Item]:
        released = [(each, read_released(each.path).verdicts) for each in inputs if _released(each)]
        lines = [each for each in inputs if not _released(each)]
        outputs = []
        for each in lines:
            for row in read_rows(each.path):
                if "output" in row.fields:
                    outputs.append((row, each.gold))
                elif row.fields.keys().isdisjoint(("item", "example_id")):
                    read_as(Evidence, row)  # raises
        wanted = {verdict.item for _, verdicts in released for verdict in verdicts}
        wanted |= {
            row.text("item")
            for row, _ in outputs
            if not (row.fields.get("source") or row.fields.get("table"))
        }
        evidence: dict[str, Evidence] = {}
        for each in lines if wanted else ():  # files of tables are large: keep what is rated
            for row in read_rows(each.path):
                name = str(row.fields.get("example_id", row.fields.get("item")))
                if "output" not in row.fields and name in wanted:
                    found = _evidence(row)
                    evidence[found.item] = found
        items = [_item(row, evidence, gold=gold) for row, gold in outputs]
        for each, verdicts in released:
            found_rows = _first_rows(verdicts, evidence, each.path.name)
            if not found_rows:
                raise InputError(
                    "No item has a source. Add a JSON Lines file with the sources of the items.",
                    where=display_name(each.path),
                )
            items += found_rows
        return items

    def keep(self, inputs: Sequence[Input]) -> dict[str, bytes]:
        return kept_tables(inputs)

    def key(self, item: Item) -> tuple[str, ...]:
        return item.data.get("task", ""), item.item, item.system

    def stages(self, item: Item, design: str) -> tuple[Stage, ...]:
        alone, source = _alone(item), _source(item)
        compared = "Compare it with the source"
        if design == ATTRIBUTION_ONLY:
            asked = (_FLAG, _WHY_SEEN, _SUPPORTED[TWO_STEP], _COMMENT)
            return (Stage(compared, (*alone, *source), asked),)
        if design == ONE_QUESTION:
            return (Stage(compared, (*alone, *source), (_FLAG, _WHY_SEEN, _BOTH, _COMMENT)),)
        clear = _CLEAR[design]
        if design == TWO_STEP:
            clear_values: tuple[Any, ...] = (True,)
        else:
            clear_values = tuple(range(YES_FROM, LEVELS + 1))
        is_clear = (clear.id, clear_values)
        readable = (is_clear, (_BAD_SOURCE.id, (False,)))
        then = (
            replace(_BAD_SOURCE, when=(*_SOUND, is_clear)),
            replace(_SUPPORTED[design], when=(*_SOUND, *readable)),
            replace(_COMMENT, when=(*_SOUND, is_clear)),
        )
        return (
            Stage("Read it on its own; the source comes next", alone, (_FLAG, _WHY, clear)),
            Stage(compared, source, then),
        )

    def rows(self, study: Study, rated: Rated) -> Iterable[Mapping[str, Any]]:
        """Return a line for `semqa eval ais --ratings`."""
        return [_rating(rated, study.settings.design).to_dict()]

    def table(self, study: Study, ratings: Sequence[Rated]) -> Iterable[bytes]:
        urls = {self.key(item): item.data.get("doc_url", "") for item in study.items}
        verdicts = [
            replace(each, doc_url=urls[each.task, each.item, each.system])
            for each in _verdicts(study, ratings)
        ]
        return encode_csv(released_table(verdicts))

    def tables(self, study: Study, ratings: Sequence[Rated]) -> dict[str, Iterable[bytes]]:
        """Return the rated rows of the released files by name, with new verdicts."""
        files = {self.key(item): item.data.get("file") for item in study.items}
        verdicts = _verdicts(study, ratings)
        found: dict[str, Iterable[bytes]] = {}
        for name, file in read_kept(study).items():
            own = [each for each in verdicts if files[each.task, each.item, each.system] == name]
            found[name] = encode_csv(with_verdicts(file, own))
        return found

    def report(self, studies: Studies) -> Figures:
        """Return the record of `semqa eval ais`, which prints the tables."""
        from semqa.attribution.ais.rates import Settings, report

        ratings = [each for study, rated in studies for each in as_ratings(study, rated)]
        experts = {
            (rating.task, rating.item, rating.system): rating
            for study, _ in studies
            for item in study.items
            if (rating := _expert(item)) is not None
        }
        settings = Settings(by=("design",))
        return Figures(report([], ratings, settings, experts=list(experts.values())), [], [])


def as_ratings(study: Study, ratings: Sequence[Rated]) -> list[Rating]:
    """Convert ratings for `semqa.attribution.ais`."""
    return [_rating(each, study.settings.design) for each in ratings]


def _rating(rated: Rated, design: str) -> Rating:
    values, data = rated.values, rated.item.data
    flagged = values.get("flagged", False) or values.get("source_flagged", False)
    clear, supported = values.get("interpretable"), values.get("attributable")
    if flagged:
        clear = supported = None
    elif "both" in values:
        clear = values["both"] != "unclear"
        supported = values["both"] == "yes" if clear else None
    elif "interpretable_level" in values:
        clear = values["interpretable_level"] >= YES_FROM
        supported = values["attributable_level"] >= YES_FROM if clear else None
    return Rating(
        rated.item.item,
        rated.item.system,
        rated.rater,
        flagged=flagged,
        interpretable=clear,
        attributable=supported,
        justification=values.get("justification") or _why_flagged(values),
        seconds=max(0.1, round(rated.seconds, 1)) if rated.seconds else None,  # 0 if imported
        task=data.get("task", ""),
        design=design,
        output=data["output"],
        interpretable_level=values.get("interpretable_level"),
        attributable_level=values.get("attributable_level"),
    )


def _why_flagged(values: Mapping[str, Any]) -> str:
    if values.get("source_flagged"):
        return str(_NO_SOURCE.value)
    return str(values.get("why_flagged", ""))


def _verdicts(study: Study, ratings: Sequence[Rated]) -> list[Verdict]:
    """Return the consensus on each output, for the released columns."""
    if study.settings.design == ATTRIBUTION_ONLY:
        raise InputError(
            f"The released columns need an answer to the first question, which {ATTRIBUTION_ONLY} "
            "does not ask. Use JSON lines."
        )
    return [unit.verdict for unit in consensus(as_ratings(study, ratings))]


def _expert(item: Item) -> Rating | None:
    given = item.data.get("expert")
    if given is None:
        return None
    return Rating(item.item, item.system, "expert", task=item.data.get("task", ""), **given)


# Reading


def _released(given: Input) -> bool:
    return given.path.suffix.lower() == ".csv"


def _evidence(row: Row) -> Evidence:
    if "highlighted_cells" not in row.fields:
        return read_as(Evidence, row)
    try:
        return read_as(_Totto, row).evidence()
    except InputError as error:
        error.where = row.where
        raise


def _item(row: Row, evidence: dict[str, Evidence], *, gold: bool) -> Item:
    given = read_as(Output, row)
    data = given.model_dump(exclude={"item", "system", "expected"}, exclude_defaults=True)
    if not given.source and given.table is None and given.item in evidence:
        known = evidence[given.item].model_dump(exclude={"item"}, exclude_defaults=True)
        data = {**known, **data}
    if given.expert is not None:
        data["expert"] = given.expert.model_dump()
    item = Item(given.item, given.system, data, expected_of(row, gold=gold))
    try:
        _source(item)
        _expert(item)
    except (InputError, ValueError) as error:
        raise InputError(f"The output cannot be rated: {error}", where=row.where) from error
    return item


def _first_rows(
    verdicts: Iterable[Verdict], evidence: dict[str, Evidence], file: str
) -> list[Item]:
    """Return one item per output whose context and source are known."""
    found: dict[tuple[str, str], Item] = {}
    for each in verdicts:
        if each.item in evidence and each.output and (each.item, each.system) not in found:
            known = evidence[each.item].model_dump(exclude={"item"}, exclude_defaults=True)
            data = {"task": each.task, **known, "output": each.output, "file": file}
            found[each.item, each.system] = Item(each.item, each.system, data)
    return list(found.values())


# Parts that raters see


def _alone(item: Item) -> tuple[Part, ...]:
    turns = item.data.get("context")
    form: Literal["table", "conversation", "summary"] = "summary"
    if "table" in item.data:
        form = "table"
    elif turns:
        form = "conversation"
    output: Part = {**text_part(_LABELS[form], item.data["output"]), "main": True}
    if not turns:
        return (output,)
    return ({"kind": "turns", "label": "Conversation so far", "turns": turns}, output)


def _source(item: Item) -> tuple[Part, ...]:
    parts: list[Part] = []
    if table := item.data.get("table"):
        parts.append({"kind": "table", "label": "Source", **table})
    if source := item.data.get("source"):
        given = {"text": source} if isinstance(source, str) else source
        parts.append({"kind": "text", "label": "Source", **given})
    if not parts:
        raise InputError("It has neither a source nor a table.")
    return tuple(parts)
