"""AutoAIS over many answers: shares with intervals, and a record that holds all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.attribution.ais.auto import TOO_LONG, Support
from semqa.metrics.significance import wilson_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.ais.auto import AnswerCheck

__all__ = ["summarise_checks"]

RESAMPLES = 1_000
NO_SENTENCE = "no answer has a sentence"


def summarise_checks(
    checks: Sequence[AnswerCheck], *, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, object]:
    """Sum up what a judge said of many answers.

    Args:
        checks: one an answer.
        resamples: of the bootstrap over answers; 0 for no interval of the sentences' share.
        seed: of the bootstrap.

    Returns:
        ``sentences``: the share of all sentences that are supported, in percent, with an interval
        over resamples of answers (sentences of one answer are not independent); ``answers``: the
        share of answers in which every sentence is, with Wilson's interval; ``mean``: the mean over
        answers of their sentences' share; ``counts`` of sentences by outcome; ``too_long``: how
        many of these the judge could not read; ``n``. An answer
        without a sentence counts nowhere but in ``empty``.
    """
    scored = [check for check in checks if check.sentences]
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
    low, high = wilson_interval(whole, len(scored))
    return record | {
        "sentences": 100 * counts[Support.SUPPORTED] / total,
        "sentences_interval": _resampled(scored, resamples, seed) if resamples else None,
        "answers": 100 * whole / len(scored),
        "answers_interval": [100 * low, 100 * high],
        "mean": 100 * sum(check.share or 0.0 for check in scored) / len(scored),
    }


def _resampled(checks: Sequence[AnswerCheck], resamples: int, seed: int) -> list[float]:
    """Return the 95% percentile interval of the sentences' share, answers drawn with replacement."""
    from semqa.metrics.bootstrap import mean_interval

    shares = [
        [100.0 * (each.support is Support.SUPPORTED) for each in check.sentences]
        for check in checks
    ]
    return list(mean_interval(shares, resamples=resamples, seed=seed) or ())
