"""What annotators say: single ratings, the consensus on an output, and ratings per sentence.

A line of a file of ratings is ``{"item", "system", "annotator", "flagged"?, "interpretable"?,
"attributable"?, "justification"?, "seconds"?, "task"?, "design"?, "sentence"?, "output"?,
"interpretable_level"?, "attributable_level"?}``; other fields are ignored. Each answer is there exactly
if its question was asked: interpretability of what is not flagged, attribution of what is interpretable.
The design ``attribution-only`` asks the second of whatever is not flagged, and never the first.

The consensus is by majority, question by question, among those who were asked. Five annotators can tie
only if some were not asked, as in the released files. An answer whose sentences were rated is
attributable if all of them are.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from semqa.attribution.records import must_be
from semqa.data.jsonl import Row, describe, read_rows, shown, write_jsonl
from semqa.errors import InputError
from semqa.metrics.statistics import Statistic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


CLEAR = "Yes, I understand it."
UNCLEAR = "No, the response is unclear."
ATTRIBUTABLE = "Yes, fully attributable."
NOT_ATTRIBUTABLE = "No, not fully attributable."
"""The answers to the two questions, as the released files write them."""


ATTRIBUTION_ONLY = "attribution-only"
"""The design that does not ask whether an output can be understood."""

LEVELS = 5
"""Levels of the design that asks how far an output is interpretable, or attributable."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The consensus on one output.

    Each question hangs on the one before: what is flagged was not judged, and what cannot be
    understood alone was not compared with its source.

    Attributes:
        item: what the output answers; with `system`, the output.
        system: the model that wrote it, or the reference.
        output: the text.
        flagged: whether the task itself was malformed.
        interpretable: whether the output can be understood without the source; None if it is
            flagged, or the vote was left open at a tie.
        attributable: whether all of it is so according to the source; None unless it is
            interpretable, or where the vote was left open at a tie. In the design that does not ask
            for interpretability it is judged of whatever is not flagged.
        agree_int: annotators who say what `interpretable` says; None if unknown.
        agree_ais: annotators who say what `attributable` says; None if unknown.
        task: what the outputs are, such as ``qrecc``; figures of different tasks are kept apart.
        design: how annotators were asked.
        doc_url: where the source came from.
        doc_url_hash: SHA-1 of the URL, if given.
    """

    item: str
    system: str
    output: str
    flagged: bool
    interpretable: bool | None
    attributable: bool | None
    agree_int: int | None = None
    agree_ais: int | None = None
    task: str = ""
    design: str = ""
    doc_url: str = ""
    doc_url_hash: str = ""

    def __post_init__(self) -> None:
        if self.flagged and self.interpretable is not None:
            raise ValueError("a flagged output is not judged")
        asked = self.design != ATTRIBUTION_ONLY
        if asked and self.attributable is not None and not self.interpretable:
            raise ValueError("what is not interpretable is not compared with its source")

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What tells this verdict from others: task, design, item and system."""
        return self.task, self.design, self.item, self.system


