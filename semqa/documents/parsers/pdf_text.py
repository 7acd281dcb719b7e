"""The text of PDF pages from their lines: headings, lists, paragraphs, and words split at line ends."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from semqa.documents.parsers.pdf_lines import BULLETS, MIN_COLUMN, SAME_PLACE, Line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROW = re.compile(r"\|.*\|")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_BROKEN = re.compile(r"([^\W\d_]+)-$")
_SPLIT_WORD = re.compile(r"(?<![^\W\d_])([^\W\d_]++)-\x1f?\n([^\W\d_]++)")
_MIN_SPLIT_WORDS, _SPLIT_WORDS_SHARE = 3, 0.01
"""Minimum number and share of the lines that end in a hyphen if the document splits words."""

_COMPOUNDS = re.compile(
    r"(?i)(?:all|cross|ex|full|half|high|long|low|mid|non|part|self|short|well|one|two|three|four|five|six|seven|"
    r"eight|nine|(?:twen|thir|for|fif|six|seven|eigh|nine)ty)$"
)
"""First parts of words such as "low-fibre", which keep their hyphen."""

_LONGEST_ENDING = 3
"""Maximum length of the second part of split words such as "self-ish" and "part-ner"."""

_LONGEST_WORD = 60
_RAISED = "[¹²³⁰⁴-⁹]"
_ITEM = re.compile(
    rf"(?:[-*•–·‣]|{_RAISED}{{1,2}}|\(?(?:\d{{1,3}}|[a-z]|[ivx]{{1,4}})[.)]|\d{{1,2}}(?:\.\d{{1,2}}){{1,3}}\.?\s+[\"“‘(]?[A-ZÀ-Þ])"
    r"(?:\s|(?<=[A-ZÀ-Þ]))"
)
_BULLET = re.compile(rf"[{BULLETS}](?:\s+|$)")
_MIN_FULL = 40
"""Minimum length of a full line; blocks of shorter lines are addresses or lists."""

_UNFINISHED = re.compile(
    r"(?:,|\b(?:a|after|an|and|are|at|be|before|by|for|from|in|is|of|on|or|that|the|then|to|under|was|were|"
    r"with))$"
)
"""The end of a line that is not the end of a sentence."""

_DAY = re.compile(r"(?<![\d.,])\d{1,2}$")
_MONTH = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
)

_LEADERS = re.compile(r"(?:\. ?){5}")
"""Dot leaders of a table of contents."""

_LED_NUMBER = re.compile(r"\. ?\. *(\d{1,4})\s*$")
"""The number after dot leaders, at the end of a line."""

_SECTION, _ITS_PAGE = re.compile(r"^\d[\d.]* (?=\D)"), re.compile(r"(?<=\D) \d{1,4}$")
"""The number of a section before its name, and its page number after it."""

_MIN_CONTENTS_LINES = 4
"""A table of contents has more lines than this."""

_MANY_LINES = re.compile(r"\n{3,}")
_HEADING = re.compile(r"#{1,6} ")
_NOTES = re.compile(rf"(?<=\S)(?:\n+{_RAISED}{{1,2}} .+)+\Z")
"""The notes at the end of a page."""

_LONGEST_HEADING = 200
_SLOGAN = 15
"""Maximum number of words of a heading that ends in a full stop."""

_ENDS, _GOES_ON = "\x1e", "\x1f"
"""Marks after lines that, by their position, end or continue; Python counts both as white space."""

_LONGEST_BOLD = 90
_HEADING_SCALE = 1.12
"""Minimum ratio of a heading's font size to that of the text."""

_PARAGRAPH_SCALE = 1.18
"""Minimum ratio of the distance between paragraphs to that between lines."""


def between_pages(page: str, after: str) -> str:
    """Return the separator of two pages: a space in a sentence, a newline in a list, else a blank line."""
    line = page[page.rfind("\n") + 1 :]
    item = _ITEM.match(line)
    if item and (next_item := _ITEM.match(after)):
        marks = [re.sub(r"\W", "", each[0]) for each in (item, next_item)]
        counts = all(map(str.isdecimal, marks)) and int(marks[1]) == int(marks[0]) + 1
        return "\n" if counts or item[0] == next_item[0] else "\n\n"
    if after[0].islower():
        return "\n\n" if line[-1] in ".!?:" else " "
    prose = len(line) >= _MIN_FULL and not ROW.fullmatch(line) and not _HEADING.match(line)
    number = after[0].isdecimal() and not _ITEM.match(after)
    unfinished = _UNFINISHED.search(line) is not None or (number and line[-1].isalpha())
    return " " if prose and unfinished else "\n\n"


