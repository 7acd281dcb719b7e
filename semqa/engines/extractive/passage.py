"""A passage: the words, sentences and cuts of one source's body.

Long bodies are read in part: past `MAX_CHARACTERS` only the blocks richest in question words are
kept, so the time for one question is bounded whatever the sources weigh.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semqa.engines.extractive.lexicon import ABBREVIATIONS, MONTHS, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "MAX_CHARACTERS",
    "MAX_SENTENCE_WORDS",
    "Passage",
    "Sentence",
    "read_passage",
    "split_words",
]

MAX_CHARACTERS = 8_000
"""Longest body that is read whole; of a longer one, this many characters are read."""

MAX_SENTENCE_WORDS = 90
"""A longer sentence is cut here: text without any stops must not cost quadratic time."""

_BLOCK = 1_000
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_]+")
_STOP = re.compile(r"[.!?\u2026\u061f\u06d4\u0964][\"'”’)»]*\s|[。！？]")
_PARAGRAPH = re.compile(r"\n[ \t\r]*\n|\n\s*(?=[-*•#|>\d])|(?<=[.!?:])[ \t\r]*\n")
_SPACE = re.compile(r"\s")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A run of words ``first <= i < last`` of a passage that ends with a stop or a break.

    Attributes:
        first: index of the first word.
        last: index after the last word.
        end: offset after the closing punctuation, in code points of the body.
    """

    first: int
    last: int
    end: int


@dataclass(frozen=True, slots=True)
class Passage:
    """The words of one body with their gaps and sentences.

    Attributes:
        text: the body.
        starts: offset of each word; with `ends`, in code points of the body.
        ends: offset after each word.
        words: each word, lower-cased.
        stems: each word's stem.
        gaps: the text before each word, and one more after the last: ``len(words) + 1``.
        capitals: whether each word starts with a capital letter.
        sentences: in order; a heading belongs to none.
        title_words: how many words at the start of the body repeat the title.
    """

    text: str
    starts: list[int]
    ends: list[int]
    words: list[str]
    stems: list[str]
    gaps: list[str]
    capitals: list[bool]
    sentences: list[Sentence]
    title_words: int


