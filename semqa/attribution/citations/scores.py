"""Citation recall and precision, short answers and ROUGE-L (ALCE), Disambig-F1 and DR (ASQA).

- *Recall*: a sentence is supported if the union of the passages that it cites entails it.
- *Precision*: a citation is precise if its sentence is supported and the citation is needed, that
  is, its passage alone entails the sentence, or the other passages together do not.
- *String exact match*: the share of a question's sub-questions with a short answer that occurs in
  the answer, both normalised as in SQuAD. An answer that contains all of them is a *hit*.
- *ROUGE-L*: the best score over the references, with one sentence per line.
- *Disambig-F1*: a judge answers each sub-question from the answer. Its F1 with the best short
  answer is averaged over sub-questions, then over questions.
- *DR*: the geometric mean of the corpus's Disambig-F1 and ROUGE-L.

Sources: Gao et al. 2023, "Enabling Large Language Models to Generate Text with Citations" (ALCE),
section 4, and its eval.py, whose default judge is ``google/t5_xxl_true_nli_mixture``; Stelmakh et
al. 2022, ASQA, section 4, and google-research/language, asqa/scoring.py, whose judge is
RoBERTa-large trained on SQuAD 2.0.

With ``official=True``, answers are read and counted as in the released scripts, defects included;
`docs/attribution/citations.md` lists the differences.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import fmean
from typing import Any, NamedTuple

from semqa.attribution.citations.examples import AnswerExample, ShortAnswers
from semqa.attribution.citations.reading import CitedAnswer, CitedSentence, cited_sentences, premise
from semqa.attribution.judges.base import Entailment, Judge, Pair, Reading
from semqa.attribution.sentences import split_sentences
from semqa.extras import require
from semqa.metrics.bootstrap import mean_with_interval
from semqa.metrics.rouge import rouge_scores
from semqa.metrics.statistics import Statistic
from semqa.metrics.text import exact_match, normalise_answer, token_f1
from semqa.quotes.answer import QuotedAnswer

OFFICIAL_AT_MOST = 3
"""Maximum number of citations per sentence that eval.py counts by default."""


class SentenceScore:
    """A sentence without its citations, with those that count, and what the judge finds.

    Attributes:
        resolved: indices of the cited passages that exist, in order.
        entailment: the judgement on their union; None without citations.
        needless: positions in `resolved` of citations that are not needed.
    """

    def __init__(
        self, sentence: CitedSentence, answer: CitedAnswer, at_most: int | None, *, official: bool
    ) -> None:
        self.text = sentence.text
        self._passages = answer.passages
        self._official = official
        count = len(answer.passages)
        numbers = sentence.citations if official else tuple(dict.fromkeys(sentence.citations))
        if official and any(number > count for number in numbers):
            numbers = ()  # one that is out of range voids all of them
        self.citations = numbers[:at_most]
        # eval.py accepts [0], because index -1 is the last passage in Python.
        lowest = 0 if official and count else 1
        self._real = [lowest <= number <= count for number in self.citations]
        self.resolved = [
            number - 1 for number, real in zip(self.citations, self._real, strict=True) if real
        ]
        self.entailment: Entailment | None = None
        self.needless: set[int] = set()

    @property
    def supported(self) -> bool:
        return self.entailment is not None and self.entailment.entailed

    @property
    def precise(self) -> tuple[bool, ...]:
        places = iter(range(len(self.resolved)))
        return tuple(
            real and next(places) not in self.needless and self.supported for real in self._real
        )

    def without(self, place: int) -> Pair:
        others = list(self.resolved)
        others.remove(self.resolved[place])
        return self.pair(others)

    def pair(self, indices: Sequence[int]) -> Pair:
        cited = [self._passages[index] for index in indices]
        return Pair(premise(cited, official=self._official), self.text)

    def to_dict(self) -> dict[str, object]:
        return {
            "text": self.text,
            "citations": list(self.citations),
            "supported": self.supported,
            "entailment": None if self.entailment is None else self.entailment.entailment,
            "precise": list(self.precise),
        }


@dataclass(frozen=True, slots=True)
class CitationScores:
    """Citation recall and precision of one answer, 0-100, or the reason in `unscored`."""

    recall: float | None
    precision: float | None
    sentences: tuple[SentenceScore, ...]
    unscored: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        return {
            "recall": self.recall,
            "precision": self.precision,
            "n_sentences": len(self.sentences),
            "n_supported": sum(sentence.supported for sentence in self.sentences),
            "n_citations": sum(len(sentence.precise) for sentence in self.sentences),
            "n_precise": sum(sum(sentence.precise) for sentence in self.sentences),
            "sentences": [sentence.to_dict() for sentence in self.sentences],
            **({"unscored": dict(self.unscored)} if self.unscored else {}),
        }


def citation_scores(answer: QuotedAnswer, judge: Judge) -> CitationScores:
    """Score one quoted answer, where each quote, verified or not, cites its source.

    Example:
        >>> from semqa import QuotedAnswer, Source
        >>> from semqa.attribution.judges import Entailment, Judge
        >>> class Contains(Judge):
        ...     name = identity = "contains"
        ...     def entailment(self, pairs):
        ...         return [Entailment(*((1, 0, 0) if h[:4] in p else (0, 1, 0))) for p, h in pairs]
        >>> sources = [Source("Bing Crosby sang it."), Source("Frank did not.")]
        >>> answer = QuotedAnswer.parse("[ 1 Bing ] sang. [ 2 Frank ] sang. So did Kay.", sources)
        >>> scores = citation_scores(answer, Contains())
        >>> round(scores.recall), scores.precision
        (67, 100.0)
    """
    cited = CitedAnswer(cited_sentences(answer), answer.sources)
    return score_citations([cited], judge)[0]


def score_citations(
    answers: Sequence[CitedAnswer],
    judge: Judge,
    *,
    at_most: int | None = None,
    official: bool = False,
) -> list[CitationScores]:
    """Score answers together; the judge gets at most three batches, for any number of answers.

    Args:
        at_most: maximum number of citations that count per sentence; None counts all, or
            `OFFICIAL_AT_MOST` with `official`.
        official: reproduce ALCE's eval.py, defects included (see `docs/attribution/citations.md`).
    """
    if official and at_most is None:
        at_most = OFFICIAL_AT_MOST
    work = [
        SentenceScore(sentence, answer, at_most, official=official)
        for answer in answers
        for sentence in answer.sentences
    ]
    pending = [each for each in work if each.resolved]
    whole = judge.entailment([each.pair(each.resolved) for each in pending])
    for each, found in zip(pending, whole, strict=True):
        each.entailment = found
    multiple = [
        (each, place)
        for each in pending
        if each.supported and len(each.resolved) > 1
        for place in range(len(each.resolved))
    ]
    single = [each.pair([each.resolved[place]]) for each, place in multiple]
    alone = judge.entailment(single) if single else []
    doubtful = [pair for pair, found in zip(multiple, alone, strict=True) if not found.entailed]
    others = [each.without(place) for each, place in doubtful]
    without = judge.entailment(others) if others else []
    for (each, place), found in zip(doubtful, without, strict=True):
        if found.entailed:
            each.needless.add(place)
    rows = iter(work)
    return [
        _summarise([next(rows) for _ in answer.sentences], official=official) for answer in answers
    ]


def _summarise(sentences: Sequence[SentenceScore], *, official: bool) -> CitationScores:
    if not sentences:
        return CitationScores(
            None, None, (), dict.fromkeys(("recall", "precision"), "the answer has no sentences")
        )
    recall = 100 * sum(sentence.supported for sentence in sentences) / len(sentences)
    precise = [each for sentence in sentences for each in sentence.precise]
    if precise or official:
        precision = 100 * sum(precise) / max(1, len(precise))
        return CitationScores(recall, precision, tuple(sentences))
    return CitationScores(
        recall, None, tuple(sentences), {"precision": "the answer has no citations"}
    )


NO_SHORT_ANSWERS = "the question has no short answers"


def string_match(
    text: str, expected: Sequence[ShortAnswers], *, official: bool = False
) -> Statistic:
    """Return the percentage of sub-questions with a short answer that occurs in an answer.

    The answer has no citations. With `official`, a short answer that is empty after normalisation
    counts as found.

    Example:
        >>> from semqa.attribution.citations.examples import ShortAnswers
        >>> string_match("In the U.S., 1943.", [ShortAnswers("", ("US",)), ShortAnswers("", ("1942",))])
        Statistic(value=50.0, n=2, unscored=None)
    """
    if not expected:
        return Statistic.none(NO_SHORT_ANSWERS)
    normalised_text = normalise_answer(text)
    found = 0
    for each in expected:
        normalised = map(normalise_answer, each.answers)
        found += any(answer in normalised_text for answer in normalised if answer or official)
    return Statistic(100 * found / len(expected), len(expected))


def rouge_l(text: str, references: Sequence[str], *, official: bool = False) -> Statistic:
    """Return the summary-level ROUGE-L of an answer without citations: the best over references.

    With `official`, stem words and use only the first two references, as eval.py does.

    Example:
        >>> rouge_l("It rained. It snowed.", ["It snowed. It rained."]).value
        100.0
    """
    if not references:
        return Statistic.none("the question has no reference")

    def lines(given: str) -> str:
        # The official scripts lower-case the text before they split it into sentences.
        return "\n".join(split_sentences(given, any_case=official)).lower()

    def score(reference: str) -> float:
        if not official:
            return rouge_scores(lines(reference), lines(text)).rougeLsum
        return 100 * float(_scorer().score(lines(reference), lines(text))["rougeLsum"].fmeasure)

    scores = map(score, references[:2] if official else references)
    return Statistic(max(scores), len(references))


@cache
def _scorer() -> Any:
    package = require(
        "rouge_score.rouge_scorer", extra="eval", purpose="ROUGE with stemming, as in ALCE,"
    )
    return package.RougeScorer(["rougeLsum"], use_stemmer=True)


class PairScore(NamedTuple):
    """The judge's answer to a sub-question, with its best F1 (0-1) over the short answers."""

    question: str
    short_answers: tuple[str, ...]
    found: str
    f1: float
    exact: bool


