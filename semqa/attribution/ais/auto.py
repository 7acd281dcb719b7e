"""AutoAIS: does what a sentence quotes or cites support it, according to a judge of entailment?

This is a judgement, not a verification: it says nothing about whether quotes are verbatim, and changes
nothing about them.

Source: Rashkin et al. 2023, whose question this asks of a model in place of people; Bohnet et al. 2022,
"Attributed Question Answering", and Gao et al. 2023 (ALCE), who do so with
``google/t5_xxl_true_nli_mixture``. As in the former, the question precedes what is judged, because an
answer is read in its light; as in the latter, the unit is the sentence, and its premise all that it
cites. Differs in that a probability near one half is called unclear, and in that an answer is
attributable only if every sentence is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from semqa.attribution.citations.reading import premise, resting_sentences
from semqa.attribution.judges.base import Pair, TooLongError, unless_too_long
from semqa.metrics.statistics import wilson_interval
from semqa.quotes.render.common import Judged, JudgedSentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semqa.attribution.citations.reading import RestingSentence
    from semqa.attribution.judges.base import Entailment, EntailmentJudge
    from semqa.quotes import QuotedAnswer, Source


MARGIN = 0.1
"""How near to one half a probability of entailment is unclear."""

QUOTES_NOTHING = "quotes and cites no source"
NO_SUCH_SOURCE = "the sources that it names do not exist"
TOO_LONG = "too long for the judge"


class Support(StrEnum):
    """What a judge says of a sentence and its sources."""

    SUPPORTED = "supported"
    NOT_SUPPORTED = "not supported"
    UNCLEAR = "unclear"


class ToCheck(NamedTuple):
    """An answer to be judged, with its sources, and the question, which may be empty."""

    question: str
    answer: QuotedAnswer


@dataclass(frozen=True, slots=True)
class SentenceCheck:
    """What a judge says of one sentence, its citations left out.

    Attributes:
        start, end: its place in the plain answer.
        sources: numbers of the sources that it was held against.
        entailment: the probabilities; None if the judge said nothing, and `reason` says why.
    """

    text: str
    start: int
    end: int
    sources: tuple[int, ...]
    support: Support
    entailment: Entailment | None = None
    reason: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return it as a JSON-ready object."""
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
    """What a judge says of an answer, sentence by sentence; `margin` is as in `check_answers`."""

    judge: str
    margin: float
    sentences: tuple[SentenceCheck, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many sentences there are of each outcome, every outcome listed."""
        seen = Counter(sentence.support for sentence in self.sentences)
        return {support.value: seen[support] for support in Support}

    @property
    def share(self) -> float | None:
        """The share of sentences that are supported, 0 to 1; None if there is no sentence."""
        if not self.sentences:
            return None
        return self.counts[Support.SUPPORTED] / len(self.sentences)

    @property
    def supported(self) -> bool | None:
        """Whether every sentence is supported; None if there is no sentence."""
        return None if not self.sentences else self.counts[Support.SUPPORTED] == len(self.sentences)

    def shown(self) -> Judged:
        """Return it as the pages of an answer show it."""
        return Judged(
            self.judge,
            tuple(
                JudgedSentence(each.text, each.support.value, each.sources, each.reason)
                for each in self.sentences
            ),
        )

    def to_dict(self) -> dict[str, object]:
        """Return it as a JSON-ready object."""
        return {
            "judge": self.judge,
            "margin": self.margin,
            "supported": self.supported,
            "share": self.share,
            "counts": self.counts,
            "sentences": [sentence.to_dict() for sentence in self.sentences],
        }


def check_answers(
    answers: Sequence[ToCheck],
    judge: EntailmentJudge,
    *,
    margin: float = MARGIN,
    with_question: bool = True,
) -> list[AnswerCheck]:
    """Judge answers, each sentence against the sources that it quotes or cites.

    The premise is these sources whole, one after the other, titles included. A sentence that names
    no source is not supported; the judge is not asked. What is too long for the judge is unclear.

    Args:
        answers: the judge is asked once for all of their sentences.
        judge: says what follows from what.
        margin: how near to one half a probability of entailment is unclear, from 0 to 0.5.
        with_question: whether the question precedes each sentence.

    Example:
        >>> from semqa import QuotedAnswer, Source
        >>> from semqa.attribution.judges import create_judge
        >>> sources = [Source("Bing Crosby sang it in 1942.")]
        >>> answer = QuotedAnswer.parse("[ 1 Bing Crosby ] sang it. He won a prize.", sources)
        >>> (check,) = check_answers([ToCheck("Who sang it?", answer)], create_judge("lexical"))
        >>> [(each.support.value, each.reason) for each in check.sentences]
        [('supported', ''), ('not supported', 'quotes and cites no source')]
    """
    work = [
        (number, sentence, _real(sentence, one.answer.sources))
        for number, one in enumerate(answers)
        for sentence in resting_sentences(one.answer)
    ]
    pairs = [
        Pair(
            premise([answers[number].answer.sources[source - 1] for source in real]),
            _hypothesis(answers[number].question if with_question else "", sentence.text),
        )
        for number, sentence, real in work
        if real
    ]
    results = unless_too_long(judge.entailment, pairs)
    judged = iter(results)
    found: list[list[SentenceCheck]] = [[] for _ in answers]
    for number, sentence, real in work:
        found[number].append(_check(sentence, real, next(judged) if real else None, margin))
    return [AnswerCheck(judge.name, margin, tuple(sentences)) for sentences in found]


def _real(sentence: RestingSentence, sources: Sequence[Source]) -> tuple[int, ...]:
    return tuple(number for number in sentence.sources if 1 <= number <= len(sources))


def _hypothesis(question: str, sentence: str) -> str:
    asked = " ".join(question.split())
    if not asked:
        return sentence
    # The question must end visibly.
    return f"{asked if asked[-1] in '?.!:？。' else asked + '?'} {sentence}"


def _check(
    sentence: RestingSentence,
    real: tuple[int, ...],
    judged: Entailment | TooLongError | None,
    margin: float,
) -> SentenceCheck:
    reason = ""
    if isinstance(judged, TooLongError):
        judged, reason = None, TOO_LONG
    elif judged is None:
        reason = NO_SUCH_SOURCE if sentence.sources else QUOTES_NOTHING
    text, start, end, _ = sentence
    support = _support(judged, margin, reason)
    return SentenceCheck(text, start, end, real, support, judged, reason)


def _support(judged: Entailment | None, margin: float, reason: str) -> Support:
    if judged is None:
        return Support.UNCLEAR if reason == TOO_LONG else Support.NOT_SUPPORTED
    if abs(judged.entailment - 0.5) < margin:
        return Support.UNCLEAR
    return Support.SUPPORTED if judged.entailed else Support.NOT_SUPPORTED


RESAMPLES = 1_000
NO_SENTENCE = "no answer has a sentence"


def summarise_checks(
    checks: Sequence[AnswerCheck],
    *,
    qids: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, object]:
    """Summarise a judge's checks of many answers.

    `qids` names the question of each answer; None if each answers a question of its own. With 0
    resamples no interval is given that needs them.

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
    if len(groups) == len(scored):
        around: list[float] | None = [100 * end for end in wilson_interval(whole, len(scored))]
    else:
        answers = [[100.0 * bool(check.supported) for check in group] for group in groups.values()]
        around = _resampled(answers, resamples, seed)
    sentences = [
        [100.0 * (each.support is Support.SUPPORTED) for check in group for each in check.sentences]
        for group in groups.values()
    ]
    return record | {
        "sentences": 100 * counts[Support.SUPPORTED] / total,
        "sentences_interval": _resampled(sentences, resamples, seed),
        "answers": 100 * whole / len(scored),
        "answers_interval": around,
        "mean": 100 * sum(check.share or 0.0 for check in scored) / len(scored),
    }


def _resampled(groups: Iterable[Sequence[float]], resamples: int, seed: int) -> list[float] | None:
    """Return the 95% percentile interval of a mean, questions drawn with replacement, if any."""
    from semqa.metrics.bootstrap import mean_interval

    around = mean_interval(list(groups), resamples=resamples, seed=seed) if resamples else None
    return None if around is None else list(around)
