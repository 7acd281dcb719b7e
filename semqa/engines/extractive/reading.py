"""Readings: the features of a source for a question, and the scores of its spans.

A logistic regression over word features predicts the probability that a person would quote each
word. The worth of a span is its expected F1 against the words that a person would quote.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from semqa.engines.cancellation import check_cancelled
from semqa.engines.extractive import tuning
from semqa.engines.extractive.lexicon import ARTICLES, PRONOUNS, STOPWORDS, related, stem
from semqa.engines.extractive.passage import read_passage, split_words
from semqa.engines.extractive.question import read_inquiry
from semqa.engines.extractive.relevance import decayed, measure
from semqa.engines.extractive.spans import Cut, find_candidates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from semqa.engines.extractive.passage import Passage
    from semqa.engines.extractive.question import Inquiry
    from semqa.engines.extractive.relevance import Relevance
    from semqa.engines.extractive.spans import Candidates
    from semqa.quotes import Source

    Array = NDArray[np.float64]

_BETWEEN = (Cut.SENTENCE, Cut.PUNCTUATION, Cut.BRACKET, Cut.RELATIVE, Cut.CONJUNCTION)
"""Cuts between clauses rather than inside one."""

_SURE = frozenset(["when", "quantity", "expansion", "why"])
"""Kinds of questions with reliable evidence."""


def _share(values: Array) -> Array:
    """Return the values divided by their maximum."""
    shares: Array = values / max(float(values.max(initial=0.0)), 1e-6)
    return shares


def _is_best(values: Array) -> Array:
    best = float(values.max(initial=0.0))
    return (values >= best - 1e-9).astype(np.float64) if best > 0 else np.zeros(len(values))


def sentence_features(inquiry: Inquiry, passage: Passage, relevance: Relevance) -> dict[str, Array]:
    """Return the features of each sentence by name; each has shape [sentences]."""
    r, sentences = relevance, passage.sentences
    return {
        "sentence_cover": r.cover,
        "sentence_brief": _share(r.brief),
        "sentence_brief_best": _is_best(r.brief),
        "sentence_bm25": _share(r.bm25),
        "sentence_topic": r.topic_cover,
        "sentence_near": r.best_near,
        "sentence_near_best": _is_best(r.best_near),
        "sentence_sure": (r.evident >= 0.5) * float(inquiry.kind in _SURE),
        "sentence_length": np.log1p(passage.lengths),
        "sentence_subject": np.array(
            [float(r.query[s.first : s.first + 3].max(initial=0.0) > 0) for s in sentences]
        ),
        "sentence_pronoun": np.array(
            [float(passage.words[s.first] in PRONOUNS) for s in sentences]
        ),
    }


def word_features(
    inquiry: Inquiry, passage: Passage, relevance: Relevance, candidates: Candidates
) -> dict[str, Array]:
    """Return the features of each word by name; each has shape [words].

    Words of a heading get the features of the last sentence, but are never quoted.
    """
    r, of = relevance, passage.sentence_of
    out = {
        name: values[of] if len(values) else np.zeros(len(of))
        for name, values in sentence_features(inquiry, passage, relevance).items()
    }
    answer = _share(r.near)
    best = out["sentence_brief_best"]
    return out | {
        "topic": r.topic,
        "nearness": r.nearness,
        "answer_left": decayed(answer, of, tuning.ANSWER_REACH, -1),
        "answer_right": decayed(answer, of, tuning.ANSWER_REACH, 1),
        "answer_run": _run(answer, r.evidence, of),
        "best_query_left": best * decayed(r.query, of, tuning.QUERY_REACH, -1),
        "best_query_right": best * decayed(r.query, of, tuning.QUERY_REACH, 1),
        **_outside(inquiry, passage, relevance, answer, _clauses(candidates, len(of))),
    }


def _clauses(candidates: Candidates, count: int) -> NDArray[np.int64]:
    """Return the clause number of each word, counting the cuts in `_BETWEEN`; shape [words]."""
    cut = np.zeros(count + 1, dtype=np.int64)
    cut[candidates.first[np.isin(candidates.before, _BETWEEN)]] = 1
    cut[candidates.last[np.isin(candidates.after, _BETWEEN)]] = 1
    numbers: NDArray[np.int64] = np.cumsum(cut)[:count]
    return numbers


def _run(answer: Array, evidence: Array, of: NDArray[np.int64]) -> Array:
    """Mark the run of evidence around the best answer word; shape [words]."""
    run = np.zeros(len(answer))
    if answer.max(initial=0.0) <= 0:
        return run
    first = int(np.argmax(answer))
    last = first + 1
    while first and evidence[first - 1] > 0.3 and of[first - 1] == of[first]:
        first -= 1
    while last < len(run) and evidence[last] > 0.3 and of[last] == of[first]:
        last += 1
    run[first:last] = 1.0
    return run


def _outside(
    inquiry: Inquiry,
    passage: Passage,
    relevance: Relevance,
    answer: Array,
    clauses: NDArray[np.int64],
) -> dict[str, Array]:
    """Return features of words outside the part of a sentence that has the topic and the answer.

    `clauses` has the clause number of each word: words in another clause are easier to leave out.
    """
    count = len(answer)
    left, right, apart, long = (np.zeros(count) for _ in range(4))
    core = (relevance.topic > 0.02) | (answer > 0.5)
    for sentence in passage.sentences:
        first, last = sentence.first, sentence.last
        inside = np.flatnonzero(core[first:last])
        long[first:last] = np.log((last - first) / 12.0) if last - first > 12 else 0.0
        if not len(inside):
            continue
        begin, end = first + int(inside[0]), first + int(inside[-1]) + 1
        left[first:begin] = 1.0
        right[end:last] = 1.0
        apart[first:begin] = clauses[begin] - clauses[first:begin]
        apart[end:last] = clauses[end:last] - clauses[end - 1]
    explained = float(inquiry.kind in ("why", "how"))
    away = np.minimum(apart, 3.0)
    return {
        "outside_left_long": left * long,
        "outside_right_long": right * long,
        "outside_explained": (left + right) * explained,
        "clauses_long": away * long,
    }


def title_features(
    inquiry: Inquiry,
    passage: Passage,
    relevance: Relevance,
    title: list[str],
    stems: frozenset[str],
) -> dict[str, float]:
    """Return the features of a source's title by name."""
    r = relevance
    best = int(np.argmax(r.brief)) if len(r.brief) else -1
    sentence = passage.sentences[best] if best >= 0 else None
    inside = set(passage.stems[sentence.first : sentence.last]) if sentence else set()
    news = [w for w in title if w not in inquiry.words and w not in STOPWORDS]
    return {
        "title_cover": r.title_cover,
        "title_length": float(np.log1p(len(title))),
        "title_news": len(news) / max(len(title), 1),
        "title_repeated": len(inside & stems) / max(len(stems), 1),
        "title_heading": float(passage.title_words > 0),
        "title_pronoun": float(sentence is not None and passage.words[sentence.first] in PRONOUNS),
        "title_uncovered": float(r.title_cover > 0 and r.cover.max(initial=0.0) < 0.99),
        "title_who": float(inquiry.kind == "who"),
        "title_when": float(inquiry.kind == "when"),
        "title_why": float(inquiry.kind == "why"),
        "title_where": float(inquiry.kind == "where"),
    }


