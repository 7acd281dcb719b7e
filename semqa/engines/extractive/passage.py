"""Passages: the words and sentences of a source's body, and whether its title can be quoted."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from semqa.documents.structure import is_abbreviation
from semqa.engines.extractive.lexicon import ABBREVIATIONS, MONTHS, NUMBER_WORDS, STOPWORDS, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

MAX_CHARACTERS = 8_000
"""Maximum number of characters that are read of a body."""

_BLOCK = 1_000
_SPACE = re.compile(r"\s")


def read_blocks(text: str, stems: Iterable[str]) -> list[tuple[int, int]]:
    """Return the parts of a body to read, as ordered ranges of code points.

    A short body is read whole, a longer one at its beginning and in the blocks with the most stems.
    """
    if len(text) <= MAX_CHARACTERS:
        return [(0, len(text))]
    starts = [re.escape(s) for s in sorted(stems) if len(s) >= 2]
    counts: dict[int, set[str]] = {}
    if starts:
        for match in re.finditer("|".join(starts), text, re.IGNORECASE):
            counts.setdefault(match.start() // _BLOCK, set()).add(match.group().lower())
    ranked = sorted(counts, key=lambda b: (-len(counts[b]), b))
    blocks = sorted({0, *ranked[: MAX_CHARACTERS // _BLOCK - 1]})
    ranges: list[tuple[int, int]] = []
    for block in blocks:
        start, end = block * _BLOCK, min((block + 1) * _BLOCK, len(text))
        if ranges and ranges[-1][1] == start:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
    return [_whole_words(text, start, end) for start, end in ranges]


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Shrink a range to white space near each end, if there is any."""
    if start > 0:
        space = _SPACE.search(text, start, min(start + 100, end))
        start = space.end() if space else start
    if end < len(text):
        tail = text[max(start, end - 100) : end]
        space_at = max((m.start() for m in _SPACE.finditer(tail)), default=-1)
        if space_at >= 0:
            end = end - len(tail) + space_at
    return start, end


MAX_SENTENCE_WORDS = 90
"""Longer sentences are split, so that text without stops does not cost quadratic time."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_]+")
_STOP = re.compile(r"[.!?\u2026\u061f\u06d4\u0964][\"'”’)»]*\s|[。！？]")
SIGN_AFTER = re.compile(r"[%‰°€$£¥₹+#]+")
"""Signs that belong to the word before them, as in "5%" and "C++"."""

_TAIL = re.compile(r"[.!?\u2026\u061f\u06d4\u0964。！？\"'”’)»]*")
_PARAGRAPH = re.compile(r"\n[ \t\r]*\n|\n\s*(?=[-*•#|>\d])|(?<=[.!?:])[ \t\r]*\n")
_MARKDOWN_HEADING = re.compile(r"^#{1,6}[ \t].*$", re.MULTILINE)
_OPENERS = frozenset(["the", "a", "an", "in", "it", "he", "she", "this"])
"""Words after a repeated title that show that a sentence begins."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A run of words ``first <= i < last`` of a passage that ends with a stop or a break.

    Attributes:
        end: offset after the closing punctuation, in code points of the body.
    """

    first: int
    last: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """The words of one body, with the gaps between them and its sentences.

    Attributes:
        starts: start offset of each word in the body, in code points.
        ends: end offset of each word in the body, in code points.
        gaps: the text before each word and after the last; has ``len(words) + 1`` items.
        sentences: the sentences in order; a heading does not belong to a sentence.
        sentence_of: index of each word's sentence, -1 in a heading; shape [words].
        title_words: number of words at the start of the body that repeat the title.
    """

    text: str
    starts: list[int]
    ends: list[int]
    words: list[str]
    stems: list[str]
    gaps: list[str]
    capitals: list[bool]
    sentences: list[Sentence]
    sentence_of: NDArray[np.int64]
    title_words: int

    @property
    def openers(self) -> frozenset[int]:
        """The indexes of words that open a sentence."""
        return frozenset(sentence.first for sentence in self.sentences)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of words of each sentence; shape [sentences]."""
        return np.array([s.last - s.first for s in self.sentences], dtype=np.int64)