@dataclass(frozen=True, slots=True)
class DisambigScores:
    """Scores of an answer's sub-questions; `unscored` is the reason if they are missing."""

    pairs: tuple[PairScore, ...]
    unscored: str | None = None

    @property
    def f1(self) -> float | None:
        """Disambig-F1 of the answer, 0-100."""
        return 100 * fmean(pair.f1 for pair in self.pairs) if self.pairs else None

    @property
    def exact(self) -> float | None:
        """Percentage of sub-questions answered exactly."""
        return 100 * fmean(pair.exact for pair in self.pairs) if self.pairs else None

    @property
    def hit(self) -> float | None:
        """100 if all sub-questions are answered exactly, otherwise 0."""
        return 100.0 * all(pair.exact for pair in self.pairs) if self.pairs else None


def disambig_scores(
    examples: Sequence[AnswerExample], judge: Judge, *, official: bool = False
) -> list[DisambigScores]:
    """Score answers together; with `official`, remove citations as ALCE's eval.py does."""
    # Like eval.py, replace an empty answer with a space, because models reject empty passages.
    texts = [example.plain(official=official) or " " for example in examples]
    readings = [
        Reading(pair.question, text)
        for example, text in zip(examples, texts, strict=True)
        for pair in example.short_answers
    ]
    found = iter(["" if span is None else span.text for span in judge.answer(readings)])
    scores = []
    for example in examples:
        pairs = tuple(score_pair(expected, next(found)) for expected in example.short_answers)
        scores.append(DisambigScores(pairs, None if pairs else NO_SHORT_ANSWERS))
    return scores


