"""How often summaries err: rates by topic, split and model, and the types of errors.

A summary errs where a sentence of it does. Rates are pooled: errors of all models over sentences (or
summaries) of all models, not a mean of rates.

Source: Tang et al. 2024, Tables 2, 6 and 9. The averages that Table 2 prints for *marginal* topics are
not those of marginal topics: each is the mean of that rate and of the rate of all topics. What is
computed here is the rate itself.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from semqa.attribution.tofueval.annotations import by_summary
from semqa.metrics.statistics import Statistic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from semqa.attribution.tofueval.annotations import AnnotatedSentence

__all__ = [
    "ALL",
    "ErrorCounts",
    "Level",
    "Rate",
    "categories_of",
    "count_errors",
    "error_rates",
    "lengths",
]

Level = Literal["sentence", "summary"]
ALL = "all"
"""The name of what is pooled over topics, splits, models or datasets."""


class Rate(NamedTuple):
    """How many of some sentences or summaries err.

    Attributes:
        dataset: or `ALL`.
        category: of the topic, such as main; or `ALL`.
        split: or `ALL`.
        model: or `ALL`.
        level: what is counted.
        errors: how many err.
        n: how many there are, at least 1.
    """

    dataset: str
    category: str
    split: str
    model: str
    level: Level
    errors: int
    n: int

    @property
    def percent(self) -> float:
        """Errors in a hundred."""
        return 100 * self.errors / self.n

    def to_dict(self) -> dict[str, Any]:
        """Return the rate as a JSON-ready object."""
        return {**self._asdict(), "percent": self.percent}


class ErrorCounts(NamedTuple):
    """How often each type of error occurs.

    Attributes:
        inconsistent: sentences that err.
        several: of these, those with more than one type.
        untyped: of these, those without any.
        exploded: type to sentences that have it, a sentence counting for each of its types.
        single: type to sentences that have no other.
    """

    inconsistent: int
    several: int
    untyped: int
    exploded: Mapping[str, int]
    single: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as a JSON-ready object."""
        return {**self._asdict(), "exploded": dict(self.exploded), "single": dict(self.single)}


def categories_of(
    sentences: Sequence[AnnotatedSentence], categories: Mapping[str, Mapping[str, str]]
) -> list[str]:
    """Return the category of each sentence's topic, empty where none is known.

    Args:
        sentences: the sentences.
        categories: dataset to topic to category; what stands at ``""`` is for all datasets.
    """
    found = []
    for sentence in sentences:
        key = sentence.key
        own, common = categories.get(key.dataset, {}), categories.get("", {})
        found.append(own.get(key.topic) or common.get(key.topic, ""))
    return found


def error_rates(
    sentences: Sequence[AnnotatedSentence], categories: Mapping[str, Mapping[str, str]]
) -> list[Rate]:
    """Count errors in every cell that has sentences: dataset × category × split × model × level.

    Each of the four may be `ALL`, but for models and splits at once. Cells come in the order of
    the names.

    Args:
        sentences: the sentences.
        categories: dataset to topic to category; without them all topics are pooled alone.
    """
    kinds = dict(zip(map(id, sentences), categories_of(sentences, categories), strict=True))
    counts: dict[tuple[str, str, str, str, Level], list[int]] = {}

    def count(first: AnnotatedSentence, level: Level, errs: bool) -> None:
        for dataset in (first.key.dataset, ALL):
            for category in {kinds[id(first)] or ALL, ALL}:
                for split, model in ((ALL, ALL), (first.split, ALL), (ALL, first.key.model)):
                    if not split:
                        continue
                    cell = counts.setdefault((dataset, category, split, model, level), [0, 0])
                    cell[0] += errs
                    cell[1] += 1

    for sentence in sentences:
        count(sentence, "sentence", sentence.inconsistent)
    for summary in by_summary(sentences).values():
        count(summary[0], "summary", any(sentence.inconsistent for sentence in summary))
    rates = [Rate(*cell, *counted) for cell, counted in counts.items()]
    return sorted(rates, key=lambda rate: [(part == ALL, part) for part in rate[:5]])


def count_errors(sentences: Iterable[AnnotatedSentence]) -> ErrorCounts:
    """Count the types of errors of the sentences that err."""
    wrong = [sentence for sentence in sentences if sentence.inconsistent]
    exploded = Counter(name for sentence in wrong for name in sentence.errors)
    single = Counter(sentence.errors[0] for sentence in wrong if len(sentence.errors) == 1)
    return ErrorCounts(
        len(wrong),
        sum(len(sentence.errors) > 1 for sentence in wrong),
        sum(not sentence.errors for sentence in wrong),
        dict(exploded.most_common()),
        dict(single.most_common()),
    )


def lengths(sentences: Sequence[AnnotatedSentence]) -> dict[str, Statistic]:
    """Return how many sentences and words a summary has, on average."""
    count = len(by_summary(sentences))
    if not count:
        return dict.fromkeys(("sentences", "words"), Statistic.none("no summaries"))
    words = sum(len(sentence.text.split()) for sentence in sentences)
    return {
        "sentences": Statistic(len(sentences) / count, count),
        "words": Statistic(words / count, count),
    }
