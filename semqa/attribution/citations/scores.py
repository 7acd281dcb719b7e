"""Citation recall and precision: does what a sentence cites support it, and is each needed?

A sentence is recalled where the union of the passages that it cites entails it. A citation is
precise where its sentence is recalled and it is needed: its passage entails the sentence alone, or
the others together do not.

Source: Gao et al. 2023, "Enabling Large Language Models to Generate Text with Citations" (ALCE),
section 4, and its eval.py, whose default judge is ``google/t5_xxl_true_nli_mixture``. Differs, but
for ``official=True``, in what the paper leaves open: a passage cited twice in a sentence counts
once; a citation of a passage that does not exist is imprecise and spoils no other; an answer
without citations has no precision, where eval.py takes 0; all citations count, where eval.py takes
the first three of a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from semqa.attribution.citations.passages import CitedAnswer, CitedSentence, premise
from semqa.attribution.judges.base import Pair

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.judges.base import Entailment, EntailmentJudge
    from semqa.quotes.answer import QuotedAnswer

__all__ = [
    "OFFICIAL_AT_MOST",
    "CitationScores",
    "SentenceScore",
    "citation_scores",
    "score_citations",
]

OFFICIAL_AT_MOST = 3
"""Citations of a sentence that eval.py counts, by default."""

NO_SENTENCES = "the answer has no sentence"
NO_CITATIONS = "the answer cites nothing"


@dataclass(frozen=True, slots=True)
class SentenceScore:
    """How one sentence fared.

    Attributes:
        text: the sentence without citations.
        citations: the citations that count, in order.
        entailment: what the judge said of the union of the cited passages; None where there was
            nothing to ask, for nothing that exists is cited.
        precise: for each citation whether it is precise.
    """

    text: str
    citations: tuple[int, ...]
    entailment: Entailment | None
    precise: tuple[bool, ...]

    @property
    def supported(self) -> bool:
        """Whether the passages that it cites entail it."""
        return self.entailment is not None and self.entailment.entailed

    def to_dict(self) -> dict[str, object]:
        """Return it as a JSON-ready object."""
        return {
            "text": self.text,
            "citations": list(self.citations),
            "supported": self.supported,
            "entailment": None if self.entailment is None else self.entailment.entailment,
            "precise": list(self.precise),
        }


@dataclass(frozen=True, slots=True)
class CitationScores:
    """Citation recall and precision of one answer.

    Attributes:
        recall: sentences that are supported by what they cite, 0-100; None without a sentence.
        precision: citations that are precise, 0-100; None where nothing is cited.
        sentences: how each sentence fared.
        unscored: for each score that is None, the reason.
    """

    recall: float | None
    precision: float | None
    sentences: tuple[SentenceScore, ...]
    unscored: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_sentences(self) -> int:
        """Sentences of the answer."""
        return len(self.sentences)

    @property
    def n_supported(self) -> int:
        """Sentences that what they cite supports."""
        return sum(sentence.supported for sentence in self.sentences)

    @property
    def n_citations(self) -> int:
        """Citations that count."""
        return sum(len(sentence.precise) for sentence in self.sentences)

    @property
    def n_precise(self) -> int:
        """Citations that are precise."""
        return sum(sum(sentence.precise) for sentence in self.sentences)

    def to_dict(self) -> dict[str, object]:
        """Return the scores and their sentences as a JSON-ready object."""
        row: dict[str, object] = {
            "recall": self.recall,
            "precision": self.precision,
            "n_sentences": self.n_sentences,
            "n_supported": self.n_supported,
            "n_citations": self.n_citations,
            "n_precise": self.n_precise,
            "sentences": [sentence.to_dict() for sentence in self.sentences],
        }
        if self.unscored:
            row["unscored"] = dict(self.unscored)
        return row


def citation_scores(
    answer: QuotedAnswer, judge: EntailmentJudge, *, at_most: int | None = None
) -> CitationScores:
    """Score one quoted answer: each sentence cites the sources that it quotes.

    Every readable quote is a citation, verified or not: whether its words are verbatim is another
    question, which `QuotedAnswer` answers.

    Args:
        answer: the answer with its sources.
        judge: says what follows from what.
        at_most: count only so many citations a sentence, the first ones; None for all.

    Example:
        >>> from semqa import QuotedAnswer, Source
        >>> from semqa.attribution.judges import Entailment
        >>> class Contains:
        ...     name = identity = "contains"
        ...     def entailment(self, pairs):
        ...         return [Entailment(*((1, 0, 0) if h[:4] in p else (0, 1, 0))) for p, h in pairs]
        >>> sources = [Source("Bing Crosby sang it."), Source("Frank did not.")]
        >>> answer = QuotedAnswer.parse("[ 1 Bing ] sang. [ 2 Frank ] sang. So did Kay.", sources)
        >>> scores = citation_scores(answer, Contains())
        >>> scores.n_supported, scores.n_sentences, scores.precision
        (2, 3, 100.0)
    """
    from semqa.attribution.citations.quoted import cited_sentences

    cited = CitedAnswer(cited_sentences(answer), answer.sources)
    return score_citations([cited], judge, at_most=at_most)[0]


def score_citations(
    answers: Sequence[CitedAnswer],
    judge: EntailmentJudge,
    *,
    at_most: int | None = None,
    official: bool = False,
) -> list[CitationScores]:
    """Score answers together: the judge gets three batches, however many they are.

    Args:
        answers: the answers.
        judge: says what follows from what.
        at_most: count only so many citations a sentence, the first ones; None for all, and with
            `official` for `OFFICIAL_AT_MOST`.
        official: count as ALCE's eval.py does, defects and all (see `docs/attribution/citations.md`).
    """
    if official and at_most is None:
        at_most = OFFICIAL_AT_MOST
    work = [
        _Sentence(sentence, answer, at_most, official=official)
        for answer in answers
        for sentence in answer.sentences
    ]
    asked = [each for each in work if each.resolved]
    for each, found in zip(asked, judge.entailment([e.whole() for e in asked]), strict=True):
        each.entailment = found
    several = [
        (each, place)
        for each in asked
        if each.supported and len(each.resolved) > 1
        for place in range(len(each.resolved))
    ]
    alone = judge.entailment([each.alone(place) for each, place in several]) if several else []
    doubtful = [pair for pair, found in zip(several, alone, strict=True) if not found.entailed]
    without = (
        judge.entailment([each.without(place) for each, place in doubtful]) if doubtful else []
    )
    for (each, place), found in zip(doubtful, without, strict=True):
        if found.entailed:
            each.needless.add(place)
    rows = iter(work)
    return [
        _summed_up([next(rows).score() for _ in answer.sentences], official=official)
        for answer in answers
    ]


class _Sentence:
    """One sentence while it is scored.

    Attributes:
        resolved: indices of the passages that it cites, in order.
        entailment: of the union of these; None until it is known.
        needless: places in `resolved` of citations that are not needed.
    """

    def __init__(
        self, sentence: CitedSentence, answer: CitedAnswer, at_most: int | None, *, official: bool
    ) -> None:
        self._text = sentence.text
        self._passages = answer.passages
        self._official = official
        count = len(answer.passages)
        numbers = sentence.citations if official else tuple(dict.fromkeys(sentence.citations))
        if official and any(number > count for number in numbers):
            numbers = ()  # one that is out of range takes the others with it, and counts nowhere
        self._numbers = numbers[:at_most]
        # Index -1 is the last passage, for eval.py as for Python.
        lowest = 0 if official and count else 1
        self._real = [lowest <= number <= count for number in self._numbers]
        self.resolved = [
            number - 1 for number, real in zip(self._numbers, self._real, strict=True) if real
        ]
        self.entailment: Entailment | None = None
        self.needless: set[int] = set()

    @property
    def supported(self) -> bool:
        return self.entailment is not None and self.entailment.entailed

    def whole(self) -> Pair:
        return self._pair(self.resolved)

    def alone(self, place: int) -> Pair:
        return self._pair([self.resolved[place]])

    def without(self, place: int) -> Pair:
        others = list(self.resolved)
        others.remove(self.resolved[place])
        return self._pair(others)

    def score(self) -> SentenceScore:
        places = iter(range(len(self.resolved)))
        precise = tuple(
            real and next(places) not in self.needless and self.supported for real in self._real
        )
        return SentenceScore(self._text, self._numbers, self.entailment, precise)

    def _pair(self, indices: Sequence[int]) -> Pair:
        cited = [self._passages[index] for index in indices]
        return Pair(premise(cited, official=self._official), self._text)


def _summed_up(sentences: Sequence[SentenceScore], *, official: bool) -> CitationScores:
    scores = CitationScores(None, None, tuple(sentences))
    unscored = {}
    recall = precision = None
    if sentences:
        recall = 100 * scores.n_supported / scores.n_sentences
    else:
        unscored["recall"] = NO_SENTENCES
    if scores.n_citations:
        precision = 100 * scores.n_precise / scores.n_citations
    elif official and sentences:
        precision = 0.0
    else:
        unscored["precision"] = NO_CITATIONS if sentences else NO_SENTENCES
    return CitationScores(recall, precision, scores.sentences, unscored)