def with_notes_below(page: str) -> str:
    """Move the notes at the foot of a page below the blocks that contain their marks.

    If a paragraph or list may continue on the next page, the notes come before it.
    """
    foot = _NOTES.search(page)
    if foot is None:
        return page
    blocks, notes = page[: foot.start()].split("\n\n"), foot[0].strip().split("\n")
    end = len(blocks)
    if _ITEM.match(blocks[-1]) or not re.search(rf"[.!?|]{_RAISED}*$", blocks[-1]):
        end -= 1
        while end and (_HEADING.match(blocks[end - 1]) or blocks[end - 1][-1] == ":"):
            end -= 1
    found: dict[int, list[str]] = {}
    for note in filter(None, notes):
        mark = re.compile(rf"\S(?<!{_RAISED}){note.split()[0]}(?!{_RAISED})")
        at = next((i for i, block in enumerate(blocks[:end]) if mark.search(block)), end - 1)
        found.setdefault(at % len(blocks), []).append(note)  # -1 is the last block
    return "\n\n".join(
        each for i, block in enumerate(blocks) for each in [block, *found.get(i, ())]
    )


def with_structure(pages: Sequence[Sequence[Line]]) -> list[str]:
    """Return the texts of pages with Markdown headings and blank lines between paragraphs."""
    sizes: Counter[int] = Counter()
    for page in pages:
        for line in page:
            sizes[line.size] += 0 if line.is_row else len(line.text.strip())
    usual = sizes.most_common(1)[0][0] if sizes else 0
    pitch = _pitch(pages, usual)
    titles = [_headings(page, _HEADING_SCALE * usual) for page in pages]
    bold = [
        _bold_headings(page, usual, pitch) - heads
        for page, heads in zip(pages, titles, strict=True)
    ]
    found = sorted({page[i].size for page, at in zip(pages, titles, strict=True) for i in at})
    levels = {size: min(level, 6) for level, size in enumerate(reversed(found), 1)}
    lowest = min(len(levels) + 1, 6)
    names = {
        _name(page[i].text)
        for page, *some in zip(pages, titles, bold, strict=True)
        for heads in some
        for i in heads
    }
    texts: list[str] = []
    for page, large, small in zip(pages, titles, bold, strict=True):
        if len(pages) > 1 and _is_contents(page):
            texts.append("")
            continue
        heads = large | small
        listed = _contents(page, heads, names, len(pages))
        ends, numbered, labels = _line_ends(page, pitch), _numbered(page), _labels(page)
        lines: list[str] = []
        before: Line | None = None
        item = False
        depths: list[float] = []  # where the items of the open lists begin
        for i, line in enumerate(page):
            text = line.text.strip()
            if not text:
                lines.append("")
                continue
            if i in listed:
                continue
            if i in numbered and i not in heads:
                text = f"{line.number}. {text.lstrip('0123456789 ')}"
            if line.is_row:
                lines += [text] if i and page[i - 1].is_row else ["", text]
                before, item = None, False
                continue
            if before is None and lines:
                lines.append("")
            apart = before is not None and i not in labels and _is_apart(before, line, pitch)
            begins = i not in heads and (_BULLET.match(text) or _ITEM.match(text))
            if begins:
                same_list = item and before is not None and before.place > line.place
                depths = [x for x in depths if same_list and x < line.left - line.size / 2]
                text = "  " * len(depths) + text
                depths.append(line.left)
            if before is not None and {i - 1, i} <= heads and _is_same_heading(before, line):
                lines[-1] += f" {text}"
            else:
                if apart and not (item and begins):
                    lines.append("")
                level = levels[line.size] if i in large else lowest
                lines.append(f"{'#' * level} {text}" if i in heads else f"{text}{ends[i]}")
            item = bool(begins) or (item and not apart)
            before = line
        texts.append("\n".join(lines))
    return texts


