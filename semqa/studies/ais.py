"""AIS (Rashkin et al. 2023): can an output be understood alone, and is all of it in its source?

Two stages: the rater reads the output with the source hidden, and only then sees the source. The other
designs are those of the paper's ablation: attribution alone, both in one question, and levels from 1
to 5 instead of yes and no.

A line of an input file is ``{"item", "system", "output", "task"?, "context"?, "source"?, "table"?,
"doc_url"?, "expert"?, "expected"?}``. ``context`` is a list of turns ``{"speaker", "text"}``; ``source``
is a text or ``{"title"?, "text", "url"?}``; ``table`` is ``{"title"?, "section"?, "rows"}``, each
row a list of cells ``{"text", "header"?, "highlighted"?}`` or texts. ``expert`` has an expert's
``interpretable`` and ``attributable``, and raters are compared with it. Outputs may also come from a
released CSV; lines without ``output`` then give context and source of an item.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semqa.attribution.ais.ratings import ATTRIBUTION_ONLY, LEVELS, Rating
from semqa.data.jsonl import read_rows
from semqa.errors import InputError
from semqa.studies.kind import (
    Figures,
    Format,
    Input,
    Item,
    Kind,
    Option,
    Part,
    Question,
    Rated,
    Stage,
    json_bytes,
    text_part,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semqa.attribution.ais.report import Report
    from semqa.data.jsonl import Row
    from semqa.studies.folder import Study

TWO_STEP, ONE_QUESTION, LIKERT = "two-step", "one-question", "likert"

YES_FROM = 4
"""The lowest level that counts as yes."""

_YES_NO = (Option(True, "Yes"), Option(False, "No"))
_SOUND = (("flagged", (False,)),)
_FLAG = Question(
    "flagged",
    "Something is wrong with this task",
    "toggle",
    hint="It is garbled, broken off, not in English, or offensive. You need not judge it then.",
)
_WHY = Question(
    "why_flagged",
    "What is wrong with it?",
    "choice",
    (
        Option("garbled", "The text is garbled or broken off"),
        Option("context", "What comes before it makes no sense"),
        Option("source", "The source is missing or cannot be read"),
        Option("language", "It is not in English"),
        Option("offensive", "It is offensive"),
        Option("other", "Something else"),
    ),
    when=(("flagged", (True,)),),
)
_CLEAR = Question(
    "interpretable",
    "Is it clear to you what the whole text says?",
    "choice",
    (Option(True, "Yes, I understand all of it"), Option(False, "No, some of it is unclear")),
    when=_SOUND,
)
_SUPPORTED = Question(
    "attributable",
    "Does the source say all that the text says?",
    "choice",
    (Option(True, "Yes, all of it"), Option(False, "No, not all of it")),
    when=_SOUND,
    hint="Think of the text as “According to the source, …”. Would that be right?",
)
_COMMENT = Question(
    "justification", "Your reason, if you like", "text", required=False, when=_SOUND
)


class Ais(Kind):
    """Interpretability and attribution."""

    name = "ais"
    title = "Is it clear, and does the source say it?"
    designs = (TWO_STEP, ATTRIBUTION_ONLY, ONE_QUESTION, LIKERT)
    per_item = 5

    def read(self, inputs: Sequence[Input], design: str) -> list[Item]:
        """Make items of JSON lines."""
        del design
        return [_item(row) for each in inputs for row in read_rows(each.path)]

    def stages(self, item: Item, design: str) -> tuple[Stage, ...]:
        """Return the stages of a design."""
        alone = (
            *_context(item),
            {**text_part(_NAMES[_form(item)], item.data["output"]), "main": True},
        )
        source = _source(item)
        if design == ATTRIBUTION_ONLY:
            return (
                Stage(
                    "Compare it with its source",
                    (*alone, *source),
                    (_FLAG, _WHY, _SUPPORTED, _COMMENT),
                ),
            )
        if design == ONE_QUESTION:
            return (
                Stage(
                    "Compare it with its source", (*alone, *source), (_FLAG, _WHY, _BOTH, _COMMENT)
                ),
            )
        clear, supported = (
            (_CLEAR, _SUPPORTED) if design == TWO_STEP else (_CLEAR_LEVEL, _SUPPORTED_LEVEL)
        )
        wanted = (True,) if design == TWO_STEP else tuple(range(YES_FROM, LEVELS + 1))
        second = tuple(
            Question(
                q.id, q.text, q.answer, q.options, (*q.when, (clear.id, wanted)), q.required, q.hint
            )
            for q in (supported, _COMMENT)
        )
        return (
            Stage("Read it by itself", alone, (_FLAG, _WHY, clear)),
            Stage("Compare it with its source", source, second),
        )

    def export(self, study: Study, ratings: Sequence[Rated], form: Format) -> Iterable[bytes]:
        """Return ratings as `semqa eval ais --ratings` reads them, or verdicts as released CSV."""
        made = as_ratings(study, ratings)
        if form == "jsonl":
            return [json_bytes(each.to_dict()) for each in made]
        raise InputError("not yet")

    def report(self, studies: Sequence[tuple[Study, Sequence[Rated]]]) -> Figures:
        """Return rates, agreement, designs and times; the tables are those of `semqa eval ais`."""
        return Figures(self.found(studies).to_dict(), [], [])

    def found(self, studies: Sequence[tuple[Study, Sequence[Rated]]]) -> Report:
        """Return what `semqa eval ais` finds in the ratings."""
        from semqa.attribution.ais.report import Settings, report

        ratings = [each for study, rated in studies for each in as_ratings(study, rated)]
        return report([], ratings, Settings(by=("design",)))


_NAMES = {"conversation": "Response", "summary": "Summary", "table": "Description"}

_BOTH = Question(
    "both",
    "Is the text clear, and does the source say all of it?",
    "choice",
    (
        Option("yes", "Yes: it is clear, and the source says all of it"),
        Option("unsupported", "No: it is clear, but the source does not say all of it"),
        Option("unclear", "No: it is not clear what the text says"),
    ),
    when=_SOUND,
)
_CLEAR_LEVEL = Question(
    "interpretable_level",
    "How clear is it to you what the whole text says?",
    "scale",
    tuple(
        Option(level, label)
        for level, label in enumerate(("Not at all", "Little", "Partly", "Mostly", "Fully"), 1)
    ),
    when=_SOUND,
)
_SUPPORTED_LEVEL = Question(
    "attributable_level",
    "How much of the text does the source say?",
    "scale",
    tuple(
        Option(level, label)
        for level, label in enumerate(
            ("None of it", "Little", "About half", "Nearly all", "All of it"), 1
        )
    ),
    when=_SOUND,
    hint=_SUPPORTED.hint,
)


def as_ratings(study: Study, ratings: Sequence[Rated]) -> list[Rating]:
    """Return ratings as `semqa.attribution.ais` has them."""
    return [_rating(each, study.settings.design) for each in ratings]


def _rating(rated: Rated, design: str) -> Rating:
    values, data = rated.values, rated.item.data
    flagged = values.get("flagged", False)
    clear, supported = values.get("interpretable"), values.get("attributable")
    if design == ONE_QUESTION and not flagged:
        clear = values["both"] != "unclear"
        supported = values["both"] == "yes" if clear else None
    if design == LIKERT and not flagged:
        clear = values["interpretable_level"] >= YES_FROM
        supported = values["attributable_level"] >= YES_FROM if clear else None
    return Rating(
        rated.item.item,
        rated.item.system,
        rated.rater,
        flagged=flagged,
        interpretable=clear,
        attributable=supported,
        justification=values.get("justification", ""),
        seconds=round(rated.seconds, 1),
        task=data.get("task", ""),
        design=design,
        output=data["output"],
        interpretable_level=values.get("interpretable_level"),
        attributable_level=values.get("attributable_level"),
    )


def _item(row: Row) -> Item:
    data: dict[str, Any] = {"output": row.text("output")}
    for name in ("task", "context", "source", "table", "doc_url", "expert"):
        if row.fields.get(name) is not None:
            data[name] = row.fields[name]
    expected = row.fields.get("expected")
    if not isinstance(expected, dict | None):
        raise InputError("must be an object.", field="expected", where=row.where)
    return Item(row.text("item"), row.text("system", ""), data, expected)


def _form(item: Item) -> str:
    if "table" in item.data:
        return "table"
    return "conversation" if item.data.get("context") else "summary"


def _context(item: Item) -> tuple[Part, ...]:
    turns = item.data.get("context")
    return ({"kind": "turns", "label": "What was said before", "turns": turns},) if turns else ()


def _source(item: Item) -> tuple[Part, ...]:
    parts: list[Part] = []
    if table := item.data.get("table"):
        parts.append({"kind": "table", "label": "Source", **table})
    if source := item.data.get("source"):
        given = {"text": source} if isinstance(source, str) else source
        parts.append({"kind": "text", "label": "Source", **given})
    if not parts:
        raise InputError("has neither source nor table.", field="item")
    return tuple(parts)
