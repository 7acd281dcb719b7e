"""The answer itself: does it hold the short answers, and how close is it to what people wrote?

String exact match is the share of a question's sub-questions one of whose short answers stands in the
answer, both normalised as SQuAD does; a *hit* is an answer that has them all. ROUGE-L is that of the
closest reference, with a sentence a line.

Source: Stelmakh et al. 2022, ASQA, section 4; Gao et al. 2023, ALCE, section 4. Differs, but for
``official=True``, in that a short answer that normalises to nothing stands in no answer (there it
stands in all), and that ROUGE does not stem.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from semqa.attribution.sentences import split_sentences
from semqa.extras import require
from semqa.metrics.rouge import rouge_scores
from semqa.metrics.statistics import Statistic
from semqa.metrics.text import normalise_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.citations.examples import ShortAnswers

__all__ = ["NO_REFERENCE", "NO_SHORT_ANSWERS", "rouge_l", "string_match"]

NO_SHORT_ANSWERS = "the question has no short answers"
NO_REFERENCE = "the question has no reference"


def string_match(text: str, wanted: Sequence[ShortAnswers], *, official: bool = False) -> Statistic:
    """Return the share of sub-questions that an answer holds a short answer to, 0-100.

    Args:
        text: the answer, without citations.
        wanted: the sub-questions.
        official: count short answers that normalise to nothing as found.

    Example:
        >>> from semqa.attribution.citations.examples import ShortAnswers
        >>> string_match("In the U.S., 1943.", [ShortAnswers("", ("US",)), ShortAnswers("", ("1942",))])
        Statistic(value=50.0, n=2, unscored=None)
    """
    if not wanted:
        return Statistic.none(NO_SHORT_ANSWERS)
    within = normalise_answer(text)
    found = 0
    for each in wanted:
        normalised = map(normalise_answer, each.answers)
        found += any(answer in within for answer in normalised if answer or official)
    return Statistic(100 * found / len(wanted), len(wanted))


def rouge_l(text: str, references: Sequence[str], *, official: bool = False) -> Statistic:
    """Return ROUGE-L (summary level) against the closest reference, 0-100.

    Args:
        text: the answer, without citations.
        references: what people wrote.
        official: stem words, and look at the first two references alone, as eval.py does.

    Raises:
        MissingExtraError: official, and rouge-score is not installed.

    Example:
        >>> rouge_l("It rained. It snowed.", ["It snowed. It rained."]).value
        100.0
    """
    if not references:
        return Statistic.none(NO_REFERENCE)

    def lines(given: str) -> str:
        # The scripts make letters small before they look for sentences.
        return "\n".join(split_sentences(given, any_case=official)).lower()

    if official:
        scorer = _scorer()
        scores = [
            100 * scorer.score(lines(reference), lines(text))["rougeLsum"].fmeasure
            for reference in references[:2]
        ]
    else:
        scores = [rouge_scores(lines(reference), lines(text)).rougeLsum for reference in references]
    return Statistic(max(scores), len(references))


@cache
def _scorer() -> Any:
    package = require(
        "rouge_score.rouge_scorer", extra="eval", purpose="ROUGE with stems, as ALCE has it,"
    )
    return package.RougeScorer(["rougeLsum"], use_stemmer=True)
