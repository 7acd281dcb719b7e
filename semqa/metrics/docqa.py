"""Scores of quoted answers over documents: facts found, words beside the point, abstentions.

Texts are compared by their characters alone: without white space, the marks of Markdown and the
dashes that begin words. So a quote fits its document whether a program read the file as it is or as
rendered. Knows nothing of files and engines.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from itertools import accumulate
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.metrics.bootstrap import Mean, mean_with_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

RUN = 3
"""Words in a row that a quote which is not verbatim must share with evidence to be credited."""

_MARKDOWN = re.compile(r"[*#|`>_~]+")
_DASHES = "-–—"


@dataclass(frozen=True, slots=True)
class DocsQuestion:
    """A question over documents, and what answers it.

    Attributes:
        id: names the question, once in a file.
        facts: what the answer must hold; each fact is a sequence of wordings, of which one is enough.
        evidence: the passages of the documents, verbatim, that belong in the answer.
        kind: what the question is an example of; may be empty.
    """

    id: str
    question: str
    documents: tuple[str, ...]
    answerable: bool = True
    facts: tuple[tuple[str, ...], ...] = ()
    evidence: tuple[str, ...] = ()
    kind: str = ""


@dataclass(frozen=True, slots=True)
class DocsQuote:
    """A quote of an answer; `field` is ``title`` for a quoted title, which is not scored."""

    text: str
    document: str | None = None
    field: str | None = None


@dataclass(frozen=True, slots=True)
class DocsPrediction:
    """What a program answered to one question: its quotes, or why there are none."""

    quotes: tuple[DocsQuote, ...] = ()
    abstained: bool = False
    error: str | None = None


@dataclass(frozen=True, slots=True)
class DocsScore:
    """The scores of one answer; shares are from 0 to 1.

    Attributes:
        documents: how many documents the question is asked of.
        score: F1 of recall and precision; 1 or 0 for a question that is not answerable.
        recall: share of facts found; None if not answerable.
        precision: share of quoted words inside evidence; None if not answerable.
        abstained: whether the answer abstains, or quotes nothing.
        words: number of quoted words.
        not_verbatim: number of quotes that are in none of the documents.
        missed: the facts that an answer with quotes lacks, each by its first wording.
    """

    id: str
    kind: str
    documents: int
    answerable: bool
    score: float
    recall: float | None
    precision: float | None
    abstained: bool
    error: bool
    words: int
    not_verbatim: int = 0
    missed: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the scores as a JSON-ready object."""
        return {**asdict(self), "missed": list(self.missed)}