@dataclass(frozen=True, slots=True)
class Rating:
    """One annotator's judgement of one output, or of one sentence of it.

    Attributes:
        item: what the output answers; with `system`, the output.
        system: what wrote it.
        annotator: who judged it.
        flagged: whether the task itself is malformed, so that nothing can be said.
        interpretable: whether it can be understood with the source hidden; None if flagged.
        attributable: whether, according to the source, all of it is so; None unless interpretable,
            or interpretability was not asked.
        justification: in the annotator's words.
        seconds: from first sight to the last answer; None if not measured.
        task: such as ``qrecc``.
        design: how the annotator was asked, such as ``two-step``.
        sentence: which sentence of the output, from 1; None for the whole.
        output: the rated text; may be empty.
        interpretable_level, attributable_level: the answers of a design that asks for levels from 1
            to 5, of which `interpretable` and `attributable` are made; None in other designs.

    Raises:
        ValueError: an answer is there without its question, or is missing.
    """

    item: str
    system: str
    annotator: str
    flagged: bool = False
    interpretable: bool | None = None
    attributable: bool | None = None
    justification: str = ""
    seconds: float | None = None
    task: str = ""
    design: str = ""
    sentence: int | None = None
    output: str = ""
    interpretable_level: int | None = None
    attributable_level: int | None = None

    def __post_init__(self) -> None:
        if self.interpretability_asked:
            if (self.interpretable is None) is not self.flagged:
                raise ValueError("interpretable is true or false, or null exactly where flagged")
            if (self.attributable is None) is (self.interpretable is True):
                raise ValueError(
                    "attributable is true or false exactly where interpretable is true"
                )
        elif self.interpretable is not None or (self.attributable is None) is not self.flagged:
            raise ValueError(
                f"in the design {ATTRIBUTION_ONLY} interpretable is null, and attributable is true "
                "or false, or null exactly where flagged"
            )

    @property
    def interpretability_asked(self) -> bool:
        """Whether the design asks for interpretability; only one does not."""
        return self.design != ATTRIBUTION_ONLY

    @property
    def unit(self) -> tuple[str, str, str, str, int | None]:
        """What tells the rated from other things rated: task, design, item, system, sentence."""
        return self.task, self.design, self.item, self.system, self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Return the line of a file, without empty fields."""
        row: dict[str, Any] = {
            "item": self.item,
            "system": self.system,
            "annotator": self.annotator,
            "flagged": self.flagged,
        }
        optional = {
            "interpretable": self.interpretable,
            "attributable": self.attributable,
            "justification": self.justification or None,
            "seconds": self.seconds,
            "task": self.task or None,
            "design": self.design or None,
            "sentence": self.sentence,
            "output": self.output or None,
            "interpretable_level": self.interpretable_level,
            "attributable_level": self.attributable_level,
        }
        return row | {name: value for name, value in optional.items() if value is not None}


def read_ratings(path: Path | str) -> list[Rating]:
    """Read a file of ratings.

    Args:
        path: JSON lines; ``-`` is standard input.

    Raises:
        InputError: a line is invalid, or an annotator rated the same twice; the message names
            file and line.
    """
    ratings: list[Rating] = []
    places: dict[tuple[object, ...], str] = {}
    for row in read_rows(path):
        rating = _rating(row)
        key = (*rating.unit, rating.annotator)
        if key in places:
            raise InputError(
                f"{shown(rating.annotator)} rated item {shown(rating.item)} of {shown(rating.system)} already, at {places[key]}.",
                where=row.where,
            )
        places[key] = row.where
        ratings.append(rating)
    return ratings


def write_ratings(path: Path | str, ratings: Iterable[Rating]) -> None:
    """Write a file of ratings.

    Raises:
        InputError: the path cannot be written.
        UnavailableError: the disk failed or is full.
    """
    write_jsonl(path, (rating.to_dict() for rating in ratings))


def _rating(row: Row) -> Rating:
    try:
        return Rating(
            row.text("item"),
            row.text("system"),
            row.text("annotator"),
            flagged=_answer(row, "flagged") or False,
            interpretable=_answer(row, "interpretable"),
            attributable=_answer(row, "attributable"),
            justification=_text(row, "justification"),
            seconds=_seconds(row),
            task=_text(row, "task"),
            design=_text(row, "design"),
            sentence=_count(row, "sentence"),
            output=_text(row, "output"),
            interpretable_level=_count(row, "interpretable_level", LEVELS),
            attributable_level=_count(row, "attributable_level", LEVELS),
        )
    except ValueError as error:
        got = ", ".join(
            f"{name} {describe(row.fields.get(name))}"
            for name in ("flagged", "interpretable", "attributable")
        )
        raise InputError(
            f"These answers do not go together: {got}. {str(error).capitalize()}.", where=row.where
        ) from error


def _text(row: Row, name: str) -> str:
    return "" if row.fields.get(name) is None else row.text(name)


def _answer(row: Row, name: str) -> bool | None:
    value = row.fields.get(name)
    if value is None or isinstance(value, bool):
        return value
    raise must_be(row, name, "true, false or null")


def _seconds(row: Row) -> float | None:
    value = row.fields.get("seconds")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise must_be(row, "seconds", "a number")
    if not (value >= 0 and math.isfinite(value)):
        raise must_be(row, "seconds", "0 or more")
    return float(value)


def _count(row: Row, name: str, most: int | None = None) -> int | None:
    value = row.fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise must_be(row, name, "a whole number from 1")
    if most is not None and value > most:
        raise must_be(row, name, f"a whole number from 1 to {most}")
    return value


Ties = Literal["no", "yes", "open"]
"""What half against half is: not a majority, hence no; yes; or left open, and out of the rates."""


@dataclass(frozen=True, slots=True)
class RatedUnit:
    """One output, or one sentence of it, with all its ratings.

    Attributes:
        ratings: one per annotator.
        verdict: their consensus.
        tied: questions that half answered each way: ``int``, ``ais``.
    """

    ratings: tuple[Rating, ...]
    verdict: Verdict
    tied: tuple[str, ...] = ()

    @property
    def sentence(self) -> int | None:
        """Which sentence, from 1; None for a whole output."""
        return self.ratings[0].sentence


def consensus(ratings: Iterable[Rating], *, ties: Ties = "no") -> list[RatedUnit]:
    """Return the consensus on each output, or sentence, in order of appearance.

    Args:
        ratings: of any number of annotators.
        ties: what half against half means; a tie of flags never flags.

    Example:
        >>> from semqa.attribution.ais.ratings import Rating
        >>> said = [Rating("1", "m", name, False, True, name != "c") for name in "abc"]
        >>> consensus(said)[0].verdict.attributable
        True
    """
    return [_unit(group, ties) for group in group_ratings(ratings)]


def group_ratings(ratings: Iterable[Rating]) -> list[list[Rating]]:
    """Return the ratings of each output, or sentence, in order of appearance."""
    groups: dict[tuple[object, ...], list[Rating]] = defaultdict(list)
    for rating in ratings:
        groups[rating.unit].append(rating)
    return list(groups.values())


def _unit(group: Sequence[Rating], ties: Ties) -> RatedUnit:
    first = group[0]
    flagged = 2 * sum(rating.flagged for rating in group) > len(group)
    clear, agree_int, tied_int = None, None, False
    whole, agree_ais, tied_ais = None, None, False
    if not flagged:
        said = [r.interpretable for r in group if r.interpretable is not None]
        if first.interpretability_asked:
            clear, agree_int, tied_int = _vote(said, ties)
    if not flagged and (clear or not first.interpretability_asked):
        said = [r.attributable for r in group if r.attributable is not None]
        whole, agree_ais, tied_ais = _vote(said, ties)
    verdict = Verdict(
        item=first.item,
        system=first.system,
        output=first.output,
        flagged=flagged,
        interpretable=clear,
        attributable=whole,
        agree_int=agree_int,
        agree_ais=agree_ais,
        task=first.task,
        design=first.design,
    )
    tied = [name for name, is_tied in (("int", tied_int), ("ais", tied_ais)) if is_tied]
    return RatedUnit(tuple(group), verdict, tuple(tied))


def _vote(said: Sequence[bool], ties: Ties) -> tuple[bool | None, int | None, bool]:
    """Return the majority, how many are of it, and whether there is a tie."""
    yes = sum(said)
    no = len(said) - yes
    if yes != no:
        return yes > no, max(yes, no), False
    if ties == "open":
        return None, None, True
    return ties == "yes", yes, True


@dataclass(frozen=True, slots=True)
class SentenceVerdicts:
    """An answer whose sentences were rated.

    Attributes:
        verdict: on the answer.
        sentences: how many were rated.
        share: of the sentences that are attributable, of those with a verdict on it or found not
            interpretable; unscored if a sentence before the last was not rated.
    """

    verdict: Verdict
    sentences: int
    share: Statistic

    def to_dict(self) -> dict[str, Any]:
        """Return item, system and the figures, ready for JSON."""
        return {
            "item": self.verdict.item,
            "system": self.verdict.system,
            "task": self.verdict.task,
            "design": self.verdict.design,
            "flagged": self.verdict.flagged,
            "interpretable": self.verdict.interpretable,
            "attributable": self.verdict.attributable,
            "sentences": self.sentences,
            "attributable_sentences": self.share.to_dict(),
        }


def join_sentences(units: Iterable[RatedUnit]) -> tuple[list[Verdict], list[SentenceVerdicts]]:
    """Return one verdict per answer: rated as a whole, or joined from its sentences.

    A flag on any sentence flags the answer, for the task is malformed then. It is interpretable,
    or attributable, if all its sentences are; not if one is not; and open otherwise.

    Args:
        units: outputs and sentences, in any order. An output that was rated both whole and by the
            sentence has a verdict of each kind; the whole one counts.

    Returns:
        The verdicts, in order of appearance; and what the sentences said.
    """
    whole: dict[tuple[str, ...], Verdict] = {}
    parts: dict[tuple[str, ...], list[RatedUnit]] = {}
    order: dict[tuple[str, ...], None] = {}
    for unit in units:
        order[unit.verdict.key] = None
        if unit.sentence is None:
            whole[unit.verdict.key] = unit.verdict
        else:
            parts.setdefault(unit.verdict.key, []).append(unit)
    joined = {key: _join(group) for key, group in parts.items()}
    verdicts = [whole[key] if key in whole else joined[key].verdict for key in order]
    return verdicts, list(joined.values())


def _join(group: Sequence[RatedUnit]) -> SentenceVerdicts:
    first = group[0].verdict
    flagged = any(unit.verdict.flagged for unit in group)
    asked = group[0].ratings[0].interpretability_asked
    clear = None if flagged or not asked else _all(unit.verdict.interpretable for unit in group)
    compared = not flagged and (clear or not asked)
    whole = _all(unit.verdict.attributable for unit in group) if compared else None
    gap = _gap(group)
    if gap is not None:
        # An unrated sentence might be anything: only a "no" is certain.
        clear, whole = (False if clear is False else None), None
    verdict = Verdict(
        item=first.item,
        system=first.system,
        output=" ".join(unit.verdict.output for unit in _in_order(group)).strip(),
        flagged=flagged,
        interpretable=clear,
        attributable=whole,
        task=first.task,
        design=first.design,
    )
    return SentenceVerdicts(verdict, len(group), _share(group, flagged=flagged, gap=gap))


def _share(group: Sequence[RatedUnit], *, flagged: bool, gap: int | None) -> Statistic:
    if flagged:
        return Statistic.none("the answer is flagged")
    if gap is not None:
        return Statistic.none(f"sentence {gap} was not rated")
    answers = [
        bool(unit.verdict.attributable)
        for unit in group
        if unit.verdict.attributable is not None or unit.verdict.interpretable is False
    ]
    if not answers:
        return Statistic.none("every sentence is open")
    return Statistic(sum(answers) / len(answers), len(answers))


def _in_order(group: Sequence[RatedUnit]) -> list[RatedUnit]:
    return sorted(group, key=lambda unit: unit.sentence or 0)


def _gap(group: Sequence[RatedUnit]) -> int | None:
    """Return the first sentence before the last rated one that was not rated."""
    rated = {unit.sentence for unit in group if unit.sentence is not None}
    return next((number for number in range(1, max(rated)) if number not in rated), None)


def _all(answers: Iterable[bool | None]) -> bool | None:
    given = list(answers)
    if False in given:
        return False
    return None if None in given else True
