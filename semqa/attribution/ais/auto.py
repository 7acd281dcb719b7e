"""AutoAIS: whether what a sentence quotes or cites supports it, as a judge of entailment says.

This is a judgement and no verification: it says nothing on whether quotes are verbatim, and changes
nothing about them.

Source: Rashkin et al. 2023, "Measuring Attribution in Natural Language Generation Models", whose
question this asks of a model in place of people; Bohnet et al. 2022, "Attributed Question
Answering", and Gao et al. 2023 (ALCE), who do so with ``google/t5_xxl_true_nli_mixture``. As in the
former, the question stands before what is judged, for an answer is read in its light; as in the
latter, the unit is the sentence, and its premise all that it cites. Differs in that a probability
near one half is called unclear, and in that an answer is attributable only where every sentence is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from semqa.attribution.ais.resting import resting_sentences
from semqa.attribution.citations.passages import premise
from semqa.attribution.judges.base import Entailment, Pair
from semqa.attribution.judges.length import TooLongError, unless_too_long
from semqa.data.jsonl import as_row, describe
from semqa.errors import InputError
from semqa.quotes.render.common import Judged, JudgedSentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.ais.resting import RestingSentence
    from semqa.attribution.judges.base import EntailmentJudge
    from semqa.data.jsonl import Row
    from semqa.quotes import QuotedAnswer, Source

__all__ = ["MARGIN", "AnswerCheck", "SentenceCheck", "Support", "ToCheck", "check_answers"]

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
    """An answer to be judged.

    Attributes:
        question: what it answers; may be empty.
        answer: the answer with its sources.
    """

    question: str
    answer: QuotedAnswer


@dataclass(frozen=True, slots=True)
class SentenceCheck:
    """What a judge says of one sentence.

    Attributes:
        text: the sentence, without citations.
        start, end: its place in the plain answer.
        sources: numbers of the sources that it was held against.
        support: the outcome.
        entailment: the probabilities; None where the judge said nothing.
        reason: why the judge said nothing; empty where it did.
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

    @classmethod
    def read(cls, row: Row, margin: float) -> SentenceCheck:
        """Read it from a record, and judge its probabilities by another margin.

        Raises:
            InputError: a field is missing or of the wrong type.
        """
        given = row.fields.get("entailment")
        reason = row.text("reason", "")
        judged = None if given is None else _read_entailment(row, given)
        return cls(
            row.text("text"),
            _whole(row, row.fields.get("plain_start"), "plain_start"),
            _whole(row, row.fields.get("plain_end"), "plain_end"),
            tuple(_whole(row, each, "sources") for each in _array(row, "sources")),
            _support(judged, margin, reason),
            judged,
            reason,
        )


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """What a judge says of an answer, sentence by sentence.

    Attributes:
        judge: the name of the judge.
        margin: how near to one half a probability counted as unclear.
        sentences: those of the answer that say something.
    """

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
        """The share of sentences that are supported, 0 to 1; None where there is no sentence."""
        if not self.sentences:
            return None
        return self.counts[Support.SUPPORTED] / len(self.sentences)

    @property
    def supported(self) -> bool | None:
        """Whether every sentence is supported; None where there is no sentence."""
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

    @classmethod
    def read(cls, row: Row, margin: float) -> AnswerCheck:
        """Read what `to_dict` gave, and judge the probabilities in it by another margin.

        Raises:
            InputError: a field is missing or of the wrong type.
        """
        return cls(
            row.text("judge"),
            margin,
            tuple(
                SentenceCheck.read(as_row(each, f"{row.where}: sentence {number}"), margin)
                for number, each in enumerate(_array(row, "sentences"), 1)
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
        answers: the answers; the judge is asked once for all of their sentences.
        judge: says what follows from what.
        margin: how near to one half a probability of entailment is unclear, from 0 to 0.5.
        with_question: whether the question stands before each sentence.

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
    # So that whoever reads it knows where the question ends.
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


def _read_entailment(row: Row, given: object) -> Entailment:
    values = given if isinstance(given, dict) else {}
    found = [values.get(name) for name in Entailment._fields]
    if any(
        isinstance(v, bool) or not isinstance(v, (int, float)) or not 0 <= v <= 1 for v in found
    ):
        raise InputError(
            f"{row.where}: wrong value in field 'entailment': got {describe(given)}, expected an "
            f"object of probabilities {', '.join(Entailment._fields)}; correct it"
        )
    return Entailment(*(float(v) for v in found))  # type: ignore[arg-type]  # looked at above


def _array(row: Row, name: str) -> list[object]:
    found = row.fields.get(name)
    if not isinstance(found, list):
        raise InputError(
            f"{row.where}: wrong type in field {name!r}: got {describe(found)}, expected an array; "
            "correct it"
        )
    return found


def _whole(row: Row, value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(
            f"{row.where}: wrong value in field {name!r}: got {describe(value)}, expected a whole "
            "number from 0; correct it"
        )
    return value
