"""Features of words and of titles: what makes a person quote them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from semqa.engines.extractive import tuning
from semqa.engines.extractive.cuts import Cut
from semqa.engines.extractive.lexicon import PRONOUNS, STOPWORDS
from semqa.engines.extractive.relevance import decayed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semqa.engines.extractive.candidates import Candidates
    from semqa.engines.extractive.inquiry import Inquiry
    from semqa.engines.extractive.passage import Passage
    from semqa.engines.extractive.relevance import Relevance

    Array = NDArray[np.float64]

__all__ = ["title_features", "word_features"]

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