@dataclass(frozen=True, slots=True)
class Weights:
    """Fitted weights by feature name; ``"bias"`` is the constant.

    Attributes:
        word: logistic regression for the probability that a word is quoted.
        title: logistic regression for the probability that the title is quoted.
    """

    word: Mapping[str, float]
    title: Mapping[str, float]


@lru_cache(maxsize=1)
def load_weights() -> Weights:
    """Return the weights that ship with the package."""
    text = resources.files(__package__).joinpath("weights.json").read_text("utf-8")
    data = json.loads(text)
    return Weights(data["word"], data["title"])


def _logistic(z: Array) -> Array:
    chance: Array = 1.0 / (1.0 + np.exp(-np.clip(z, -30.0, 30.0)))
    return chance


def chances(reading: Reading, weights: Weights) -> tuple[Array, float]:
    """Return the probabilities that each word, shape [words], and the title are quoted."""
    z = np.full(len(reading.passage.words), weights.word["bias"])
    for name, values in reading.words.items():
        z += weights.word.get(name, 0.0) * values
    words = _logistic(z) * (reading.passage.sentence_of >= 0)
    t = weights.title["bias"] + sum(
        weights.title.get(name, 0.0) * value for name, value in reading.title.items()
    )
    return words, float(_logistic(np.array(t))) if reading.title_words else 0.0