def score_pair(expected: ShortAnswers, found: str) -> PairScore:
    """Score an extracted answer against the short answers of a sub-question."""
    return PairScore(
        expected.question,
        expected.answers,
        found,
        max((token_f1(answer, found) for answer in expected.answers), default=0.0),
        any(exact_match(answer, found) for answer in expected.answers),
    )


def dr_score(disambig_f1: float | None, rouge: float | None) -> float | None:
    """Return DR, 0-100: the geometric mean of both scores; None if either is None.

    Example:
        >>> round(dr_score(26.373514957680307, 39.151834028242725), 4)
        32.1337
    """
    return None if disambig_f1 is None or rouge is None else math.sqrt(disambig_f1 * rouge)


CITATION_SCORES = ("recall", "precision", "str_em", "str_hit", "rouge_l", "length")
DISAMBIG_SCORES = ("disambig_f1", "disambig_em", "disambig_hit", "rouge_l", "str_em", "length")


def citation_rows(
    examples: Sequence[AnswerExample],
    judge: Judge,
    *,
    at_most: int | None = None,
    official: bool = False,
) -> list[dict[str, Any]]:
    """Return one row per answer: citation scores, short answers, ROUGE-L and word count."""
    cited = [example.cited(official=official) for example in examples]
    scores = score_citations(cited, judge, at_most=at_most, official=official)
    return [
        _row(example, found.to_dict(), official)
        for example, found in zip(examples, scores, strict=True)
    ]