class DocsScorer:
    r"""Scores answers over documents.

    Args:
        texts: the text of each document by its name.

    Example:
        >>> question = DocsQuestion(
        ...     "q1", "When?", ("a.md",), facts=(("1932",),), evidence=("It was opened in 1932.",)
        ... )
        >>> scorer = DocsScorer({"a.md": "# Bridge\n\n**It was** opened in 1932. It is long."})
        >>> quotes = (DocsQuote("It was opened in 1932. It is long.", "a.md"),)
        >>> score = scorer.score(question, DocsPrediction(quotes))
        >>> score.recall, score.precision
        (1.0, 0.625)
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = {name: _Text.of(text) for name, text in texts.items()}

    def score(self, question: DocsQuestion, prediction: DocsPrediction) -> DocsScore:
        """Score one answer; the question's documents must be among the scorer's."""
        quotes = [
            (text, quote.document)
            for quote in prediction.quotes
            if quote.field != "title" and (text := _Text.of(quote.text)).chars
        ]
        failed = bool(prediction.error)
        abstained = prediction.abstained or not (quotes or failed)
        nothing = DocsScore(
            id=question.id,
            kind=question.kind,
            documents=len(question.documents),
            answerable=question.answerable,
            score=0.0,
            recall=0.0 if question.answerable else None,
            precision=0.0 if question.answerable else None,
            abstained=abstained,
            error=failed,
            words=0 if abstained else sum(len(text.words) for text, _ in quotes),
        )
        if not question.answerable:
            return replace(nothing, score=float(abstained and not failed))
        if abstained or failed:
            return nothing
        marking = _Marking(question, self._texts)
        for text, document in quotes:
            marking.add(text, document)
        recall, precision = marking.recall, marking.precision
        total = recall + precision
        found = zip(question.facts, marking.found, strict=True)
        return replace(
            nothing,
            score=2 * recall * precision / total if total else 0.0,
            recall=recall,
            precision=precision,
            not_verbatim=marking.not_verbatim,
            missed=tuple(fact[0] for fact, quoted in found if not quoted),
        )

    def problems(self, question: DocsQuestion) -> list[str]:
        """Return what keeps the best answer to a question from a score of 1, in words.

        Example:
            >>> question = DocsQuestion("q1", "When?", ("a.md",), True, (("1934",),), ("in 1932",))
            >>> DocsScorer({"a.md": "Opened in 1932."}).problems(question)
            ['The fact "1934" is not in the evidence.']
        """
        if not question.answerable:
            return []
        marking = _Marking(question, self._texts)
        return [
            f'The evidence "{stretch}" is in none of the documents.'
            for stretch in question.evidence
            if marking.missing(stretch)
        ] or [
            f'The fact "{fact[0]}" is not in the evidence.'
            for fact, places in zip(question.facts, marking.places, strict=True)
            if not places
        ]


@dataclass(frozen=True, slots=True)
class _Text:
    """The characters of a text that are compared.

    `chars` has all of them, without anything between the words; `words` is where each of the `tokens`
    is in it, as start and end, and `starts` where they start.
    """

    chars: str
    tokens: tuple[str, ...]
    words: tuple[tuple[int, int], ...]
    starts: frozenset[int]

    @classmethod
    def of(cls, raw: str) -> _Text:
        tokens = tuple(
            word for token in _MARKDOWN.sub("", raw).split() if (word := token.lstrip(_DASHES))
        )
        ends = tuple(accumulate(map(len, tokens)))
        starts = tuple(end - len(token) for end, token in zip(ends, tokens, strict=True))
        return cls(
            "".join(tokens), tokens, tuple(zip(starts, ends, strict=True)), frozenset(starts)
        )

    def find(self, other: _Text, *, whole: bool = False) -> Iterator[tuple[int, int]]:
        """Yield all places of another text, as start and end; they may overlap.

        `whole` leaves out places that start or end inside a word or number.
        """
        start = self.chars.find(other.chars) if other.chars else -1
        while start >= 0:
            end = start + len(other.chars)
            if not whole or not (self._cuts(start) or self._cuts(end)):
                yield start, end
            start = self.chars.find(other.chars, start + 1)

    def _cuts(self, at: int) -> bool:
        """Whether an offset is between two letters or digits of one word."""
        return (
            0 < at < len(self.chars)
            and at not in self.starts
            and self.chars[at - 1].isalnum()
            and self.chars[at].isalnum()
        )


class _Place(NamedTuple):
    """A place in a document: ``chars[start:end]``."""

    document: str
    start: int
    end: int


class _Marking:
    """The marking of one answer, quote by quote.

    `places` is where each fact is inside evidence, `found` whether it was quoted, and `not_verbatim` the
    number of quotes that are in none of the documents.
    """

    def __init__(self, question: DocsQuestion, texts: Mapping[str, _Text]) -> None:
        self._texts = {name: texts[name] for name in question.documents}
        self._facts = [[_Text.of(wording) for wording in fact] for fact in question.facts]
        self._stretches = [_Text.of(stretch) for stretch in question.evidence]
        # A flag for each character of a document.
        self._evidence = {name: bytearray(len(text.chars)) for name, text in self._texts.items()}
        self._quoted = {name: bytearray(len(text.chars)) for name, text in self._texts.items()}
        for stretch in self._stretches:
            for name, start, end in self._find(stretch):
                self._evidence[name][start:end] = b"\1" * (end - start)
        self.places = [
            [
                place
                for wording in fact
                for place in self._find(wording, whole=True)
                if 0 not in self._evidence[place.document][place.start : place.end]
            ]
            for fact in self._facts
        ]
        self.found = [False] * len(self._facts)
        self.not_verbatim = 0
        self._words = self._covered = 0

    @property
    def recall(self) -> float:
        """Share of facts found."""
        return sum(self.found) / len(self.found)

    @property
    def precision(self) -> float:
        """Share of quoted words inside evidence."""
        return self._covered / self._words

    def missing(self, stretch: str) -> bool:
        """Whether a stretch of evidence is in none of the documents."""
        return next(self._find(_Text.of(stretch)), None) is None

    def add(self, quote: _Text, document: str | None) -> None:
        """Mark a quote; all documents are searched if its own is None or not one of the question's."""
        self._words += len(quote.words)
        places = list(self._find(quote, document))
        if not places:
            self.not_verbatim += 1
            self._covered += self._shared_words(quote)
            for number, fact in enumerate(self._facts):
                self.found[number] |= any(any(quote.find(text, whole=True)) for text in fact)
            return
        for number, wanted in enumerate(self.places):
            self.found[number] |= any(
                fact.document == place.document
                and place.start <= fact.start
                and fact.end <= place.end
                for fact in wanted
                for place in places
            )
        # It counts where it covers most evidence that was not quoted before.
        best, fresh = max(
            ((place, self._fresh_words(quote, place)) for place in places),
            key=lambda pair: len(pair[1]),
        )
        self._covered += len(fresh)
        for start, end in fresh:
            self._quoted[best.document][start:end] = b"\1" * (end - start)

    def _find(
        self, text: _Text, document: str | None = None, *, whole: bool = False
    ) -> Iterator[_Place]:
        names = [document] if document in self._texts else self._texts
        for name in names:
            for start, end in self._texts[name].find(text, whole=whole):
                yield _Place(name, start, end)

    def _fresh_words(self, quote: _Text, place: _Place) -> list[tuple[int, int]]:
        """Return the words of a quote, as places in the document, that earn credit there.

        At least half of such a word is evidence, and not all of it was quoted before.
        """
        evidence, quoted = self._evidence[place.document], self._quoted[place.document]
        words = [(place.start + start, place.start + end) for start, end in quote.words]
        return [
            (start, end)
            for start, end in words
            if 2 * sum(evidence[start:end]) >= end - start and 0 in quoted[start:end]
        ]

    def _shared_words(self, quote: _Text) -> int:
        """Return how many words of a quote are in a long enough run that evidence has as well."""
        shared: set[int] = set()
        for stretch in self._stretches:
            matcher = SequenceMatcher(None, quote.tokens, stretch.tokens, autojunk=False)
            for block in matcher.get_matching_blocks():
                if block.size >= RUN:
                    shared.update(range(block.a, block.a + block.size))
        return len(shared)