def score_spans(reading: Reading, weights: Weights) -> tuple[Array, Array]:
    """Return the expected F1 of each candidate, alone and with the title quoted before it.

    If p is the probability that a word is quoted, the expected F1 of a span S is about
    2 * sum(p over S) / (|S| + sum(p)). Articles do not count. Both have shape [spans].
    """
    p, title = chances(reading, weights)
    c, passage = reading.candidates, reading.passage
    counted = np.array([float(w not in ARTICLES) for w in passage.words])
    mass = p * counted
    inside, length = c.total(mass), c.total(counted)
    size_of_title = len(reading.title_words)
    expected = float(mass.sum()) + title * size_of_title
    alone = 2 * inside / np.maximum(length + expected, 1e-6)
    if not size_of_title:
        return alone, np.full(len(alone), -1.0)
    repeated = _repeated(reading)
    gained = title * size_of_title * (1 - repeated)
    return alone, 2 * (inside + gained) / (length + size_of_title + expected)


def _repeated(reading: Reading) -> Array:
    """Return the share of the title's words that each span repeats; shape [spans]."""
    distinct = sorted(set(reading.title_words))
    there = np.array([[word == title for word in reading.passage.words] for title in distinct])
    share: Array = np.mean([reading.candidates.holds(flags) for flags in there], axis=0)
    return share


@dataclass(frozen=True, slots=True)
class Reading:
    """The features of one source for a question.

    Attributes:
        words: features of each word by name; each has shape [words].
        title: features of the title by name.
        title_words: the title's words in lower case, without articles.
    """

    passage: Passage
    relevance: Relevance
    candidates: Candidates
    words: Mapping[str, Array]
    title: Mapping[str, float]
    title_words: list[str]


def read_request(
    question: str, sources: Sequence[Source], context: str = ""
) -> tuple[Inquiry, list[Reading]]:
    """Parse a question and read its sources; returns one reading per source, in order."""
    inquiry = read_inquiry(question, context)
    passages = []
    for source in sources:
        check_cancelled()
        passages.append(read_passage(source.text, source.title, inquiry.stems))
    titles = [split_words(s.title) for s in sources]
    stems = [frozenset(stem(w) for w in t if w not in STOPWORDS) for t in titles]
    readings = []
    for passage, relevance, title, title_stems in zip(
        passages, measure(inquiry, passages, stems), titles, stems, strict=True
    ):
        check_cancelled()
        candidates = find_candidates(passage, relevance.evidence)
        readings.append(
            Reading(
                passage,
                relevance,
                candidates,
                word_features(inquiry, passage, relevance, candidates),
                title_features(inquiry, passage, relevance, title, title_stems),
                [w for w in title if w not in ARTICLES],
            )
        )
    return inquiry, readings


MIN_SHARE = 0.34
"""Minimum share of the question's words that a relevant source has in its body or title; a related
word counts half. One word in three is too few. Of 45 QuoteSum questions, 1 is below this with its
own sources; with the sources of other questions, 97% are."""


def is_relevant(inquiry: Inquiry, readings: Sequence[Reading], sources: Sequence[Source]) -> bool:
    """Relevance gate: whether any source has enough of the question's words.

    True if the question has no content words, because nothing can be compared.
    """
    weights = {
        word: tuning.CONTEXT if word in inquiry.context else 1.0
        for word in inquiry.stems
        if any(map(str.isalnum, word))
    }
    if not weights:
        return True
    for reading, source in zip(readings, sources, strict=True):
        stems = {*reading.passage.stems, *map(stem, split_words(source.title))}
        score = sum(
            weight * (word in stems or 0.5 * any(other in stems for other in related(word)))
            for word, weight in weights.items()
        )
        if score >= MIN_SHARE * sum(weights.values()):
            return True
    return False
