"""Scores for quoted answers over documents: fact recall, quote precision and abstention.

Texts are compared without white space, Markdown markup and dashes at the start of words, so that a
quote matches whether a program read the raw or the rendered file. This module does not read files
or run engines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from itertools import accumulate
from statistics import fmean
from typing import Any, NamedTuple

from semqa.metrics.bootstrap import Mean, mean_with_interval

RUN = 3
"""Minimum run of words that a non-verbatim quote must share with evidence to get credit."""

_MARKDOWN = re.compile(r"[*#|`>_~]+")
_DASHES = "-–—"


@dataclass(frozen=True, slots=True)
class DocsQuestion:
    """A question over documents, with the expected facts and evidence.

    Attributes:
        facts: facts that the answer must contain, each as its alternative wordings.
        evidence: verbatim passages of the documents that belong in the answer.
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
    """A quote in an answer; quotes of a title (`field` is ``title``) are not scored."""

    text: str
    document: str | None = None
    field: str | None = None


@dataclass(frozen=True, slots=True)
class DocsPrediction:
    """A program's answer to one question: its quotes, an abstention or an error.

    `ticked` tells whether readers see a ✓ on it; None if unknown.
    """

    quotes: tuple[DocsQuote, ...] = ()
    abstained: bool = False
    error: str | None = None
    ticked: bool | None = None


@dataclass(frozen=True, slots=True)
class DocsScore:
    """Scores of one answer; proportions are in [0, 1], and None if the question is unanswerable."""

    id: str
    kind: str
    documents: int  # of the question
    answerable: bool
    score: float  # F1 of recall and precision; 1 or 0 if unanswerable
    recall: float | None  # share of facts found
    precision: float | None  # share of quoted words inside evidence
    abstained: bool  # or quotes nothing
    error: bool
    words: int
    not_verbatim: int = 0  # number of quotes found in no document
    missed: tuple[str, ...] = ()  # first wording of each fact missing from an answer with quotes
    ticked: bool | None = None  # whether readers see a ✓; None if unknown


class DocsScorer:
    r"""Scores answers over documents, by the text of each document.

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
        """Score one answer; the scorer must have all documents of the question."""
        quotes = [
            (text, quote.document)
            for quote in prediction.quotes
            if quote.field != "title" and (text := _Text.of(quote.text)).chars
        ]
        failed = bool(prediction.error)
        abstained = prediction.abstained or not (quotes or failed)
        zero = DocsScore(
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
            ticked=prediction.ticked,
        )
        if not question.answerable:
            return replace(zero, score=float(abstained and not failed))
        if abstained or failed:
            return zero
        matching = _Matching(question, self._texts)
        for text, document in quotes:
            matching.add(text, document)
        recall, precision = matching.recall, matching.precision
        total = recall + precision
        facts = zip(question.facts, matching.found, strict=True)
        return replace(
            zero,
            score=2 * recall * precision / total if total else 0.0,
            recall=recall,
            precision=precision,
            not_verbatim=matching.not_verbatim,
            missed=tuple(fact[0] for fact, quoted in facts if not quoted),
        )

    def problems(self, question: DocsQuestion) -> list[str]:
        """Return the reasons why no answer to the question can score 1.

        Example:
            >>> question = DocsQuestion("q1", "When?", ("a.md",), True, (("1934",),), ("in 1932",))
            >>> DocsScorer({"a.md": "Opened in 1932."}).problems(question)
            ['The fact "1934" is not in the evidence.']
        """
        if not question.answerable:
            return []
        matching = _Matching(question, self._texts)
        return [
            f'The evidence "{passage}" is in none of the documents.'
            for passage in question.evidence
            if not matching.occurs(passage)
        ] or [
            f'The fact "{fact[0]}" is not in the evidence.'
            for fact, places in zip(question.facts, matching.places, strict=True)
            if not places
        ]


@dataclass(frozen=True, slots=True)
class _Text:
    """The compared part of a text: its tokens, joined without spaces, and where each one is."""

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
        """Yield start and end of each occurrence of another text; occurrences may overlap.

        `whole` skips occurrences that start or end inside a word or number.
        """
        start = self.chars.find(other.chars) if other.chars else -1
        while start >= 0:
            end = start + len(other.chars)
            if not whole or not (self._cuts(start) or self._cuts(end)):
                yield start, end
            start = self.chars.find(other.chars, start + 1)

    def _cuts(self, at: int) -> bool:
        """Return whether an offset is between two letters or digits of one word."""
        return (
            0 < at < len(self.chars)
            and at not in self.starts
            and self.chars[at - 1].isalnum()
            and self.chars[at].isalnum()
        )


class _Place(NamedTuple):
    document: str
    start: int
    end: int


class _Matching:
    """Matches the quotes of one answer with evidence and facts.

    `places` are the occurrences of each fact inside evidence; `found` tells whether it was quoted.
    """

    def __init__(self, question: DocsQuestion, texts: Mapping[str, _Text]) -> None:
        self._texts = {name: texts[name] for name in question.documents}
        self._facts = [[_Text.of(wording) for wording in fact] for fact in question.facts]
        self._passages = [_Text.of(passage) for passage in question.evidence]
        # One flag per character of a document.
        self._evidence = {name: bytearray(len(text.chars)) for name, text in self._texts.items()}
        self._quoted = {name: bytearray(len(text.chars)) for name, text in self._texts.items()}
        for passage in self._passages:
            for name, start, end in self._find(passage):
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
        return sum(self.found) / len(self.found)

    @property
    def precision(self) -> float:
        return self._covered / self._words

    def occurs(self, passage: str) -> bool:
        return any(self._find(_Text.of(passage)))

    def add(self, quote: _Text, document: str | None) -> None:
        """Match a quote, in all documents if its own is unknown or not among the question's."""
        self._words += len(quote.words)
        places = list(self._find(quote, document))
        if not places:
            self.not_verbatim += 1
            self._covered += self._shared_words(quote)
            for number, fact in enumerate(self._facts):
                self.found[number] |= any(any(quote.find(text, whole=True)) for text in fact)
            return
        for number, occurrences in enumerate(self.places):
            self.found[number] |= any(
                fact.document == place.document
                and place.start <= fact.start
                and fact.end <= place.end
                for fact in occurrences
                for place in places
            )
        # Count the occurrence that covers most evidence not quoted before.
        best, new_words = max(
            ((place, self._new_evidence_words(quote, place)) for place in places),
            key=lambda pair: len(pair[1]),
        )
        self._covered += len(new_words)
        for start, end in new_words:
            self._quoted[best.document][start:end] = b"\1" * (end - start)

    def _find(
        self, text: _Text, document: str | None = None, *, whole: bool = False
    ) -> Iterator[_Place]:
        names = [document] if document in self._texts else self._texts
        for name in names:
            for start, end in self._texts[name].find(text, whole=whole):
                yield _Place(name, start, end)

    def _new_evidence_words(self, quote: _Text, place: _Place) -> list[tuple[int, int]]:
        """Return the document spans of a quote's words that get credit.

        At least half of the word must be evidence, and part of it must not be quoted yet.
        """
        evidence, quoted = self._evidence[place.document], self._quoted[place.document]
        words = [(place.start + start, place.start + end) for start, end in quote.words]
        return [
            (start, end)
            for start, end in words
            if 2 * sum(evidence[start:end]) >= end - start and 0 in quoted[start:end]
        ]

    def _shared_words(self, quote: _Text) -> int:
        """Return the number of words in runs of at least `RUN` words shared with evidence."""
        shared: set[int] = set()
        for passage in self._passages:
            matcher = SequenceMatcher(None, quote.tokens, passage.tokens, autojunk=False)
            for block in matcher.get_matching_blocks():
                if block.size >= RUN:
                    shared.update(range(block.a, block.a + block.size))
        return len(shared)