def _ends_sentence(
    text: str, at: int, gap: str, before: str, after: str, *, title_break: bool
) -> int:
    """Return how many characters of the gap belong to the sentence before it, or -1 if none ends.

    `at` is the offset of the gap, `before` is the word before it, `after` the word after it.
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
        or is_abbreviation(text, 0, at + stop.start(), at + len(gap))
    ):
        return -1
    return len(gap[: stop.end()].rstrip())


def read_passage(text: str, title: str = "", stems: Sequence[str] = ()) -> Passage:
    """Split a body into words and sentences.

    A repetition of the title counts as a heading and does not belong to a sentence. A Markdown
    heading is a separate sentence. Square brackets end a sentence because a quote cannot contain
    them.

    Args:
        stems: the question's stems, which `read_blocks` uses to choose parts of a long body.

    Example:
        >>> p = read_passage("Oslo It is small. Mr. Berg left.", "Oslo")
        >>> [" ".join(p.words[s.first : s.last]) for s in p.sentences]
        ['it is small', 'mr berg left']
    """
    starts: list[int] = []
    ends: list[int] = []
    breaks: set[int] = set()
    for start, end in read_blocks(text, stems):
        breaks.add(len(starts))
        for match in _WORD.finditer(text, start, end):
            starts.append(match.start())
            ends.append(match.end())
    for match in _MARKDOWN_HEADING.finditer(text):
        breaks.add(bisect_left(starts, match.end()))
    surfaces = [text[a:b] for a, b in zip(starts, ends, strict=True)]
    words = [surface.lower() for surface in surfaces]
    gaps = [text[a:b] for a, b in zip([0, *ends], [*starts, len(text)], strict=True)]
    headings, title_words = _headings(words, surfaces, gaps, title)
    sentences = _sentences(text, surfaces, ends, gaps, breaks, headings)
    sentence_of = np.full(len(words), -1, dtype=np.int64)
    for number, sentence in enumerate(sentences):
        sentence_of[sentence.first : sentence.last] = number
    return Passage(
        text=text,
        starts=starts,
        ends=ends,
        words=words,
        stems=[stem(word) for word in words],
        gaps=gaps,
        capitals=[surface[0].isupper() for surface in surfaces],
        sentences=sentences,
        sentence_of=sentence_of,
        title_words=title_words,
    )


def _sentences(
    text: str,
    surfaces: list[str],
    ends: list[int],
    gaps: list[str],
    breaks: set[int],
    headings: dict[int, int],
) -> list[Sentence]:
    """Return the sentences, without headings; `breaks` are words that follow skipped text or a heading."""
    count = len(surfaces)
    cuts = {*headings, *headings.values()}
    sentences: list[Sentence] = []
    first = 0
    for i in range(1, count):
        gap, full = gaps[i], i - first >= MAX_SENTENCE_WORDS
        if i in breaks:
            kept = 0
        elif len(gap) == 1 and i not in cuts and not full and gap not in "[]\n。！？":
            continue  # fast path for a single space, without a regular expression
        else:
            kept = _ends_sentence(
                text, ends[i - 1], gap, surfaces[i - 1], surfaces[i], title_break=i in cuts
            )
            if kept < 0 and full and (not gap or gap[-1:].isspace()):
                kept = 0
        if kept >= 0:
            if first not in headings:
                sentences.append(Sentence(first, i, ends[i - 1] + kept))
            first = i
    if count:
        sign = SIGN_AFTER.match(gaps[count])
        tail = _TAIL.match(gaps[count], sign.end() if sign else 0)
        sentences.append(Sentence(first, count, ends[-1] + (tail.end() if tail else 0)))
    return sentences


def _headings(
    words: list[str], surfaces: list[str], gaps: list[str], title: str
) -> tuple[dict[int, int], int]:
    """Return the word ranges that repeat the title as a heading, and the size of a leading one.

    A title counts as a heading if it opens a sentence and the next word opens another.
    """
    title_words = split_words(title)
    size = len(title_words)
    heads: dict[int, int] = {}
    leading = 0
    at = 0
    while size:
        try:
            at = words.index(title_words[0], at)
        except ValueError:
            break
        after = at + size
        if words[at:after] == title_words and after < len(words) and surfaces[after][0].isupper():
            opener = words[after] in _OPENERS or words[after] == title_words[0]
            if at == 0:
                leading = size
                heads[at] = after
            elif any(c in gaps[at] for c in ".!?") and (opener or title.endswith(")")):
                heads[at] = after
        at += 1
    return heads, leading


def split_words(text: str) -> list[str]:
    """Return the lower-cased words of a text.

    Example:
        >>> split_words("O'Hara, 1939")
        ['o', 'hara', '1939']
    """
    return [match.group().lower() for match in _WORD.finditer(text)]


_WORDS = re.compile(r"[^\W_]+")


def quotable(title: str, passage: Passage) -> str:
    """Return the title as a quote, or "" if it cannot be quoted or is not a name.

    A title with square brackets cannot be quoted. The title of a text file is often its file name:
    "notes" and "IMG_2041" are not names. A title counts as a name if it occurs in the body, if it
    shares a content word with the body and does not look like an identifier, or if it has several
    capitalised words. A source without a body always yields its title.

    Example:
        >>> body = read_passage("The old bridge fell. It was rebuilt.")
        >>> quotable("Old Bridge", body), quotable("notes", body), quotable("bridge_2", body)
        ('Old Bridge', '', '')
    """
    title = title.strip()
    if "[" in title or "]" in title:
        return ""
    words = _WORDS.findall(title)
    if not passage.words or (words and not words[0].isascii() and title in passage.text):
        return title
    content = [w for w in words if w.lower() not in STOPWORDS | NUMBER_WORDS and not w.isdigit()]
    stems = {stem(w.lower()) for w in content}
    single = not re.search(r"\s", title)
    if single and (len(words) > 1 or any(c.isdigit() for c in title) or "_" in title):
        return title if title in passage.text else ""
    if stems & set(passage.stems):
        return title
    several = len(content) > 1 and all(w[0].isupper() for w in content)
    return title if several and not single else ""