@dataclass(frozen=True, slots=True)
class DocsFigures:
    """The scores of several answers; None where there is nothing to take the mean of.

    Attributes:
        docqa: the mean score.
        recall, precision, f1: means over answerable questions.
        fully_answered: share of answerable questions with all facts found.
        abstained: share of all questions.
        abstained_on_unanswerable: share of the questions that are not answerable.
        false_abstentions: share of answerable questions.
        words: quoted words of an answer, the mean over answerable questions.
        errors: number of answers that failed.
        not_verbatim: number of quotes that are in none of their documents.
    """

    docqa: Mean
    recall: float | None
    precision: float | None
    f1: float | None
    fully_answered: float | None
    abstained: float | None
    abstained_on_unanswerable: float | None
    false_abstentions: float | None
    words: float | None
    errors: int
    not_verbatim: int

    @property
    def n(self) -> int:
        """The number of answers."""
        return self.docqa.n

    @classmethod
    def of(
        cls, scores: Sequence[DocsScore], *, resamples: int = 1000, seed: int = 0
    ) -> DocsFigures:
        """Take the means of scores, one for each question; 0 resamples give no interval."""
        answerable = [score for score in scores if score.answerable]
        rest = [score for score in scores if not score.answerable]
        return cls(
            docqa=mean_with_interval(
                [score.score for score in scores], resamples=resamples, seed=seed
            ),
            recall=_mean(score.recall for score in answerable),
            precision=_mean(score.precision for score in answerable),
            f1=_mean(score.score for score in answerable),
            fully_answered=_mean(score.recall == 1 for score in answerable),
            abstained=_mean(score.abstained for score in scores),
            abstained_on_unanswerable=_mean(score.abstained for score in rest),
            false_abstentions=_mean(score.abstained for score in answerable),
            words=_mean(score.words for score in answerable),
            errors=sum(score.error for score in scores),
            not_verbatim=sum(score.not_verbatim for score in scores),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a JSON-ready object."""
        return {
            "n": self.n,
            **asdict(self),
            "docqa": self.docqa.value,
            "docqa_interval": self.docqa.interval,
        }


@dataclass(frozen=True, slots=True)
class DocsReport:
    """The scores of a program: in total, by the kind of question (empty without kinds), and by group.

    The groups are questions asked of ``one document``, and of several (``collection``).
    """

    total: DocsFigures
    kinds: Mapping[str, DocsFigures]
    groups: Mapping[str, DocsFigures]

    @classmethod
    def of(cls, scores: Sequence[DocsScore], *, resamples: int = 1000, seed: int = 0) -> DocsReport:
        """Sum up the scores of a program, as `DocsFigures.of` does."""

        def figures(some: Iterable[DocsScore]) -> DocsFigures:
            return DocsFigures.of(list(some), resamples=resamples, seed=seed)

        kinds = dict.fromkeys(score.kind for score in scores if score.kind)
        return cls(
            figures(scores),
            {kind: figures(score for score in scores if score.kind == kind) for kind in kinds},
            {
                "one document": figures(score for score in scores if score.documents == 1),
                "collection": figures(score for score in scores if score.documents > 1),
            },
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a JSON-ready object."""
        return {
            **self.total.to_dict(),
            "kinds": {name: figures.to_dict() for name, figures in self.kinds.items()},
            "groups": {name: figures.to_dict() for name, figures in self.groups.items()},
        }


def _mean(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return fmean(present) if present else None
