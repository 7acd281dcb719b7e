"""AutoAIS: an entailment judge decides whether the sources of each sentence support it.

This is a judgement, not a verification: it does not check whether quotes are verbatim, and does not
change their status.

Sources: the question is that of Rashkin et al. 2023, who ask people. Bohnet et al. 2022,
"Attributed Question Answering", and Gao et al. 2023 (ALCE) ask ``google/t5_xxl_true_nli_mixture``.
As in Bohnet et al., the question precedes the hypothesis, because it can be needed to understand
the answer. As in ALCE, the unit is the sentence, and the premise is all passages that it cites. Two
differences: a probability near one half is unclear, and an answer is attributable only if every
sentence is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from semqa.attribution.citations.reading import CitedSentence, cited_sentences, premise
from semqa.attribution.judges.base import Entailment, Judge, Pair, TooLongError, unless_too_long
from semqa.metrics.bootstrap import mean_interval
from semqa.metrics.statistics import wilson_interval
from semqa.quotes import QuotedAnswer
from semqa.quotes.render.common import Judged, JudgedSentence

MARGIN = 0.1
"""Entailment is unclear if its probability is closer to one half than this."""

QUOTES_NOTHING = "quotes and cites no source"
NO_SUCH_SOURCE = "the cited sources do not exist"
TOO_LONG = "too long for the judge"


class Support(StrEnum):
    """A judge's verdict on a sentence and its sources."""

    SUPPORTED = "supported"
    NOT_SUPPORTED = "not supported"
    UNCLEAR = "unclear"


class CheckInput(NamedTuple):
    """An answer to judge, and its question, which may be empty."""

    question: str
    answer: QuotedAnswer