def _blocks(text: str, stems: Iterable[str]) -> list[tuple[int, int]]:
    """Return the stretches of `text` to read, in order; all of a short text."""
    if len(text) <= MAX_CHARACTERS:
        return [(0, len(text))]
    starts = [re.escape(s) for s in sorted(stems) if len(s) >= 2]
    counts: dict[int, set[str]] = {}
    if starts:
        for match in re.finditer("|".join(starts), text, re.IGNORECASE):
            counts.setdefault(match.start() // _BLOCK, set()).add(match.group().lower())
    ranked = sorted(counts, key=lambda b: (-len(counts[b]), b))
    blocks = sorted({0, *ranked[: MAX_CHARACTERS // _BLOCK - 1]})
    stretches: list[tuple[int, int]] = []
    for block in blocks:
        start, end = block * _BLOCK, min((block + 1) * _BLOCK, len(text))
        if stretches and stretches[-1][1] == start:
            stretches[-1] = (stretches[-1][0], end)
        else:
            stretches.append((start, end))
    return [_whole_words(text, start, end) for start, end in stretches]


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Shrink a stretch to the nearest white space on each side, if there is any near."""
    if start > 0:
        space = _SPACE.search(text, start, min(start + 100, end))
        start = space.end() if space else start
    if end < len(text):
        tail = text[max(start, end - 100) : end]
        space_at = max((m.start() for m in _SPACE.finditer(tail)), default=-1)
        if space_at >= 0:
            end = end - len(tail) + space_at
    return start, end


def _ends_sentence(gap: str, before: str, after: str, *, title_break: bool) -> int:
    """Return how many characters of the gap belong to the sentence before it, or -1.

    `before` is the word before the gap, `after` the word after it.
    """
    if title_break:
        return len(gap) - len(gap.lstrip(".!?\"'”’)"))
    bracket = min((gap.find(c) for c in "[]" if c in gap), default=-1)
    if bracket >= 0:
        return len(gap[:bracket].rstrip())
    paragraph = _PARAGRAPH.search(gap)
    if paragraph:
        return len(gap[: paragraph.start()].rstrip())
    stop = _STOP.search(gap)
    if stop is None:
        return -1
    mark = gap[stop.start()]
    if mark == "." and (
        (
            before.lower() in ABBREVIATIONS
            and not (before.lower() == "no" and not after[0].isdigit())
        )
        or (len(before) == 1 and before.isalpha() and before.isupper())
        or (before.isdigit() and len(before) <= 2 and after.lower() in MONTHS)
        or after[0].islower()
    ):
        return -1
    return len(gap[: stop.end()].rstrip())


def read_passage(text: str, title: str = "", stems: Sequence[str] = ()) -> Passage:
    """Split a body into words and sentences.

    A repeat of the title is taken for a heading, and belongs to no sentence. Square brackets
    end a sentence: they cannot stand inside a quote.

    Args:
        text: the body.
        title: the source's title.
        stems: the question's stems; of a body past `MAX_CHARACTERS`, the blocks with most of
            these are read.

    Example:
        >>> p = read_passage("Oslo It is small. Mr. Berg left.", "Oslo")
        >>> [" ".join(p.words[s.first : s.last]) for s in p.sentences]
        ['it is small', 'mr berg left']
    """
    starts: list[int] = []
    ends: list[int] = []
    breaks: set[int] = set()
    for start, end in _blocks(text, stems):
        breaks.add(len(starts))
        for match in _WORD.finditer(text, start, end):
            starts.append(match.start())
            ends.append(match.end())
    count = len(starts)
    surfaces = [text[a:b] for a, b in zip(starts, ends, strict=True)]
    words = [surface.lower() for surface in surfaces]
    gaps = [text[: starts[0]] if count else text]
    gaps += [text[ends[i - 1] : starts[i]] for i in range(1, count)]
    gaps.append(text[ends[-1] :] if count else "")
    headings, title_words = _headings(words, surfaces, gaps, title)
    cuts = {*headings, *headings.values()}
    sentences: list[Sentence] = []
    first = 0
    for i in range(1, count + 1):
        if i == count:
            tail = re.match(r"[.!?\u2026\u061f\u06d4\u0964。！？\"'”’)»]*", gaps[i])
            sentences.append(Sentence(first, i, ends[i - 1] + (tail.end() if tail else 0)))
            break
        if i in breaks:
            kept = 0
        else:
            gap = gaps[i]
            if (
                len(gap) == 1
                and i not in cuts
                and i - first < MAX_SENTENCE_WORDS
                and gap not in "[]\n。！？"
            ):
                continue
            kept = _ends_sentence(gap, surfaces[i - 1], surfaces[i], title_break=i in cuts)
        if kept < 0 and i - first >= MAX_SENTENCE_WORDS and (not gaps[i] or gaps[i][-1:].isspace()):
            kept = 0
        if kept >= 0:
            if first not in headings:
                sentences.append(Sentence(first, i, ends[i - 1] + kept))
            first = i
    return Passage(
        text=text,
        starts=starts,
        ends=ends,
        words=words,
        stems=[stem(word) for word in words],
        gaps=gaps,
        capitals=[surface[0].isupper() for surface in surfaces],
        sentences=sentences,
        title_words=title_words,
    )


def _headings(
    words: list[str], surfaces: list[str], gaps: list[str], title: str
) -> tuple[dict[int, int], int]:
    """Return the word ranges where the title is repeated as a heading, and the leading one's size.

    A title counts as a heading where it opens a sentence and the next word opens another.
    """
    wanted = [m.group().lower() for m in _WORD.finditer(title)]
    size = len(wanted)
    heads: dict[int, int] = {}
    leading = 0
    at = 0
    while size:
        try:
            at = words.index(wanted[0], at)
        except ValueError:
            break
        after = at + size
        if words[at:after] == wanted and after < len(words) and surfaces[after][0].isupper():
            opener = words[after] in _OPENERS or words[after] == wanted[0]
            if at == 0:
                leading = size
                heads[at] = after
            elif any(c in gaps[at] for c in ".!?") and (opener or title.endswith(")")):
                heads[at] = after
        at += 1
    return heads, leading


_OPENERS = frozenset(["the", "a", "an", "in", "it", "he", "she", "this"])


def split_words(text: str) -> list[str]:
    """Return the lower-cased words of a text.

    Example:
        >>> split_words("O'Hara, 1939")
        ['o', 'hara', '1939']
    """
    return [match.group().lower() for match in _WORD.finditer(text)]
