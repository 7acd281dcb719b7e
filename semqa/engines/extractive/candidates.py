"""Candidate spans: every stretch of a sentence between two cuts where a quote may begin or end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from semqa.engines.extractive.lexicon import (
    AUXILIARIES,
    CONJUNCTIONS,
    DETERMINERS,
    OPENING_PREPOSITIONS,
    PREPOSITIONS,
    REASONS,
    RELATIVES,
    is_verb,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semqa.engines.extractive.passage import Passage, Sentence

__all__ = ["CUTS", "MAX_WORDS", "Candidates", "find_candidates"]

MAX_WORDS = 45
"""Longest span inside a sentence; a whole sentence may be longer."""

MAX_SPANS = 1_500
"""Past this many candidates of one source only whole sentences are added."""

CUTS = (
    "none",
    "sentence",
    "punctuation",
    "bracket",
    "preposition",
    "relative",
    "conjunction",
    "verb",
    "purpose",
    "evidence",
)
"""Classes of the places where a span may begin or end."""

SENTENCE, PUNCTUATION, BRACKET, PREPOSITION, RELATIVE, CONJUNCTION, VERB, PURPOSE, EVIDENCE = range(
    1, 10
)
_CLOSING = OPENING_PREPOSITIONS | {
    *("while", "when", "where", "who", "which", "whose", "although", "though")
}
_LEADING = REASONS | RELATIVES | {"to", "of", "using", "via"}
"""Words that lead to an answer, and so never end one."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Spans of one passage as parallel arrays; shapes [spans].

    Attributes:
        first: index of each span's first word.
        last: index after its last word.
        sentence: index of the sentence it starts in.
        before: code (index into `CUTS`) of the cut it begins at.
        after: code of the cut it ends at.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    sentence: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]


def _separate(gap: str) -> bool:
    """Say whether a quote may be cut in this gap: at white space, or at a wide comma."""
    return any(c.isspace() or c in "、，；：" for c in gap)


def _list_comma(p: Passage, i: int, last: int) -> bool:
    """Say whether the comma before word `i` stands inside a list, a date or a place."""
    words = p.words
    if words[i].isdigit() and len(words[i]) == 4:
        return True
    if (
        p.capitals[i]
        and p.capitals[i - 1]
        and (i + 1 == last or any(c in p.gaps[i + 1] for c in ",;)"))
    ):
        return True
    j = i
    while j < last and j - i <= 5:
        if j > i and any(c in p.gaps[j] for c in ",;:"):
            return j - i <= 4 and not any(is_verb(w) or w in RELATIVES for w in words[i:j])
        if words[j] in ("and", "or"):
            rest = words[j + 1 : min(j + 5, last)]
            return not any(is_verb(w) for w in rest[:3])
        if is_verb(words[j]) or words[j] in RELATIVES:
            return False
        j += 1
    return False


def _opens(p: Passage, i: int, last: int) -> int:
    """Return the code of the cut if a span may begin at word `i`, else 0."""
    word, previous, gap = p.words[i], p.words[i - 1], p.gaps[i]
    if any(c in gap for c in ";:–—；：") or (
        any(c in gap for c in ",，、") and not _list_comma(p, i, last)
    ):
        return CONJUNCTION if word in CONJUNCTIONS else PUNCTUATION
    if any(c in gap for c in ')"“«「'):
        return BRACKET
    if previous in CONJUNCTIONS and is_verb(word):
        return CONJUNCTION
    if previous in CONJUNCTIONS and word in DETERMINERS and "," in p.gaps[i - 1]:
        return CONJUNCTION
    if previous in ("that", "which", "where", "when", "while", "because", "although", "who"):
        return RELATIVE if not is_verb(word) else VERB
    if is_verb(word) and previous not in AUXILIARIES and previous not in DETERMINERS:
        return VERB
    if word == "to" and i + 1 < last and p.words[i + 1] not in DETERMINERS:
        return PURPOSE
    if word in ("because", "due"):
        return PURPOSE
    if word in OPENING_PREPOSITIONS:
        return PREPOSITION
    return 0