class Ticks(NamedTuple):
    """How many answers readers see with a ✓."""

    ticked: int
    n: int


@dataclass(frozen=True, slots=True)
class DocsFigures:
    """Aggregate scores of several answers; a mean of no values is None.

    Attributes:
        docqa: mean score of all questions.
        recall, precision, f1, words: means over answerable questions.
        fully_answered: share of answerable questions with all facts found.
        false_abstentions: share of answerable questions with an abstention.
        ticks: answers with a ✓, by what they are: ``complete``, ``partial`` and ``wrong`` (with all,
            some or none of the facts; abstentions are left out) and ``unanswerable`` (all answers
            and abstentions to such questions). Failed answers are left out, and those without a known ✓.
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
    ticks: Mapping[str, Ticks]

    @property
    def n(self) -> int:
        """Number of answers."""
        return self.docqa.n

    @classmethod
    def of(
        cls, scores: Sequence[DocsScore], *, resamples: int = 1000, seed: int = 0
    ) -> DocsFigures:
        """Aggregate scores, one per question; 0 resamples give no interval."""
        answerable = [score for score in scores if score.answerable]
        unanswerable = [score for score in scores if not score.answerable]
        return cls(
            docqa=mean_with_interval(
                [score.score for score in scores], resamples=resamples, seed=seed
            ),
            recall=_mean(score.recall for score in answerable),
            precision=_mean(score.precision for score in answerable),
            f1=_mean(score.score for score in answerable),
            fully_answered=_mean(score.recall == 1 for score in answerable),
            abstained=_mean(score.abstained for score in scores),
            abstained_on_unanswerable=_mean(score.abstained for score in unanswerable),
            false_abstentions=_mean(score.abstained for score in answerable),
            words=_mean(score.words for score in answerable),
            errors=sum(score.error for score in scores),
            not_verbatim=sum(score.not_verbatim for score in scores),
            ticks=_ticks(scores),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {
            "n": self.n,
            **asdict(self),
            "docqa": self.docqa.value,
            "docqa_interval": self.docqa.interval,
            "ticks": {name: ticks._asdict() for name, ticks in self.ticks.items()},
        }


def _ticks(scores: Iterable[DocsScore]) -> dict[str, Ticks]:
    ticks = dict.fromkeys(("complete", "partial", "wrong", "unanswerable"), Ticks(0, 0))
    for score in scores:
        if score.ticked is None or score.error or (score.answerable and score.abstained):
            continue
        name = "unanswerable"
        if score.recall is not None:
            name = "complete" if score.recall == 1 else "partial" if score.recall else "wrong"
        ticked, n = ticks[name]
        ticks[name] = Ticks(ticked + score.ticked, n + 1)
    return ticks


@dataclass(frozen=True, slots=True)
class DocsReport:
    """Aggregate scores of a program: total, by kind of question, and by group.

    The groups are questions over ``one document`` and over several (``collection``).
    """

    total: DocsFigures
    kinds: Mapping[str, DocsFigures]
    groups: Mapping[str, DocsFigures]

    @classmethod
    def of(cls, scores: Sequence[DocsScore], *, resamples: int = 1000, seed: int = 0) -> DocsReport:
        """Aggregate the scores of a program like `DocsFigures.of`."""

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
        """Return the report for JSON."""
        return {
            **self.total.to_dict(),
            "kinds": {name: figures.to_dict() for name, figures in self.kinds.items()},
            "groups": {name: figures.to_dict() for name, figures in self.groups.items()},
        }


def _mean(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return fmean(present) if present else None