def _labels(page: Sequence[Line]) -> set[int]:
    """Return the indexes of lines centred below the line before them, several side by side.

    These are the labels of a bar chart, with the figures above them.
    """
    below = {
        i
        for i, (figure, line) in enumerate(pairwise(page), 1)
        if figure.size == line.size > 0
        and _is_above(figure, line)
        and abs(figure.left + figure.right - line.left - line.right) < line.size / 2
    }
    return {
        i
        for i in below
        if any(j in below and abs(page[i].place - page[j].place) < 1 for j in (i - 2, i + 2))
    }


def _numbered(page: Sequence[Line]) -> set[int]:
    """Return the indexes of numbered items without full stops: at least three, counting up from 1.

    Indented lines may come between the items.
    """
    found: set[int] = set()
    run: list[int] = []
    for i, line in enumerate([*page, Line("")]):
        last = page[run[-1]] if run else None
        shift = line.left - last.left if last is not None else 0.0
        goes_on = last is not None and line.number == last.number + 1 and abs(shift) < line.size / 3
        if line.number and goes_on:
            run.append(i)
        elif line.number or line.is_row or i == len(page) or (line.size and shift <= SAME_PLACE):
            found.update(run if len(run) >= MIN_COLUMN else ())
            run = [i] if line.number == 1 else []
    return found


def _line_ends(page: Sequence[Line], pitch: float) -> list[str]:
    """Return a mark for each line that continues, or ends a paragraph or a line of an address or list.

    A line ends if there was room for the next word. If most lines of a block end in this way, full
    lines end too. In a column where most lines are full, a line continues if there was no room, or
    if there was little room and the next line does not begin a sentence.
    """
    marks = [""] * len(page)
    may_end = [_may_end(*lines) for lines in pairwise(page)] + [False]
    columns = _runs(page, _is_above)
    blocks = _runs(page, lambda a, b: _is_above(a, b) and not _is_apart(a, b, pitch))
    for run in (*columns, *blocks):
        right = max(page[i].right for i in run)
        full = [i for i in run[:-1] if not page[i].has_room(page[i + 1], right)]
        prose = 3 * sum(page[i].text.lstrip()[:1].islower() for i in run) >= len(run)
        for i in run[:-1] if max(len(run), 2 * MIN_COLUMN - 1) < 2 * len(full) else ():
            little = not page[i].has_room(page[i + 1], right - page[i].size / 2)
            if (little and not may_end[i]) or (i in full and prose and not page[i].gaps):
                marks[i] = _GOES_ON
    for column in columns:
        i = column[-1]
        right = max(page[i].right for i in column)
        higher = may_end[i] and page[i + 1].place > page[i].place + page[i].size / 2
        if higher and (len(column) == 1 or page[i].has_room(page[i + 1], right)):
            marks[i] = "\n"
    for block in blocks:
        right = max(page[i].right for i in block)
        some = [i for i in block[:-1] if may_end[i]]
        ends = [i for i in some if page[i].has_room(page[i + 1], right)]
        for i in some if len(block) - 1 <= 2 * len(ends) > 2 else ends:
            marks[i] = _ENDS
    return marks


def _is_above(line: Line, other: Line) -> bool:
    return line.place > other.place


def _runs(page: Sequence[Line], goes_on: Callable[[Line, Line], bool]) -> list[list[int]]:
    """Return the indexes of lines of the same size and left edge that follow each other."""
    runs: list[list[int]] = []
    for i, line in enumerate(page):
        if line.is_row or not line.size:
            continue
        last = page[i - 1] if runs and runs[-1][-1] == i - 1 else None
        if (
            last is not None
            and last.size == line.size
            and abs(last.left - line.left) <= SAME_PLACE
            and goes_on(last, line)
        ):
            runs[-1].append(i)
        else:
            runs.append([i])
    return runs


def _may_end(before: Line, after: Line) -> bool:
    first = after.text.strip()[:1]
    goes_on = first.islower() or first in "£$€("
    return not goes_on and not _is_unfinished(before, after)


def _is_unfinished(before: Line, after: Line) -> bool:
    """Whether the first line cannot end a sentence, or a date or a parenthesis is split over both."""
    said = before.text.rstrip()
    date = _DAY.search(said) is not None and _MONTH.match(after.text.lstrip()) is not None
    return date or said.count("(") > said.count(")") or _UNFINISHED.search(said) is not None