def _closes(p: Passage, i: int, last: int) -> int:
    """Return the code of the cut if a span may end before word `i`, else 0."""
    word, previous, gap = p.words[i], p.words[i - 1], p.gaps[i]
    if (
        previous in PREPOSITIONS
        or previous in CONJUNCTIONS
        or previous in DETERMINERS
        or previous in RELATIVES
        or previous in ("to", "not")
    ):
        return 0
    if any(c in gap for c in ";:–—；：。"):
        return PUNCTUATION
    if any(c in gap for c in ",，、"):
        return 0 if _list_comma(p, i, last) else PUNCTUATION
    if any(c in gap for c in "()”»」"):
        return BRACKET
    if previous in AUXILIARIES:
        return 0
    if word in RELATIVES:
        return RELATIVE
    if word in ("and", "but") and i + 1 < last and any(is_verb(w) for w in p.words[i + 1 : i + 3]):
        return CONJUNCTION
    if is_verb(previous) or previous.endswith("ing"):
        return 0
    # Before a preposition only a name or a number is surely the end of its phrase.
    if word in _CLOSING and (p.capitals[i - 1] or previous[0].isdigit()):
        return PREPOSITION
    return 0


def _nesting(p: Passage, a: int, b: int) -> tuple[list[int], list[int], list[int]]:
    """Say in which brackets and quotation marks each word of a sentence stands.

    Returns three lists over the words: the nesting at the word, the nesting before the marks that
    touch its start, and after the marks that touch its end. Zero means in none; equal numbers mean
    in the same.
    """
    depth = quotes = 0
    inside, before, after = [], [], []

    def state() -> int:
        return depth * 1000 + (quotes if quotes % 2 else 0)

    def pass_over(text: str) -> None:
        nonlocal depth, quotes
        for char in text:
            if char == "(":
                depth += 1
            elif char == ")":
                depth = max(depth - 1, 0)
            elif char in '"“”':
                quotes += 1

    for i in range(a, b):
        gap = p.gaps[i][-3:] if i == a else p.gaps[i]
        touching = len(gap) - len(gap.rstrip('("“'))
        pass_over(gap[: len(gap) - touching])
        before.append(state())
        pass_over(gap[len(gap) - touching :])
        inside.append(state())
        following = p.gaps[i + 1]
        marks = following[: len(following) - len(following.lstrip(')"”.,!?'))]
        kept = depth, quotes
        pass_over(marks)
        after.append(state())
        depth, quotes = kept
    return inside, before, after


def find_candidates(passage: Passage, evidence: NDArray[np.float64]) -> Candidates:
    """List the whole sentences and every span between two cuts of one sentence.

    Args:
        passage: the words to choose from.
        evidence: the weight of each word as an answer, shape [words]; a span may also begin or
            end with a run of evidence.
    """
    rows: list[tuple[int, int, int, int, int]] = []
    strong = (evidence >= 0.9).tolist()
    for number, sentence in enumerate(passage.sentences):
        a, b = sentence.first, sentence.last
        rows.append((a, b, number, SENTENCE, SENTENCE))
        if len(rows) < MAX_SPANS:
            _add_spans(passage, sentence, number, strong, rows)
    table = np.array(rows, dtype=np.int64).reshape(-1, 5)
    return Candidates(*(np.ascontiguousarray(table[:, i]) for i in range(5)))


def _add_spans(
    passage: Passage,
    sentence: Sentence,
    number: int,
    strong: list[bool],
    rows: list[tuple[int, int, int, int, int]],
) -> None:
    a, b = sentence.first, sentence.last
    inside, before_mark, after_mark = _nesting(passage, a, b)
    opens, closes = [(a, SENTENCE)], []
    for i in range(a + 1, b):
        if not _separate(passage.gaps[i]):
            continue
        opening, closing = _opens(passage, i, b), _closes(passage, i, b)
        previous = passage.words[i - 1]
        loose = previous not in DETERMINERS and previous not in PREPOSITIONS
        if not opening and strong[i] and not strong[i - 1] and loose:
            opening = EVIDENCE
        ended = strong[i - 1] and not strong[i] and previous not in _LEADING
        if not closing and ended and loose and not is_verb(passage.words[i]):
            closing = EVIDENCE
        if opening:
            opens.append((i, opening))
        if closing:
            closes.append((i, closing))
    closes.append((b, SENTENCE))
    for first, before in opens:
        for last, after in closes:
            if last - first > MAX_WORDS:
                break
            balanced = inside[first - a] == inside[last - 1 - a] or not (
                before_mark[first - a] or after_mark[last - 1 - a]
            )
            if first < last and balanced and (first != a or last != b):
                rows.append((first, last, number, before, after))
