"""Completeness and relevance of summaries.

Completeness is the share of a topic's key points that the summary makes; that of a system is the mean
over its summaries. Relevance is rated from 1 to 5; 1 and 2 count as 0, the others as 1, and the mean
is taken.

Source: Tang et al. 2024, TofuEval, section 4. The annotators' judgements of both are not released.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.attribution.judges.base import CompletingJudge, EntailmentJudge, Pair
from semqa.attribution.judges.replies import read_points, read_rating
from semqa.attribution.prompts import JudgePrompt
from semqa.errors import InputError
from semqa.metrics.statistic import Statistic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from semqa.attribution.judges.base import Judge
    from semqa.attribution.tofueval.annotations import SummaryKey

__all__ = [
    "Coverage",
    "completeness",
    "is_relevant",
    "judge_coverage",
    "mean_completeness",
    "mean_relevance",
    "rate_relevance",
]

HIGHEST_RATING = 5
LEAST_RELEVANT = 3

NO_POINTS = "the topic has no key points"
UNREAD = "the reply says nothing of a key point"


class Coverage(NamedTuple):
    """Which key points a summary makes.

    Attributes:
        key: the summary.
        made: for each point whether it is made; None where the reply does not say.
        reply: what a language model wrote; None where entailment was judged.
    """

    key: SummaryKey
    made: tuple[bool | None, ...]
    reply: str | None = None

    @property
    def score(self) -> Statistic:
        """Completeness of the summary, in [0, 1]."""
        return completeness(self.made)

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON-ready object."""
        row: dict[str, Any] = {
            "dataset": self.key.dataset,
            "doc_id": self.key.doc_id,
            "topic": self.key.topic,
            "model_name": self.key.model,
            "made": list(self.made),
            "completeness": self.score.value,
        }
        if self.score.unscored is not None:
            row["unscored"] = self.score.unscored
        return row if self.reply is None else {**row, "reply": self.reply}


def completeness(made: Sequence[bool | int | None]) -> Statistic:
    """Return the share of key points that a summary makes; unscored where there are none.

    Example:
        >>> completeness([1, 0, 1, 1]).value, completeness([]).unscored
        (0.75, 'the topic has no key points')
    """
    if not made:
        return Statistic.none(NO_POINTS)
    known = [each for each in made if each is not None]
    if len(known) < len(made):
        return Statistic.none(UNREAD, len(made))
    return Statistic(sum(map(bool, known)) / len(made), len(made))


def mean_completeness(scores: Iterable[Statistic]) -> Statistic:
    """Return the mean over summaries of those that are scored."""
    values = [score.value for score in scores if score.value is not None]
    if not values:
        return Statistic.none("no summary is scored")
    return Statistic(fmean(values), len(values))


def judge_coverage(
    summaries: Sequence[tuple[SummaryKey, str]],
    points: Mapping[SummaryKey, Sequence[str]],
    judge: Judge,
    prompt: JudgePrompt | None = None,
    *,
    by_prompt: bool = False,
) -> list[Coverage]:
    """Judge which key points summaries make.

    Args:
        summaries: what they are, and their texts.
        points: the key points of each.
        judge: says what is entailed, or answers prompts.
        prompt: in place of our own; gets ``topic``, ``text`` and ``points``.
        by_prompt: ask by prompt, all points of a summary at once; otherwise a point is made where
            the summary entails it.

    Raises:
        InputError: the judge cannot do this.
    """
    if by_prompt:
        if not isinstance(judge, CompletingJudge):
            raise _cannot(judge, "answer prompts")
        prompt = prompt or JudgePrompt.load("tofueval-key-points")
        asked = [each for each in summaries if points[each[0]]]
        replies = judge.complete(
            [prompt.fill(topic=key.topic, text=text, points=points[key]) for key, text in asked],
            max_new_tokens=16 + 8 * max((len(points[key]) for key, _ in asked), default=0),
        )
        said = {key: reply for (key, _), reply in zip(asked, replies, strict=True)}
        return [
            Coverage(key, tuple(read_points(said[key], len(points[key]))), said[key])
            if key in said
            else Coverage(key, ())
            for key, _ in summaries
        ]
    if not isinstance(judge, EntailmentJudge):
        raise _cannot(judge, "judge entailment")
    pairs = [Pair(text, point) for key, text in summaries for point in points[key]]
    found = iter(judge.entailment(pairs) if pairs else ())
    return [Coverage(key, tuple(next(found).entailed for _ in points[key])) for key, _ in summaries]


def rate_relevance(
    summaries: Sequence[tuple[SummaryKey, str]], judge: Judge, prompt: JudgePrompt | None = None
) -> list[tuple[int | None, str]]:
    """Ask for ratings of relevance, from 1 to 5.

    Args:
        summaries: what they are, and their texts.
        judge: answers prompts.
        prompt: in place of our own; gets ``topic`` and ``text``.

    Returns:
        Of each summary the rating (None where the reply has none) and the reply.

    Raises:
        InputError: the judge answers no prompts.
    """
    if not isinstance(judge, CompletingJudge):
        raise _cannot(judge, "answer prompts")
    prompt = prompt or JudgePrompt.load("tofueval-relevance")
    filled = [prompt.fill(topic=key.topic, text=text) for key, text in summaries]
    return [(read_rating(reply), reply) for reply in judge.complete(filled, max_new_tokens=16)]


def is_relevant(rating: float) -> bool:
    """Return whether a rating counts as relevant: 3, 4 and 5 do, 1 and 2 do not.

    Raises:
        InputError: the rating is not from 1 to 5.

    Source: Tang et al. 2024, appendix F.4.

    Example:
        >>> [is_relevant(rating) for rating in (2, 3, 5)]
        [False, True, True]
    """
    if not 1 <= rating <= HIGHEST_RATING:
        raise InputError(
            f"must be from 1 to {HIGHEST_RATING}, got {rating}.", field="rating", value=rating
        )
    return rating >= LEAST_RELEVANT


def mean_relevance(ratings: Iterable[float | None]) -> Statistic:
    """Return the share of ratings that count as relevant; None is left out.

    Example:
        >>> round(mean_relevance([3, 5, 2]).value, 2)
        0.67
    """
    known = [is_relevant(rating) for rating in ratings if rating is not None]
    return Statistic(fmean(known), len(known)) if known else Statistic.none("no rating")


def _cannot(judge: Judge, task: str) -> InputError:
    return InputError(
        f"judge: got {judge.name!r}, which cannot {task}, expected one that can; choose another"
    )