def _is_contents(page: Sequence[Line]) -> bool:
    """Whether most lines have dot leaders before numbers that never decrease, unlike prices."""
    said = [line.text for line in page if line.text.strip()]
    numbers = [int(number[1]) for text in said if (number := _LED_NUMBER.search(text))]
    return (
        len(said) > _MIN_CONTENTS_LINES
        and 2 * len(numbers) > len(said)
        and numbers == sorted(numbers)
    )


def _pitch(pages: Sequence[Sequence[Line]], usual: int) -> float:
    """Return the distance between the lines of a paragraph, in points; 0 if unknown."""
    steps = sorted(
        before.place - after.place
        for page in pages
        for before, after in pairwise(page)
        if before.size == after.size == usual and before.place - after.place > usual / 4
    )
    return steps[len(steps) // 7] if steps else 0.0


def _headings(page: Sequence[Line], least: float) -> set[int]:
    """Return the indexes of headings: short runs of lines in a larger font."""
    found: set[int] = set()
    for size, some in groupby(range(len(page)), key=lambda i: page[i].size):
        run = list(some)
        text = " ".join(page[i].text for i in run)
        few = len(run) <= 3 and len(text) <= _LONGEST_HEADING
        said = sum(map(str.isalpha, text)) > 1 and not _LEADERS.search(text)
        said = said and not (text.rstrip().endswith(".") and len(text.split()) > _SLOGAN)
        if size >= least > 0 and few and said:
            found.update(run)
    return found


def _bold_headings(page: Sequence[Line], usual: int, pitch: float) -> set[int]:
    """Return the indexes of headings in the size of the text: bold lines above other text."""
    bold = sum(len(line.text) for line in page if line.bold)
    if 3 * bold > sum(len(line.text) for line in page):
        return set()
    found: set[int] = set()
    for i, (line, after) in enumerate(pairwise(page)):
        text = line.text.strip()
        before = page[i - 1] if i else None
        if (
            line.bold
            and line.size >= usual
            and not after.bold
            and not after.text.strip()[:1].islower()
            and not (before is not None and _UNFINISHED.search(before.text.rstrip()))
            and abs(line.place - after.place) > pitch / 2
            and (
                before is None
                or before.is_row
                or before.place < line.place  # the end of a column, or a footer
                or _is_apart(before, line, pitch)
            )
            and sum(map(str.isalpha, text)) > 1
            and len(text) <= _LONGEST_BOLD
            and text[-1] not in ".,;:!"
            and not _BULLET.match(text)
            and not _LEADERS.search(text)
        ):
            found.add(i)
    return found


def _name(heading: str) -> str:
    """Return the name of a section in its heading, or in a line or row of a table of contents."""
    return _SECTION.sub("", " ".join(heading.replace("|", " ").split())).strip("- ").casefold()


def _contents(page: Sequence[Line], heads: set[int], names: set[str], count: int) -> set[int]:
    """Return the indexes of a table of contents.

    A table of contents is several lines that repeat headings, apart from section and page numbers,
    or that end in dot leaders and page numbers.
    """
    found: set[int] = set()
    said = [
        name if (name := _name(line.text)) in names else _ITS_PAGE.sub("", name) for line in page
    ]
    for listed, some in groupby(
        range(len(page)), key=lambda i: i not in heads and (said[i] in names or not said[i])
    ):
        run = list(some)
        if listed and sum(said[i] in names for i in run) > 2:
            found.update(run)
    leads = [None if line.is_row else _LED_NUMBER.search(line.text[-20:]) for line in page]
    for led, some in groupby(range(len(page)), key=lambda i: leads[i] is not None):
        run = list(some)
        numbers = [int(lead[1]) for i in run if (lead := leads[i])]
        if led and len(run) > 2 and numbers == sorted(numbers) and numbers[-1] <= count:
            found.update(run)
    return found


def _is_same_heading(before: Line, after: Line) -> bool:
    return before.size == after.size and before.place - after.place < after.size


def _is_apart(before: Line, after: Line, pitch: float) -> bool:
    """Whether a paragraph ends between two lines."""
    if before.size != after.size and _HEADING_SCALE * min(before.size, after.size) <= max(
        before.size, after.size
    ):
        return True
    step = before.place - after.place
    goes_on = after.text.strip()[:1].islower() and before.text.strip()[-1:] not in ".!?:;"
    if goes_on or (0 < step < before.size and _is_unfinished(before, after)):
        return False
    if before.bold != after.bold and abs(step) > pitch / 2:
        return True
    return step > _PARAGRAPH_SCALE * pitch > 0


def join_pages(pages: Sequence[str]) -> list[str]:
    """Join the lines of each page into paragraphs."""
    words = {word for text in pages for word in _WORD.findall(_SPLIT_WORD.sub(" ", text))}
    splits = _splits_words(pages, words)
    return [join_lines(lines, words, splits_words=splits) for lines in pages]


def _splits_words(pages: Sequence[str], words: set[str]) -> bool:
    """Whether a document splits words at line ends: many are, or one occurs unsplit elsewhere."""
    split = [found.groups() for page in pages for found in _SPLIT_WORD.finditer(page)]
    lines = sum(page.count("\n") + 1 for page in pages)
    many = len(split) >= max(_MIN_SPLIT_WORDS, _SPLIT_WORDS_SHARE * lines)
    return many or any(f"{first}{second}" in words for first, second in split)


def join_lines(text: str, words: set[str], *, splits_words: bool = True) -> str:
    """Join the lines of a page into paragraphs.

    A line continues on the next one if it is marked as continuing, or if it is full and not marked
    as ending. A word split at the end of a line is joined. It keeps its hyphen after a single letter
    ("e-mail"), if the document has the hyphenated form elsewhere, or if the document rarely splits
    words and this one is a compound.

    Args:
        words: the words of the document that are not split at the end of a line.
    """
    marks = [line[-1:] for line in text.split("\n")]
    indents = [line[: len(line) - len(line.lstrip(" "))] for line in text.split("\n")]
    lines = [_BULLET.sub("• ", " ".join(line.split()), count=1) for line in text.split("\n")]
    lengths = sorted(len(line) for line in lines if line and not ROW.fullmatch(line))
    usual = lengths[int(0.9 * (len(lengths) - 1))] if lengths else 0
    fulls: list[int] = []
    for _, block in groupby(lines, key=bool):
        size = len(list(block))
        fulls += [usual if size < MIN_COLUMN else max(usual, _MIN_FULL)] * size
    parts: list[str] = []
    for here, indent, mark, after, full in zip(
        lines, indents, marks, [*lines[1:], ""], fulls, strict=True
    ):
        if here and parts and parts[-1].endswith("\n"):
            parts.append(indent)
        broken = _BROKEN.search(here[-_LONGEST_WORD:])
        unfinished = after[:1].islower() or _UNFINISHED.search(here)
        wide = 0.65 * full if unfinished else 0.85 * full
        item = _ITEM.match(after) and here.count("(") <= here.count(")")
        if not here or here == "• ":
            parts.append(here or "\n")
        elif _HEADING.match(here):
            parts.append(f"{here}\n\n")
        elif ROW.fullmatch(here):
            parts.append(f"{here}\n")
        elif broken and _goes_on(broken[1], after, words):
            rest = _WORD.match(after)
            second = rest[0] if rest else ""
            whole, known = f"{broken[1]}{second}" in words, f"{broken[1]}-{second}" in words
            compound = not splits_words and (
                (_COMPOUNDS.match(broken[1]) and len(second) > _LONGEST_ENDING)
                or {broken[1], second} <= words
            )
            keep = len(broken[1]) == 1 or (not whole and (known or compound))
            parts.append(here if keep else here[:-1])
        elif (
            after
            and (mark == _GOES_ON or (mark != _ENDS and len(here) >= wide))
            and not item
            and not _HEADING.match(after)
        ):
            parts.append(f"{here} ")
        else:
            parts.append(f"{here}\n")
    return _MANY_LINES.sub("\n\n", "".join(parts)).strip()


def _goes_on(first: str, after: str, words: set[str]) -> bool:
    """Whether a line begins with the rest of a word; a capitalised word must be known as a whole."""
    rest = _WORD.match(after)
    return after[:1].islower() or (rest is not None and f"{first}{rest[0]}" in words)