@dataclass(frozen=True, slots=True)
class SentenceCheck:
    """A judge's verdict on one sentence, which has the span (`start`, `end`) in the plain answer.

    `sources` are the numbers of those in the premise. If `entailment` is None, see `reason`.
    """

    text: str
    start: int
    end: int
    sources: tuple[int, ...]
    support: Support
    entailment: Entailment | None = None
    reason: str = ""

    def to_dict(self) -> dict[str, object]:
        return {
            "text": self.text,
            "plain_start": self.start,
            "plain_end": self.end,
            "sources": list(self.sources),
            "support": self.support.value,
            "entailment": None if self.entailment is None else self.entailment._asdict(),
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """A judge's verdicts on the sentences of an answer; for `margin`, see `check_answers`."""

    judge: str
    margin: float
    sentences: tuple[SentenceCheck, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Number of sentences by verdict; all verdicts are listed."""
        seen = Counter(sentence.support for sentence in self.sentences)
        return {support.value: seen[support] for support in Support}

    @property
    def share(self) -> float | None:
        """Share of supported sentences, 0 to 1; None without a sentence."""
        if not self.sentences:
            return None
        return self.counts[Support.SUPPORTED] / len(self.sentences)

    @property
    def supported(self) -> bool | None:
        """Whether every sentence is supported; None without a sentence."""
        return None if not self.sentences else self.counts[Support.SUPPORTED] == len(self.sentences)

    def shown(self) -> Judged:
        """Return the verdicts in the form that answer pages show."""
        return Judged(
            self.judge,
            tuple(
                JudgedSentence(each.text, each.support.value, each.sources, each.reason)
                for each in self.sentences
            ),
        )

    def to_dict(self) -> dict[str, object]:
        return {
            "judge": self.judge,
            "margin": self.margin,
            "supported": self.supported,
            "share": self.share,
            "counts": self.counts,
            "sentences": [sentence.to_dict() for sentence in self.sentences],
        }


def check_answers(
    answers: Sequence[CheckInput],
    judge: Judge,
    *,
    margin: float = MARGIN,
    with_question: bool = True,
) -> list[AnswerCheck]:
    """Judge each sentence of answers against the sources that it quotes or cites.

    The premise is the full text of these sources, with titles, one after the other. A sentence
    without a source is not supported, without asking the judge. A sentence that is too long for the
    judge is unclear, and so is one with a probability of entailment closer to one half than
    `margin`.

    Example:
        >>> from semqa import QuotedAnswer, Source
        >>> from semqa.attribution.judges import create_judge
        >>> sources = [Source("Bing Crosby sang it in 1942.")]
        >>> answer = QuotedAnswer.parse("[ 1 Bing Crosby ] sang it. He won a prize.", sources)
        >>> (check,) = check_answers([CheckInput("Who sang it?", answer)], create_judge("lexical"))
        >>> [(each.support.value, each.reason) for each in check.sentences]
        [('supported', ''), ('not supported', 'quotes and cites no source')]
    """
    split = [
        [
            (sentence, tuple(n for n in sentence.citations if 1 <= n <= len(answer.sources)))
            for sentence in cited_sentences(answer)
        ]
        for _, answer in answers
    ]
    pairs = [
        Pair(
            premise([answer.sources[number - 1] for number in real]),
            _hypothesis(question if with_question else "", sentence.text),
        )
        for (question, answer), own in zip(answers, split, strict=True)
        for sentence, real in own
        if real
    ]
    results = unless_too_long(judge.entailment, pairs)
    judged = iter(results)
    return [
        AnswerCheck(
            judge.name,
            margin,
            tuple(_check(one, real, next(judged) if real else None, margin) for one, real in own),
        )
        for own in split
    ]


def _hypothesis(question: str, sentence: str) -> str:
    text = " ".join(question.split())
    if not text:
        return sentence
    # Punctuation separates the question from the sentence.
    return f"{text if text[-1] in '?.!:？。' else text + '?'} {sentence}"


def _check(
    sentence: CitedSentence,
    real: tuple[int, ...],
    judged: Entailment | TooLongError | None,
    margin: float,
) -> SentenceCheck:
    reason = ""
    if isinstance(judged, TooLongError):
        judged, reason, support = None, TOO_LONG, Support.UNCLEAR
    elif judged is None:
        reason = NO_SUCH_SOURCE if sentence.citations else QUOTES_NOTHING
        support = Support.NOT_SUPPORTED
    elif abs(judged.entailment - 0.5) < margin:
        support = Support.UNCLEAR
    else:
        support = Support.SUPPORTED if judged.entailed else Support.NOT_SUPPORTED
    text, _, start, end = sentence
    return SentenceCheck(text, start, end, real, support, judged, reason)


def summarise_checks(
    checks: Sequence[AnswerCheck],
    *,
    qids: Sequence[str] | None = None,
    resamples: int = 1_000,
    seed: int = 0,
) -> dict[str, object]:
    """Summarise checks of many answers.

    Args:
        checks: one check per answer.
        qids: the id of each answer's question; None if every answer has its own question.
        resamples: number of resamples of questions; 0 for no bootstrap intervals.

    Returns:
        ``sentences``: percentage of supported sentences, with a bootstrap interval over questions
        (sentences of one answer are not independent); ``answers``: percentage of answers with only
        supported sentences, with Wilson's interval, or a bootstrap interval if a question has
        several answers; ``mean``: the mean over answers of the percentage of supported sentences;
        ``counts`` of sentences by verdict; ``too_long``: number of sentences too long for the
        judge; ``n``. Answers without a sentence only count in ``empty``.
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
        return record | {"unscored": "no answer has a sentence"}
    whole = sum(bool(check.supported) for check in scored)
    if len(groups) == len(scored):
        low, high = wilson_interval(whole, len(scored))
        interval: tuple[float, float] | None = (100 * low, 100 * high)
    else:
        answers = [[100.0 * bool(check.supported) for check in group] for group in groups.values()]
        interval = mean_interval(answers, resamples=resamples, seed=seed)
    sentences = [
        [100.0 * (each.support is Support.SUPPORTED) for check in group for each in check.sentences]
        for group in groups.values()
    ]
    return record | {
        "sentences": 100 * counts[Support.SUPPORTED] / total,
        "sentences_interval": mean_interval(sentences, resamples=resamples, seed=seed),
        "answers": 100 * whole / len(scored),
        "answers_interval": interval,
        "mean": 100 * sum(check.share or 0.0 for check in scored) / len(scored),
    }