def disambig_rows(
    examples: Sequence[AnswerExample], judge: Judge, *, official: bool
) -> list[dict[str, Any]]:
    """Return one row per answer: Disambig-F1, short answers, ROUGE-L and word count."""
    rows = []
    for example, found in zip(
        examples, disambig_scores(examples, judge, official=official), strict=True
    ):
        scores = {"disambig_f1": found.f1, "disambig_em": found.exact, "disambig_hit": found.hit}
        unscored = {} if found.unscored is None else dict.fromkeys(scores, found.unscored)
        pairs = [pair._asdict() for pair in found.pairs]
        rows.append(_row(example, {"pairs": pairs, **scores, "unscored": unscored}, official))
    return rows


def _row(example: AnswerExample, judged: Mapping[str, Any], official: bool) -> dict[str, Any]:
    plain = example.plain(official=official)
    match = string_match(plain, example.short_answers, official=official)
    rouge = rouge_l(plain, example.references, official=official)
    reasons = {"str_em": match.unscored, "str_hit": match.unscored, "rouge_l": rouge.unscored}
    unscored = {name: reason for name, reason in reasons.items() if reason is not None}
    return {
        "id": example.key,
        "question": example.question,
        "output": example.text,
        "length": len(plain.split()),
        **{name: value for name, value in judged.items() if name != "unscored"},
        "str_em": match.value,
        "str_hit": None if match.value is None else 100.0 * (match.value == 100),
        "rouge_l": rouge.value,
        "unscored": {**judged.get("unscored", {}), **unscored},
    }


def summarise_citations(
    rows: Sequence[Mapping[str, Any]], *, resamples: int = 1000, seed: int = 0
) -> dict[str, Any]:
    """Return means over answers, 0-100 (``length`` in words), each with n and an interval."""
    results = _means(rows, CITATION_SCORES, resamples, seed)
    sentences = [sentence for row in rows for sentence in row["sentences"]]
    return results | {
        "answers": len(rows),
        "sentences": len(sentences),
        "sentences_supported": sum(sentence["supported"] for sentence in sentences),
        "sentences_uncited": sum(not sentence["citations"] for sentence in sentences),
        "citations": sum(len(sentence["precise"]) for sentence in sentences),
        "citations_precise": sum(sum(sentence["precise"]) for sentence in sentences),
    }


def summarise_disambig(
    rows: Sequence[Mapping[str, Any]], *, resamples: int = 1000, seed: int = 0
) -> dict[str, Any]:
    """Return means over answers, and the corpus-level DR of the answers with both scores."""
    both = [row for row in rows if None not in (row["disambig_f1"], row["rouge_l"])]
    dr = None
    if both:
        dr = dr_score(*(fmean(row[name] for row in both) for name in ("disambig_f1", "rouge_l")))
    means = _means(rows, DISAMBIG_SCORES, resamples, seed)
    return {"answers": len(rows), "dr": dr, "dr_n": len(both), **means}


def _means(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], resamples: int, seed: int
) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name in names:
        values = [row[name] for row in rows if row[name] is not None]
        results[name] = mean_with_interval(values, resamples=resamples, seed=seed)._asdict()
        reasons = Counter(row["unscored"][name] for row in rows if name in row["unscored"])
        if reasons:
            results[name]["unscored"] = dict(reasons)
    return results
