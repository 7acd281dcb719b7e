"""AutoAIS over many answers: shares with intervals, and a record that holds all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.attribution.ais.auto import TOO_LONG, Support
from semqa.metrics.statistics import wilson_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from semqa.attribution.ais.auto import AnswerCheck

__all__ = ["summarise_checks"]

RESAMPLES = 1_000
NO_SENTENCE = "no answer has a sentence"


def summarise_checks(
    checks: Sequence[AnswerCheck],
    *,
    qids: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, object]:
    """Sum up what a judge said of many answers.

    Args:
        checks: one an answer.
        qids: the question of each answer; None where each answers a question of its own.
        resamples: of the bootstrap over questions; 0 for none, and no interval that needs it.
        seed: of the bootstrap.

    Returns:
        ``sentences``: the share of all sentences that are supported, in percent, with an interval
        over resamples of questions (sentences of one answer are not independent); ``answers``: the
        share of answers in which every sentence is, with Wilson's interval, or one over resamples
        where a question has several answers; ``mean``: the mean over answers of their sentences'
        share; ``counts`` of sentences by outcome; ``too_long``: how many of these the judge could
        not read; ``n``. An answer without a sentence counts nowhere but in ``empty``.
    """
    named = range(len(checks)) if qids is None else qids
    groups: dict[object, list[AnswerCheck]] = {}
    for qid, check in zip(named, checks, strict=True):
        if check.sentences:
            groups.setdefault(qid, []).append(check)
    scored = [check for group in groups.values() for check in group]
    counts = {support.value: sum(check.counts[support] for check in scored) for support in Support}
    total = sum(counts.values())
    record: dict[str, object] = {
        "sentences": None,
        "sentences_interval": None,
        "answers": None,
        "answers_interval": None,
        "mean": None,
        "counts": counts,
        "too_long": sum(each.reason == TOO_LONG for check in scored for each in check.sentences),
        "n": {"answers": len(scored), "sentences": total, "empty": len(checks) - len(scored)},
    }
    if not scored:
        return record | {"unscored": NO_SENTENCE}
    whole = sum(bool(check.supported) for check in scored)
    around = None
    if len(groups) == len(scored):
        around = [100 * end for end in wilson_interval(whole, len(scored))]
    elif resamples:
        around = _resampled(groups.values(), _of_answer, resamples, seed)
    return record | {
        "sentences": 100 * counts[Support.SUPPORTED] / total,
        "sentences_interval": _resampled(groups.values(), _of_sentences, resamples, seed)
        if resamples
        else None,
        "answers": 100 * whole / len(scored),
        "answers_interval": around,
        "mean": 100 * sum(check.share or 0.0 for check in scored) / len(scored),
    }


def _of_sentences(check: AnswerCheck) -> list[float]:
    return [100.0 * (each.support is Support.SUPPORTED) for each in check.sentences]


def _of_answer(check: AnswerCheck) -> list[float]:
    return [100.0 * bool(check.supported)]


def _resampled(
    groups: Iterable[Sequence[AnswerCheck]],
    values: Callable[[AnswerCheck], list[float]],
    resamples: int,
    seed: int,
) -> list[float] | None:
    """Return the 95% percentile interval of a mean, questions drawn with replacement, if any."""
    from semqa.metrics.bootstrap import mean_interval

    drawn = [[value for check in group for value in values(check)] for group in groups]
    around = mean_interval(drawn, resamples=resamples, seed=seed)
    return None if around is None else list(around)
