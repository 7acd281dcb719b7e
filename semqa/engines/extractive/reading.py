"""A reading: what the engine sees in a source, given the question, before it chooses.

A logistic regression over word features gives each word the probability that a person would quote it. A
span is worth its expected F1 against the words that a person would quote.
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
"""Kinds of questions whose evidence is seldom mistaken."""


def _share(values: Array) -> Array:
    """Return the values against the greatest."""
    shares: Array = values / max(float(values.max(initial=0.0)), 1e-6)
    return shares


def _is_best(values: Array) -> Array:
    best = float(values.max(initial=0.0))
    return (values >= best - 1e-9).astype(np.float64) if best > 0 else np.zeros(len(values))


def sentence_features(inquiry: Inquiry, passage: Passage, relevance: Relevance) -> dict[str, Array]:
    """Return the features of each sentence by name; shapes [sentences]."""
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
    """Return the features of each word by name; shapes [words].

    Words of a heading have the features of the last sentence; they are never quoted.
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
    """Number the clauses: the pieces between cuts of the classes `_BETWEEN`; shape [words]."""
    cut = np.zeros(count + 1, dtype=np.int64)
    cut[candidates.first[np.isin(candidates.before, _BETWEEN)]] = 1
    cut[candidates.last[np.isin(candidates.after, _BETWEEN)]] = 1
    numbers: NDArray[np.int64] = np.cumsum(cut)[:count]
    return numbers


def _run(answer: Array, evidence: Array, of: NDArray[np.int64]) -> Array:
    """Mark the run of evidence around the word that answers best."""
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
    """Return features of the words left and right of all that a sentence has of topic and answer.

    `clauses` numbers the clauses: a word one clause away is easier to leave out.
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
    """What the fit learned: feature name to weight, with a constant under ``"bias"``.

    Attributes:
        word: logistic regression of the chance that a word is quoted.
        title: logistic regression of the chance that the title is quoted.
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
    """Return the chance that each word is quoted, shape [words], and that the title is."""
    z = np.full(len(reading.passage.words), weights.word["bias"])
    for name, values in reading.words.items():
        z += weights.word.get(name, 0.0) * values
    words = _logistic(z) * (reading.passage.sentence_of >= 0)
    t = weights.title["bias"] + sum(
        weights.title.get(name, 0.0) * value for name, value in reading.title.items()
    )
    return words, float(_logistic(np.array(t))) if reading.title_words else 0.0


def score_spans(reading: Reading, weights: Weights) -> tuple[Array, Array]:
    """Return the expected F1 of each candidate: alone, and with the title quoted before it.

    With p the chance that a word is quoted, a span S has about 2 * sum(p over S) / (|S| + sum(p));
    articles do not count. Shapes [spans].
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
    """Return which share of the title's words each span repeats; shape [spans]."""
    distinct = sorted(set(reading.title_words))
    there = np.array([[word == title for word in reading.passage.words] for title in distinct])
    share: Array = np.mean([reading.candidates.holds(flags) for flags in there], axis=0)
    return share


@dataclass(frozen=True, slots=True)
class Reading:
    """One source as the engine sees it.

    Attributes:
        words: features of each word, by name; shapes [words].
        title: features of the title, by name.
        title_words: the title's words, lower-cased, without articles.
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
    """Read a question and its sources; one reading a source, in order."""
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


ENOUGH = 0.34
"""Share of the question's words that one source must hold in body or title, a related word counting
half: one word of three is too few. Of 45 questions of QuoteSum over their own sources 1 falls below,
of the same questions over sources of others 97% do."""


def bears_on(inquiry: Inquiry, readings: Sequence[Reading], sources: Sequence[Source]) -> bool:
    """Whether one of the sources holds enough of what the question asks about.

    True for a question without a word that says anything: there is nothing to judge by.
    """
    asked = {
        word: tuning.CONTEXT if word in inquiry.context else 1.0
        for word in inquiry.stems
        if any(map(str.isalnum, word))
    }
    if not asked:
        return True
    for reading, source in zip(readings, sources, strict=True):
        there = {*reading.passage.stems, *map(stem, split_words(source.title))}
        held = sum(
            weight * (word in there or 0.5 * any(other in there for other in related(word)))
            for word, weight in asked.items()
        )
        if held >= ENOUGH * sum(asked.values()):
            return True
    return False
