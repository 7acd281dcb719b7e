"""Slow reference implementations of the extractive engine's fast code."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from semqa.engines.extractive.lexicon import (
    ARTICLES,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.engines.extractive.passage import Passage
    from semqa.engines.extractive.question import Inquiry
    from semqa.engines.extractive.reading import Reading, Weights


def decayed(
    weights: Sequence[float], sentence_of: Sequence[int], reach: float, side: int
) -> list[float]:
    out = []
    for i in range(len(weights)):
        best = 0.0
        for j in range(len(weights)):
            seen = side == 0 or (side < 0 and j <= i) or (side > 0 and j >= i)
            if seen and sentence_of[i] == sentence_of[j] and weights[j] > 1e-6:
                best = max(best, weights[j] * math.exp(-abs(i - j) / reach))
        out.append(best)
    return out


def chance(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    z = weights["bias"] + sum(weights.get(name, 0.0) * value for name, value in features.items())
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, z))))


def expected_f1(reading: Reading, weights: Weights, span: int, *, titled: bool) -> float:
    """Return the expected F1 of one candidate, word by word."""
    words = reading.passage.words
    p = [
        chance({name: float(v[i]) for name, v in reading.words.items()}, weights.word)
        if reading.passage.sentence_of[i] >= 0
        else 0.0
        for i in range(len(words))
    ]
    counted = [i for i, word in enumerate(words) if word not in ARTICLES]
    title = chance(reading.title, weights.title) if reading.title_words else 0.0
    expected = sum(p[i] for i in counted) + title * len(reading.title_words)
    c = reading.candidates
    inside = [i for i in counted if c.first[span] <= i < c.last[span]]
    gained, length = sum(p[i] for i in inside), len(inside)
    if titled:
        quoted = set(words[c.first[span] : c.last[span]])
        distinct = set(reading.title_words)
        repeated = len(distinct & quoted) / len(distinct)
        gained += title * len(reading.title_words) * (1 - repeated)
        length += len(reading.title_words)
    return 2 * gained / max(length + expected, 1e-6)


def bm25(inquiry: Inquiry, passages: Sequence[Passage], source: int) -> list[float]:
    """Score each sentence of a source, stem by stem."""
    every = [p.stems[s.first : s.last] for p in passages for s in p.sentences]
    mean_length = sum(len(sentence) for sentence in every) / max(len(every), 1)
    scores = []
    for s in passages[source].sentences:
        sentence = passages[source].stems[s.first : s.last]
        score = 0.0
        for term in inquiry.stems:
            holding = sum(term in other for other in every)
            rarity = math.log(1 + (len(every) - holding + 0.5) / (holding + 0.5))
            count = sentence.count(term)
            damping = 1.2 * (0.25 + 0.75 * len(sentence) / mean_length)
            score += rarity * count * 2.2 / (count + damping)
        scores.append(score)
    return scores
