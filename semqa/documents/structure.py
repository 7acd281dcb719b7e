"""The structure of a text: its units, and the context that each needs to be understood.

A unit is a span that a person would highlight: a sentence, a list item, a table row. The structure
is detected from the text alone, so files, passages of collections and sources of requests are
treated alike. Besides Markdown, this recognises structure without markup: headings in capitals or
on a line of their own, numbered clauses, questions with answers, mail headers, speaker turns, messages
of a chat, aligned columns, and lines that end before they are full.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Kind = Literal["sentence", "item", "row", "heading", "question", "header", "meta"]
"""Kinds of units. A header names a table's columns; meta is a line of a mail header, a line of blanks
to fill in, a bare number, or the sender and date of a message."""

CONTENT: frozenset[Kind] = frozenset(("sentence", "item", "row"))
"""Kinds that make statements; the other kinds introduce them."""

LONGEST_HEADING = 90
"""Maximum length of a heading without markup."""

TITLE_WORDS = 5
"""Maximum number of words of a heading right above its text, and of a value below its name."""

FULL = 0.7
"""A line that could be longer than this share of the usual width is not full."""

HANGING = 8
"""A line indented by more spaces than this continues the line above."""

LONGEST_SHORT, VALUE_LINES = 60, 6
"""Maximum length of an address line and the like, and maximum number of such lines below a label."""

LONGEST_SENTENCE = 1_500
"""A longer sentence is split at white space, because some texts have no full stops."""

DECIDES = re.compile(
    r"\W*(?:(?:all|not|un)\W?)?(?:accepted|adopted|agreed|approved|carried|declined|deferred|granted|passed|"
    r"postponed|refused|rejected)\b[^.:]{,40}\.?[^\w:]*|(?:no )?objections?(?:[,:;]| by\b| but\b|\.$)[^.]*\.?",
    re.IGNORECASE,
)
"""A decision about the previous sentence, such as "Approved." or "Carried by 6 to 2"."""

NEGATES = re.compile(
    r"\b(?:not|never|no(?!-)|without|exclu\w+|except\w*|prohibited|forbidden|limitations?|"
    r"nicht|kein\w*|ohne|ausschl\w+|ausgeschlossen|verboten|sans|interdit\w*|sin|prohibid\w+)\b",
    re.IGNORECASE,
)
"""A heading that reverses the meaning of the text below it, such as "What is not insured"."""

AMOUNT = re.compile(r"[£$€] ?\d|\d[\d.,]* ?[£$€]")
"""Start of a line such as "£24/month", whose name is the heading above it."""

_PRICED = re.compile(r"\w.*(?:[£$€] ?\d[\d.,]*|\d[\d.,]* ?[£$€])$")
"""A line such as "Total to pay £62.77"."""

_ENDS = ".!;,:。！；，：؛،।۔"
"""Characters that a heading does not end with."""

_HEADING = re.compile(r"(#{1,6})[ \t]+(?=\S)")
_RULED = re.compile(r"\s*([-=*_~])\1{2,} +(\w.{,78}?) +\1{3,}\s*")
"""A heading between rules, "--- Day one ---"."""
_BARE_NUMBER = re.compile(r"\d{1,2}")
"""The number of a step or page on a line of its own."""
_BLANKS = re.compile(r"\.{6,}|_{5,}|…{3,}")
"""Blanks to fill in, as in "Signed ........"."""
_LEADER = re.compile(r"\.{3,}[ \t]*[£$€]?\d[\d.,:]*+[ \t]*\w{0,6}(?=\s*(?:\n|\Z))")
"""The dots between a dish and its price at the end of a line."""
_ITEM = re.compile(
    r"[ \t]*(?:[-*+•‣–·][ \t]+|\(?(?:(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)]|[A-Z]\))[ \t]+)(?=\S)"
)
_NUMBERED = re.compile(r"[ \t]*\d{1,3}\.[ \t]+(?=\S)")
_TITLE_NUMBER = re.compile(r"(\d{1,3})(\.?)[ \t]+(?=\S)")
_CLAUSE = re.compile(r"[ \t]*\d{1,3}(?:\.\d{1,3}){1,3}[.)]?[ \t]+(?=[A-Z\"“(])")
"""Start of a numbered clause, "5.2 You may ...", after a line that ends with punctuation."""
_SECTION = re.compile(r"(?:\d+(?:\.\d+)*\.?|[A-Z]\.|Chapter|Section|Part|Article|Annex)\s")
_MAIL = re.compile(r"(From|To|Cc|Bcc|Date|Sent|Subject|Reply-To):[ \t]", re.IGNORECASE)
"""Start of a line of a mail header."""
_SALUTATION = re.compile(
    r"(?:>[ \t]?)*(?:Dear|Hi|Hello|Hey|Good (?:morning|afternoon|evening)|Hallo|Liebe[rs]?|Guten Tag|"
    r"Sehr geehrte[rsn]?|Bonjour|Ch[eè]re?s?|Madame|Monsieur|Hola|Estimad[oa]s?|Querid[oa]s?)\b[^.?:;]{0,60}[,!:]",
)
"""The line above the text of a letter."""
SIGNS_OFF = re.compile(
    r"(?:best|(?:kind|best|warm)(?:est)? (?:regards|wishes)|regards|many thanks|thanks(?: again)?|cheers|love|"
    r"(?:yours )?(?:sincerely|faithfully|truly)|(?:mit |viele |liebe |freundliche[nr]? )+gr(?:ü|ue)(?:ß|ss)en?|"
    r"cordialement|bien à vous|un saludo|saludos|atentamente)[,.!]?(?=\s|\Z)[^.?!:;]{0,80}",
    re.IGNORECASE,
)
"""The end of a letter: a phrase and a name."""
_TURN = re.compile(
    r"(?:\*\*)?([A-Z][\w.’'-]*(?: [A-Z(][\w.’')-]*){0,3})(?:\*\*)?:(?:\*\*)?[ \t]+(?=\S)"
)
_TIME = r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:\s?[AaPp]\.?\s?[Mm]\b\.?)?"
_DATE = r"(?:\w{2,9},? )?(?:\d{1,4}[./-]\d{1,2}(?:[./-]\d{1,4})?|\d{1,2}\.? \w{3,9}\.?(?: \d{4})?)"
_STAMP = re.compile(rf"\u200e?(?:\[(?:{_DATE},? )?{_TIME}\]|{_DATE},? {_TIME} [-–]) (?=\S)")
"""Date and time before a message of a chat, "14/03/2026, 18:22 - " or "[18:22] "."""
_SENDER = re.compile(r"\S[^:]{0,60}:(?=\s|\Z)")
_TIMED_TURN = re.compile(rf"{_TIME}[ \t]+{_TURN.pattern}")
_MONTH = r"(?:Jan|Feb|Mar|Mär|Apr|May|Mai|Jun|Jul|Aug|Sep|Oct|Okt|Nov|Dec|Dez)[^\W\d_]*"
_DATED = re.compile(
    rf"(?:[^\W\d_]{{2,10}},? )?(?:\d{{1,2}}\.?(?: ?[–-] ?\d{{1,2}}\.?)? {_MONTH}|{_MONTH} \d{{1,2}})"
    r"(?: \d{4})?(?: ?[–-] | ?: )\S"
)
"""Start of an entry in a list of dates, such as "Monday 25 May: half-term"."""
_FIELD = re.compile(r"[ \t]*+(?:\*\*)?[^\W\d_a-z][\w /’'-]{0,30}\.?:(?:\*\*)?[ \t]+(?=\S)")
"""Start of a line such as "Present: ..."."""
_LABEL_LINE = re.compile(
    r"[ \t]*(?:\*\*)?[^\W\d_a-z][^.!?:]{0,40}:(?:\*\*)?(?: {2,}[^.!?:]{1,40}:)*\s*"
)
"""A label on a line of its own, such as "Address:", or several side by side."""
_FIGURE = re.compile(r"\d|@|://")
_BOXED = re.compile(r"[ \t]*\*((?:[ \t].*)?[ \t]{2})\*\s*")
"""A line of a text box drawn with asterisks, such as those of the Mozilla Public License."""
_QUOTED = re.compile(r"(?:>[ \t]?)+")
"""The marks before a line of a message that a reply quotes."""
_WROTE = re.compile(
    r"(?:On|Am|Le|El) \S.{4,200} (?:wrote|schrieb(?: \S.{1,80})?|a écrit|escribió) ?:$"
)
"""The line above a message that a reply quotes."""
_INDENTED = re.compile(r"(?: {4}|\t)\s*\S")
_GAP, _WIDE_GAP = re.compile(r"(?<=[^\s.!?:]) {2,}(?=\S)"), re.compile(r"\S {4,}\S")
"""Blanks between columns."""
_GOES_ON = re.compile(
    r"(?<![\w/.'’-])(?:(?-i:a)|an|the|of|or|and|to|at|with|our|your|its)$", re.IGNORECASE
)
"""Words that rarely end a sentence or heading."""
_FENCE = re.compile(r"[ \t]*(```|~~~)[ \t]*([^`\n]*)$")
_COMMENT = re.compile(r"[ \t]*<!--(?!.*-->.*\w)")
_MARKS = re.compile(r"[*#`|>_~]+")
_RAISED = re.compile(r"(?<=[^\W\d_]{3})[¹²³⁰⁴-⁹]{1,2}(?!\w)")
"""The mark of a note right after a word, which would change the word."""
STRUCK = re.compile(r"(?<!~)~~(?=[^\s~])[^~]{1,1000}(?<!\s)~~(?!~)")
"""Struck-through text."""
_CLOSING = r"(?:[\"'”’»*_)\]†‡§¹²³⁰⁴-⁹]|\[\^?\w{1,4}\])"
_STOP = re.compile(
    rf"(?<![.!?…؟۔।॥።។။])[.!?…؟۔।॥።។။]++{_CLOSING}*+(?=\s)|[。！？｡]++[」』）】》”’\"]*+"
)
"""Sentence ends, with quotes and marks of notes. Those of Chinese and Japanese need no space after them."""
_ENCLOSED_END = re.compile(rf"[.!]{_CLOSING}+\Z")
"""The end of a sentence in brackets, quotes or bold."""
_ABBREVIATION = re.compile(
    r"\b(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|Inc|Co|Corp|Ltd|Prof|Gen|Rev|Hon|etc|Fig|approx|incl|excl|ca|Dept|Mt|Ave|"
    r"op|cit|eds?|Hr|Fr|Ste|Mme|Mlle|MM|Sra|Srta|Sres|Dra|Dña|Uds?|EE|cf|bzw|evtl|ggf|inkl|vgl|zzgl|"
    r"sog|gem|Mio|Mrd|aprox|med|Dipl|Ing|[^\W\d_]\.\s?[^\W\d_]{1,2}|(?![a-z])[^\W\d_])\.$"
)
"""Abbreviations, among them initials and pairs of letters such as "a.m." and "z. B."."""
_BEFORE_NUMBERS = re.compile(
    r"(?:\b(?:nos?|nr|núm|arr|art|abs|ca|dep|est|ziff|kap|chap|cap|sec|para|cl|part|ext|max|min|qty|ref|rev|v|ver|vol|bd|pp?|págs?|"
    r"tel|tél|jan|janv|feb|févr?|mar|apr|jun|jul|juill?|aug|sept?|oct|okt|nov|dec|déc|dez)|str)\.$",
    re.IGNORECASE,
)
"""Words that are abbreviations before a number, as in "Art. 7", "Tel. (030) 99" and "Hauptstr. 5"."""
_CODE = re.compile(r"[\w-]{0,20}\d|[IVXLC]{2,}\b")
_ORDINAL = re.compile(
    r"((?<!\bI\s)\b(?:am|im|ins|zum|vom|beim|der|die|das|des|dem|den|bis|ab|seit|jede[mnrs]?)\s+)?"
    r"(?<![\w.,:])\d{1,2}\.$",
    re.IGNORECASE,
)
"""A possible German ordinal, as in "am 3. Werktag" and "1. Mai"."""
_COUNTED = re.compile(
    r"(?:Jan(?:uar)?|Jänner|Feb(?:ruar)?|März?|Apr(?:il)?|Mai|Juni?|Juli?|Aug(?:ust)?|Sept?(?:ember)?|"
    r"Okt(?:ober)?|Nov(?:ember)?|Dez(?:ember)?|Stock|Etage|OG|Obergeschoss|Quartal|Halbjahr|Werktag)\b"
)
"""German words that follow an ordinal."""
_LETTER, _LETTERS = re.compile(r"\b[^\W\d_]\.$"), re.compile(r"[^\W\d_]{1,2}\.")
_MAY_END = re.compile(r"\b(?:etc|Inc|Ltd|Co|Corp|a\.m|p\.m)\.$")
_ONLY_NUMBER = re.compile(r"\W*(?:\d{1,3}|[A-Za-z])\.")
_BOXES = frozenset("☐☑☒✓✔✗✘")
_JOINERS = frozenset("\u200d\ufe0f")
_LABEL_WORDS, _CAPITAL_WORDS = 3, 8
"""A first sentence with at most this many words ("Night mode."), or in capitals, labels the next one."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A span of the text: ``text[start:end]``.

    Attributes:
        start: offset of the first character, in code points.
        end: offset after the last character.
        headings: indexes of the headings above it, outermost first.
        over: index of the unit that introduces it: the lead-in of an item, the header of a row, the
            question of an answer; None if there is none.
        group: number of the paragraph, list or table that it belongs to; -1 for a heading.
    """

    start: int
    end: int
    kind: Kind
    headings: tuple[int, ...] = ()
    over: int | None = None
    group: int = -1


@dataclass(frozen=True, slots=True)
class Structure:
    """A text and its units, in order.

    Attributes:
        units: the units; they cover all of the text except white space and markup.
    """

    text: str
    units: tuple[Unit, ...]

    def of(self, index: int) -> str:
        """Return the text of a unit, with markup."""
        unit = self.units[index]
        return self.text[unit.start : unit.end]


def plain(text: str) -> str:
    r"""Return a text on one line, without Markdown markup, marks of notes and struck-through text.

    Example:
        >>> plain("**Night.** The fan¹\n runs | ~~high~~ low |")
        'Night. The fan runs low'
    """
    return " ".join(_MARKS.sub(" ", _RAISED.sub("", STRUCK.sub(" ", text))).split())


def split_sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each sentence in ``text[start:end]``, without surrounding spaces.

    Example:
        >>> text = "Dr. Ames left at 9 a.m. on foot. Why?"
        >>> [text[i:j] for i, j in split_sentences(text, 0, len(text))]
        ['Dr. Ames left at 9 a.m. on foot.', 'Why?']
    """
    at = _skip_blanks(text, start, end)
    for match in _STOP.finditer(text, at, end):
        stop = match.end()
        if stop - at > LONGEST_SENTENCE:
            yield from cut_long(text, at, stop)
        elif _is_end(text, at, match, end):
            yield at, stop
        else:
            continue
        at = _skip_blanks(text, stop, end)
    yield from cut_long(text, at, at + len(text[at:end].rstrip()))


def _skip_blanks(text: str, at: int, end: int) -> int:
    while at < end and text[at].isspace():
        at += 1
    return at


def cut_long(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Split a span into parts of at most `LONGEST_SENTENCE` characters, at white space if possible.

    A base character stays with its combining marks, unless there are hundreds of them.
    """
    while end - start > LONGEST_SENTENCE:
        least, cut = start + LONGEST_SENTENCE // 2, start + LONGEST_SENTENCE
        blank = next((at for at in range(cut, least, -1) if text[at].isspace()), None)
        if blank is None:
            while cut > least and (unicodedata.combining(text[cut]) or text[cut] in _JOINERS):
                cut -= 1
        stop = start + len(text[start : blank or cut].rstrip())
        yield start, stop
        start = _skip_blanks(text, blank or cut, end)
    if start < end:
        yield start, end


def _is_end(text: str, start: int, stop: re.Match[str], end: int) -> bool:
    """Whether the sentence that begins at `start` ends at this full stop or other end mark."""
    after = _skip_blanks(text, stop.end(), end)
    if after >= end:
        return True
    following = _first_letter(text, after)
    if following in _BOXES and stop[0][-1] in "?？":
        return False  # a question of a form, with its answer
    if _LEADER.match(text, stop.start()):
        return False
    if following != following.title():  # Georgian letters have no title case
        return False
    if stop[0][0] != ".":
        return True
    if is_abbreviation(text, start, stop.start(), after):
        return False
    return _ONLY_NUMBER.fullmatch(text[start : stop.end()].strip()) is None


def _first_letter(text: str, at: int) -> str:
    return text[at : at + 8].lstrip("\"'“‘(*_[")[:1]


def is_abbreviation(text: str, start: int, stop: int, after: int) -> bool:
    """Whether a full stop at `stop`, before a capital or a number at `after`, ends an abbreviation."""
    before, following = text[max(start, stop - 12) : stop + 1], _first_letter(text, after)
    if (not following.isalpha() or _CODE.match(text, after)) and _BEFORE_NUMBERS.search(before):
        return True
    if _LETTER.search(before) and _LETTERS.match(text, after):
        return True  # the first letter of "z. B."
    ordinal = _ORDINAL.search(before)
    if ordinal and (ordinal[1] or _COUNTED.match(text, after)):
        return True
    if not _ABBREVIATION.search(before):
        return False
    return not (_MAY_END.search(before) and following.isupper())


def read_structure(text: str) -> Structure:
    r"""Return the units of a text.

    Runs in linear time.

    Example:
        >>> text = "# Rent\n\nRent is due monthly. Pay by:\n\n- card\n- cheque"
        >>> [(unit.kind, text[unit.start:unit.end]) for unit in read_structure(text).units]
        ... # doctest: +NORMALIZE_WHITESPACE
        [('heading', 'Rent'), ('sentence', 'Rent is due monthly.'), ('sentence', 'Pay by:'),
         ('item', '- card'), ('item', '- cheque')]
    """
    reader = _Reader(text)
    reader.read()
    return Structure(text, tuple(reader.units))


def _is_divided(lines: Sequence[_Line]) -> bool:
    """Whether rows with a single cell divide a table whose first cells are repeated."""
    rows = [line.stripped for line in takewhile(lambda line: _is_row(line.text), lines)]
    names = [
        row.strip("|").partition("|")[0].strip() for row in rows if not _LONE_CELL.fullmatch(row)
    ]
    return len(rows) - len(names) > 1 and len(set(names)) < len(names)


def _width(blocks: Sequence[Sequence[_Line]]) -> int:
    """Return the usual width of lines: 90% of the lines before another line are at most as long."""
    lengths = sorted(len(line.text.rstrip()) for block in blocks for line in block[:-1])
    return lengths[9 * len(lengths) // 10] if lengths else 0


def _has_columns(line: str) -> bool:
    return _WIDE_GAP.search(line) is not None


def _are_aligned(above: str, line: str) -> bool:
    """Whether the columns of two lines are aligned, unlike the words of justified text."""
    gaps = [match.span() for match in _GAP.finditer(line)]
    others = [match.span() for match in _GAP.finditer(above)]
    ends, starts = {end for end, _ in others}, {start for _, start in others}
    aligned = sum(end in ends or start in starts for end, start in gaps)
    return min(len(gaps), len(others)) >= 2 and 2 * aligned > len(gaps)


def _indent(line: _Line) -> int:
    return len(line.text) - len(line.text.lstrip())


def _is_short(line: _Line) -> bool:
    return len(line.stripped) <= LONGEST_SHORT and line.stripped[-1] not in ".!?;"


def _values(block: Sequence[_Line], *, below_label: bool) -> set[int]:
    """Return the indexes of lines that continue the value of a label or lead-in, such as an address."""
    values: set[int] = set()
    at = -1 if below_label else 0
    while at < len(block):
        last = at + 1
        beside = at >= 0 and _has_columns(block[at].text)
        if at < 0 or _LABEL_LINE.fullmatch(block[at].text):
            while (
                last < len(block)
                and _is_short(block[last])
                and (beside or not _has_columns(block[last].text))
                and ": " not in block[last].text
                and block[last].stripped[-1] != ":"
                and not _ITEM.match(block[last].text)
            ):
                last += 1
            if last - at - 1 <= VALUE_LINES:
                values.update(range(max(at, 0) + 1, last))
        at = last
    return values


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    text: str
    is_code: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def stripped(self) -> str:
        return self.text.strip()


class _Reader:
    """Reads the blocks of a text, which are separated by blank lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.units: list[Unit] = []
        self._blocks = list(_blocks(text))
        self._headings: list[tuple[int, int]] = []  # (level, unit index), outermost first
        self._group = 0
        self._list: tuple[int, int | None, int] | None = None  # (group, lead-in, last block)
        self._nested: list[tuple[int, int]] = []  # (indent, unit index) of items, outermost first
        self._speakers = _speakers(text, _TURN)
        self._has_times = bool(_speakers(text, _TIMED_TURN))
        self._is_chat = _is_chat([line.text for block in self._blocks for line in block])
        self._message: int | None = None  # the index of the sender and date of a message
        self._width = _width(self._blocks)
        self._longest = 0  # the longest line of the block
        self._values: set[int] = set()  # the lines of the block that belong to a label above them
        self._is_short = False  # whether all lines of the block are short
        self._first = 0  # the index of the block's first unit
        self._has_fields = False  # whether the block has several lines such as "Present: ..."

    def read(self) -> None:
        for number, block in enumerate(self._blocks):
            if block[0].is_code:
                self._read_code(block)
                continue
            at = 0
            lengths = [len(line.stripped) for line in block if "://" not in line.text]
            self._longest = max(lengths, default=0)
            self._values = _values(block, below_label=self._last_text().endswith(":"))
            self._is_short = all(map(_is_short, block))
            self._first = len(self.units)
            self._has_fields = sum(_FIELD.match(line.text) is not None for line in block) > 1
            says = self._message is not None or self._head_of(block[0].text)
            rows = 0 if says else len(block) if _is_delimited(block) else _aligned(block)
            if rows:
                at = self._read_table(block, 0, rows)
            while at < len(block):
                at = self._read_part(number, block, at)

    def _read_part(self, number: int, block: Sequence[_Line], at: int) -> int:
        """Read the part that begins at line `at` of a block; return the index of the line after it."""
        line = block[at]
        if mark := _HEADING.match(line.text):
            end = line.start + len(line.text.rstrip(" \t#"))
            self._add_heading(line.start + mark.end(), end, len(mark[1]))
            return at + 1
        if ruled := _RULED.fullmatch(line.text):
            self._add_heading(line.start + ruled.start(2), line.start + ruled.end(2), 4)
            return at + 1
        if self._message is not None or self._head_of(line.text):
            return self._read_message(block, at)
        level = _underline(block[at + 1].text) if at + 1 < len(block) else 0
        if level and (len(block) <= 3 or (at == 0 and _is_underlined(block))):
            self._add_heading(line.start, line.end, level)
            return at + 2
        if at and _underline(line.text) and "_" not in line.text:
            return at + 1  # a rule between lines says nothing
        following = block[at + 1].text if at + 1 < len(block) else ""
        if _begins_table(line.text, following):
            return self._read_table(block, at)
        if at == 0 and _is_numbered_title(line.stripped, following):
            self._add_heading(line.start, line.end, 7)
            return 1
        if item := _ITEM.match(line.text):
            return self._read_item(number, block, at, line.start + item.end())
        if self._is_heading(number, block, at):
            question = line.stripped.strip("*_ ").endswith("?")
            level = 9 if question else 4 if line.text.isupper() else 5
            if not self.units and not question:
                level = 1
            elif level == 5 and self._headings:
                above, index = self._headings[-1]
                if above >= level and index == len(self.units) - 1:
                    level = 6  # a line below a heading, such as its authors
            self._add_heading(line.start, line.end, level, "question" if question else "heading")
            return at + 1
        if lines := _lines_of_attribution(block, at):
            self._add_heading(line.start, block[at + lines - 1].end, 6, "meta")
            return at + lines
        if self._is_mail(block, at):
            head = line.stripped.lower()
            if head.startswith(("from:", "subject:")):
                self._add_heading(line.start, line.end, 2 if head[0] == "s" else 6, "meta")
            else:
                self._add(line.start, line.end, "meta")
            return at + 1
        return self._read_paragraph(block, at)

    def _add(
        self, start: int, end: int, kind: Kind, over: int | None = None, group: int = -1
    ) -> int:
        start = _skip_blanks(self.text, start, end)
        if self.text[start - 1 : start] == "\n" and (
            quoted := _QUOTED.match(self.text, start, end)
        ):
            start = _skip_blanks(self.text, quoted.end(), end)
        end = start + len(self.text[start:end].rstrip())
        headings = tuple(index for _, index in self._headings)
        self.units.append(Unit(start, end, kind, headings, over, group))
        return len(self.units) - 1

    def _add_heading(self, start: int, end: int, level: int, kind: Kind = "heading") -> None:
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self._headings.append((level, self._add(start, end, kind)))
        self._list = self._message = None

    def _last_text(self) -> str:
        unit = self.units[-1] if self.units else None
        return self.text[unit.start : unit.end] if unit else ""

    def _lead_in(self) -> int | None:
        """Return the index of the last unit if it introduces a list or table, else None.

        A lead-in ends with a colon or without punctuation. A field ("Number: 12") is not a lead-in.
        """
        last = self._last_text().rstrip("*_ ")
        if not last or self.units[-1].kind not in CONTENT:
            return None
        if last[-1] != ":" and _FIELD.match(last):
            return None
        said = last.rstrip(")]\"'”’»")
        return None if said[-1:] in ".!?;|" else len(self.units) - 1

    def _asks_for_value(self) -> bool:
        """Whether the last unit is a heading, a label or a question, so that a number may answer it."""
        last = self._last_text().rstrip("*_ ")
        return bool(last) and (self.units[-1].kind != "sentence" or last[-1] in ":?")

    def _breaks(self, block: Sequence[_Line], at: int) -> bool:
        """Whether the author broke the line here, not the line width."""
        if at in self._values:
            return False
        above, line = block[at - 1].text.rstrip(), block[at].stripped
        if _STAMP.match(line) or _SALUTATION.fullmatch(above):
            return True
        if (_has_columns(line) and _has_columns(above)) or _are_aligned(above, block[at].text):
            return True
        if line[0].islower() or _indent(block[at]) > _indent(block[at - 1]) + HANGING:
            return False
        if _LEADER.search(above, max(0, len(above) - 80)):
            return True
        if _GOES_ON.search(above, max(0, len(above) - 8)):
            return False
        if _has_columns(above):
            return True
        if _FIELD.match(above) and _indent(block[at]) < _indent(block[at - 1]):
            return True
        if len(block) == 2 and len(line.split()) <= TITLE_WORDS and line[-1] not in ".!?":
            return False  # "Colour copy", "40p a page"
        least = len(above) + 1 + len(line.split(maxsplit=1)[0])
        return least <= FULL * max(self._width, self._longest)

    def _is_heading(self, number: int, block: Sequence[_Line], at: int) -> bool:
        """Whether a line without markup is a heading, or a question followed by its answer."""
        line = block[at].stripped
        alone = len(block) == 1
        field = _FIELD.match(line)
        if self._speaks(line) or _has_columns(line) or AMOUNT.match(line):
            return False
        if field and (not alone or _FIGURE.search(line, field.end())):
            return False
        if at == 0 and not alone and line.endswith("?") and len(line) <= 140:
            return True
        if len(line) > LONGEST_HEADING or not any(map(str.isalpha, line)) or _PRICED.search(line):
            return False
        after = self._blocks[number + 1][0].text if number + 1 < len(self._blocks) else ""
        before = self._blocks[number - 1][0].text if number else ""
        if alone and _DATED.match(line) and (_DATED.match(after) or _DATED.match(before)):
            return False
        asked = self._last_text().strip("*_ ").endswith("?")
        mail = _MAIL.match(after) or (after and _lines_of_attribution(self._blocks[number + 1], 0))
        if alone and (not after or mail or _HEADING.match(after) or asked):
            return False  # no text below it: a signature, or a short answer
        goes_on = _ITEM.match(after) if alone and len(line.split()) >= 5 else None
        if goes_on and after[goes_on.end()].islower():
            return False  # a sentence that continues in the items
        if line.isupper() and sum(map(str.isalpha, line)) > 2:
            return not self._shouts(block, at)
        listed = _FIELD.match(after) or _FIELD.match(before)
        if alone and field and listed and not _SECTION.match(line):
            return False
        if self.units and self._is_address(block):
            return False
        if at == 0 and not alone and self._breaks(block, 1):
            return (
                len(line.split()) <= TITLE_WORDS
                and (line[0].isalnum() or line[0] == "§")
                and line[-1] not in _ENDS
                and (
                    not _FIELD.match(block[1].text)
                    or (len(block) == 2 and block[1].stripped[-1] == ".")
                )
            )
        if not alone or _MAIL.match(line) or len(line.split()) > 12:
            return False
        first = self._is_bare(number + 2) and _HEADING.match(before)
        if self._is_bare(number + 1) and (self._is_bare(number - 1) or first):
            return False  # one of three or more lines that do not introduce anything
        if len(line.split()) > _LABEL_WORDS and _ENCLOSED_END.search(line):
            return _SECTION.match(line.lstrip("*_")) is not None
        if line[-1] not in _ENDS:
            return True
        return bool(_SECTION.match(line)) and line[-1] == "." and len(line.split()) <= 6

    def _is_bare(self, number: int) -> bool:
        """Whether a block is a short line that does not end a sentence and has no markup."""
        if not 0 <= number < len(self._blocks) or len(self._blocks[number]) > 1:
            return False
        line = self._blocks[number][0]
        return (
            _is_short(line)
            and line.stripped[0].isalnum()
            and any(map(str.isalpha, line.text))
            and line.stripped[-1] not in _ENDS + "?|"
            and not _ITEM.match(line.text)
            and (not line.text.isupper() or _FIGURE.search(line.text) is not None)
        )

    def _is_address(self, block: Sequence[_Line]) -> bool:
        """Whether a block below a heading or lead-in may be an address, or lines of the same kind."""
        line = block[0].stripped
        below = self.units[-1].kind == "heading" or self._last_text().endswith(":")
        if not below or line[0] in "*_":
            return False
        if len(block) == 1:
            return len(line.split()) > TITLE_WORDS and _FIGURE.search(line) is not None
        return self._is_short and len(block) <= VALUE_LINES

    def _shouts(self, block: Sequence[_Line], at: int) -> bool:
        """Whether a line begins a paragraph in capitals, such as the disclaimer of a licence."""
        following = [line.stripped for line in block[at + 1 : at + 3]]
        return (
            bool(following)
            and all(map(str.isupper, following))
            and (len(following) == 2 or following[0][-1] == ".")
            and not self._breaks(block, at + 1)
        )

    def _is_mail(self, block: Sequence[_Line], at: int) -> bool:
        if not _MAIL.match(block[at].text):
            return False
        beside = [block[i].text for i in (at - 1, at + 1) if 0 <= i < len(block)]
        return any(map(_MAIL.match, beside)) or block[at].stripped.lower().startswith("subject:")

    def _read_table(self, block: Sequence[_Line], at: int, until: int = 0) -> int:
        """Read a table, at least up to line `until`.

        Markdown rows without a ruler below the first one have no header, because the passage begins
        in the middle of a table. A table of names and values has no header, either. A row with text
        in its first cell only is a second header of the rows below it; in a table of two columns,
        only if names of rows are repeated.
        """
        self._group += 1
        header = self._lead_in()
        self._list = None
        if _is_ruler(block[at].text) and at + 1 < len(block) and _is_row(block[at + 1].text):
            at += 1  # the upper border
        line = block[at]
        ruled = at + 1 < len(block) and _is_ruler(block[at + 1].text)
        names = plain(line.text) and (ruled or not _is_bounded(line.text))
        if names and not _NAMED_VALUE.fullmatch(line.stripped) and not _is_numbered(block[at:]):
            header = self._add(line.start, line.end, "header", header, self._group)
            at += 1
            second = at + 1 if ruled else at
            if second < len(block) and _is_second_header(line.text, block[second].text):
                line = block[second]
                header = self._add(line.start, line.end, "header", header, self._group)
                at = second + 1
        above, columns = header, line.stripped.strip("|").count("|") + 1
        divided = columns > 2 or _is_divided(block[at:])
        while at < len(block) and (
            at < until or _is_row(block[at].text) or _is_ruler(block[at].text)
        ):
            line = block[at]
            below = block[at + 1].stripped if at + 1 < len(block) else ""
            named = divided and _is_row(below) and not _LONE_CELL.fullmatch(below)
            if named and _LONE_CELL.fullmatch(line.stripped):
                above = self._add(line.start, line.end, "header", header, self._group)
            elif any(map(str.isalnum, line.text)):
                self._add(line.start, line.end, "row", above, self._group)
            at += 1
        return at

    def _read_item(self, number: int, block: Sequence[_Line], at: int, body: int) -> int:
        line = block[at]
        last = at + 1
        while last < len(block) and not (
            _ITEM.match(block[last].text)
            or _HEADING.match(block[last].text)
            or self._speaks(block[last].text)
            or (not _indent(block[last]) and self._breaks(block, last))
        ):
            last += 1
        end = block[last - 1].end
        if _NUMBERED.match(line.text) and self._read_numbered(number, block, at, last, body, end):
            return last
        if self._list is None or self._list[2] < number - 1 or (self._list[2] < number and at):
            self._group += 1
            over = self._lead_in()
            if self.text[body].islower() and self.units and self.units[-1].kind == "heading":
                over = len(self.units) - 1  # the items continue the heading
            self._list = (self._group, over, number)
            self._nested = []
        group, over, _ = self._list
        self._list = (group, over, number)
        over = self._item_above(_indent(line), over)
        for count, (start, stop) in enumerate(self._with_labels(body, end)):
            begin = line.start if count == 0 else start
            self._add(begin, stop, "sentence" if count else "item", over, group)
        self._nested.append((_indent(line), len(self.units) - 1))
        return last

    def _item_above(self, indent: int, lead_in: int | None) -> int | None:
        """Return the item that introduces an item with this indent, else the list's lead-in."""
        while self._nested and self._nested[-1][0] >= indent - 1:  # numbers may be flush right
            self._nested.pop()
        for _, index in reversed(self._nested):
            unit = self.units[index]
            said = self.text[unit.start : unit.end].rstrip("*_ )]\"'”’»")
            if said[-1:] not in ".!?;,|":
                return index
        return lead_in

    def _read_numbered(
        self, number: int, block: Sequence[_Line], at: int, last: int, body: int, end: int
    ) -> bool:
        """Read a numbered heading with the text after it, such as "4. Fees. You pay ...".

        Return False if this is not a heading.
        """
        following = self._blocks[number + 1][0].text if number + 1 < len(self._blocks) else ""
        more = last == len(block) and bool(following) and not _ITEM.match(following)
        whole = self.text[body:end].rstrip()
        first = next(split_sentences(self.text, body, end), (body, end))
        words = self.text[first[0] : first[1]].split()
        capitals = sum(word[:1].isupper() for word in words)
        if at == 0 and more and whole[-1:] not in ".;,?!:" and len(whole.split()) <= 25:
            self._add_heading(block[at].start, end, 7)
        elif (
            not self._goes_on_with_list(number, at, alone=first[1] == end)
            and 0 < len(words) <= 8
            and words[-1][-1] in ".:"
            and 2 * capitals >= len(words)
            and words[0][:1].isupper()
            and (first[1] < end or more)
        ):
            self._add_heading(block[at].start, first[1], 7)
            self._group += 1
            for start, stop in split_sentences(self.text, first[1], end):
                self._add(start, stop, "sentence", None, self._group)
        else:
            return False
        return True

    def _goes_on_with_list(self, number: int, at: int, *, alone: bool) -> bool:
        """Whether a numbered line such as "5. Click **OK**." follows an item or begins a list."""
        if self.units and self.units[-1].kind in CONTENT and self._last_text().endswith(":"):
            return True
        if self._list is None or self.units[-1].group != self._list[0]:
            return False
        return at > 0 or (alone and self._list[2] == number - 1)

    def _read_code(self, block: Sequence[_Line]) -> None:
        """Read a fenced code block as one item of the sentence that introduces it."""
        over = self._lead_in()
        self._list = None
        self._group += 1
        for start, stop in cut_long(self.text, block[0].start, block[-1].end):
            self._add(start, stop, "item", over, self._group)

    def _read_message(self, block: Sequence[_Line], at: int) -> int:
        """Read one chat message; its sender and date introduce its sentences."""
        line, last = block[at], at + 1
        length = self._head_of(line.text)
        if length:
            self._group += 1
            self._message = self._add(line.start, line.start + length, "meta", None, self._group)
        while last < len(block) and not (
            self._is_chat  # its lines are never wrapped
            or self._head_of(block[last].text)
            or _ITEM.match(block[last].text)
            or _HEADING.match(block[last].text)
            or self._breaks(block, last)
        ):
            last += 1
        for start, stop in self._with_labels(line.start + length, block[last - 1].end):
            self._add(start, stop, "sentence", self._message, self._group)
        return last

    def _head_of(self, line: str) -> int:
        """Return the length of the sender and date if the line begins a message, else 0."""
        if self._is_chat and (stamp := _STAMP.match(line)):
            return (_SENDER.match(line, stamp.end()) or stamp).end()
        turn = _TIMED_TURN.match(line) if self._has_times else None
        return turn.end() if turn else 0

    def _read_paragraph(self, block: Sequence[_Line], at: int) -> int:
        last = at + 1
        while last < len(block) and not (
            _ITEM.match(block[last].text)
            or (self._has_fields and _FIELD.match(block[last].text))
            or _HEADING.match(block[last].text)
            or _begins_table(
                block[last].text, block[last + 1].text if last + 1 < len(block) else ""
            )
            or _MAIL.match(block[last].text)
            or _lines_of_attribution(block, last)
            or block[last].text.startswith("[^")
            or self._speaks(block[last].text)
            or (_CLAUSE.match(block[last].text) and block[last - 1].stripped[-1] in ".;:")
            or (_underline(block[last].text) and "_" not in block[last].text)
            or self._breaks(block, last)
        ):
            last += 1
        over = None
        if self._headings and self._headings[-1][0] == 9:
            over = self._headings[-1][1]
        elif _indent(block[at]) or (self._is_short and not _LABEL_LINE.fullmatch(block[at].text)):
            over = self._lead_in_of_lines(block, at)
        self._list = None
        begins = self._speaks(block[at].text) or (self._has_fields and _FIELD.match(block[at].text))
        goes_on = at and self.units and self.units[-1].kind == "sentence"
        if begins or not (goes_on and self._breaks(block, at)):
            self._group += 1
        for start, stop in self._with_labels(block[at].start, block[last - 1].end):
            blank = sum(len(found[0]) for found in _BLANKS.finditer(self.text, start, stop))
            number = _BARE_NUMBER.fullmatch(self.text, start, stop) and not self._asks_for_value()
            form = 2 * blank > stop - start or "_____" in self.text[start:stop]
            kind: Kind = "meta" if number or form else "sentence"
            self._add(start, stop, kind, over, self._group)
        return last

    def _lead_in_of_lines(self, block: Sequence[_Line], at: int) -> int | None:
        """Return the index of the unit that introduces an indented or short line, else None.

        For example, "Pay to:" introduces an address, and the name at the top of the block "Phone: 12".
        """
        last = self.units[-1] if self.units else None
        if last is None or self._last_text().rstrip("*_ ").endswith(":"):
            return self._lead_in()
        if (
            at
            and self._is_short
            and _FIELD.match(block[at].text)
            and not _FIELD.match(block[0].text)
        ):
            first = self.units[self._first :][:1]  # a line such as "***" is not a unit
            return self._first if first and first[0].kind == "sentence" else None
        above = last.over if at and last.kind == "sentence" else None
        return above if above is not None and self.units[above].kind == "sentence" else None

    def _speaks(self, line: str) -> bool:
        turn = _TURN.match(line)
        return (turn is not None and turn[1] in self._speakers) or self._head_of(line) > 0

    def _with_labels(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the sentences, each label such as "Methods." joined with the next sentence."""
        spans: list[tuple[int, int]] = []
        label: int | None = None
        for begin, stop in split_sentences(self.text, start, end):
            sentence = self.text[begin:stop]
            words = sentence.strip("*_").split()
            most = 1 if spans else _CAPITAL_WORDS if sentence.isupper() else _LABEL_WORDS
            labels = 0 < len(words) <= most and words[-1][-1] in ".:*_"
            if label is None and labels and not (spans and DECIDES.fullmatch(sentence)):
                label = begin
                continue
            spans.append((begin if label is None else label, stop))
            label = None
        return spans if label is None else [*spans, (label, end)]


def _blocks(text: str) -> Iterator[list[_Line]]:
    """Yield the blocks of a text: lines between blank lines, rules or code fences."""
    lines = text.split("\n")
    code = _code_lines(lines)
    block: list[_Line] = []
    at, comment = 0, False
    closed = max((n for n, line in enumerate(lines) if "-->" in line), default=-1)
    for number, line in enumerate(lines):
        is_code = number in code
        boxed = None if is_code else _BOXED.fullmatch(line)
        start, content = (at + boxed.start(1), boxed[1]) if boxed else (at, line)
        if not is_code and (quoted := _QUOTED.match(line)):
            start, content = at + quoted.end(), line[quoted.end() :]
        if not is_code and number <= closed and (comment or _COMMENT.match(content)):
            comment = "-->" not in content  # a comment of Markdown, which is not displayed
            content = ""
        is_break = not content.strip() or (_is_rule(content) and not block)
        if _FENCE.match(line) or (is_break and not is_code):
            if block:
                yield block
                block = []
        elif block or content.strip():
            block.append(_Line(start, content, is_code))
        at += len(line) + 1
    if block:
        yield block


def _code_lines(lines: Sequence[str]) -> set[int]:
    """Return the numbers of lines of code: between two fences, or indented below a lead-in."""
    fences = [(n, mark) for n, line in enumerate(lines) if (mark := _FENCE.match(line))]
    code: set[int] = set()
    opened: tuple[int, str] | None = None
    for number, mark in fences:
        if opened and mark[1] == opened[1] and not mark[2].strip():
            code.update(range(opened[0] + 1, number))
            opened = None
        else:
            opened = number, mark[1]
    return code | _indented_code(lines)


def _indented_code(lines: Sequence[str]) -> set[int]:
    """Return the numbers of indented lines after "Run this:" and a blank line.

    Indented prose and lists, which plain text files have as well, are not code.
    """
    code: set[int] = set()
    number = 2
    while number < len(lines):
        lead_in, blank = lines[number - 2], lines[number - 1]
        end = number
        if lead_in[:1].strip() and lead_in.rstrip().endswith(":") and not blank.strip():
            while end < len(lines) and _INDENTED.match(lines[end]):
                end += 1
            block = [line.strip() for line in lines[number:end]]
            if not any(_ITEM.match(line) or line[-1] in ".,;?!" for line in block):
                code.update(range(number, end))
        number = max(end, number + 1)
    return code


def _lines_of_attribution(block: Sequence[_Line], at: int) -> int:
    """Return how many lines of a block are "On Monday, Ann wrote:", which may be wrapped; else 0."""
    if _WROTE.match(block[at].stripped):
        return 1
    return 2 * (_WROTE.match(" ".join(line.stripped for line in block[at : at + 2])) is not None)


def _is_numbered_title(line: str, following: str) -> bool:
    """Whether a line is a numbered heading directly above its text, such as "2. Water"."""
    mark = _TITLE_NUMBER.match(line)
    if mark is None or not line[mark.end()].isupper():
        return False
    if line[-1] in _ENDS + "?" or len(line.split()) > 9:
        return False
    if _CLAUSE.match(following):
        return following.lstrip().startswith(f"{mark[1]}.")
    item = _ITEM.match(following) is not None and not following[0].isdigit()
    return bool(mark[2]) and (following[:1].isupper() or item)


def _is_rule(line: str) -> bool:
    bare = "".join(line.split())
    return len(bare) >= 3 and len(set(bare)) == 1 and bare[0] in "-*_=~"


def _underline(line: str) -> int:
    """Return the heading level that an underline marks; 0 if the line is not an underline."""
    bare = line.strip()
    return 0 if not _is_rule(line) or " " in bare else 1 if bare[0] == "=" else 2


def _is_underlined(block: Sequence[_Line]) -> bool:
    """Whether a rule as long as the line above it underlines a title, not the names of columns."""
    title, rule = block[0].text.rstrip(), block[1].text.rstrip()
    if len(title) > LONGEST_HEADING or title[-1] in _ENDS or abs(len(title) - len(rule)) > 2:
        return False
    columns = {gap.end() for gap in _GAP.finditer(title)}
    return columns.isdisjoint(gap.end() for gap in _GAP.finditer(block[2].text))


def _is_row(line: str) -> bool:
    return " | " in line.strip() or _is_bounded(line)


def _is_bounded(line: str) -> bool:
    bare = line.strip()
    return len(bare) > 2 and bare[0] == bare[-1] == "|"


_NAMED_VALUE = re.compile(
    r"\|?(?=[^|]*\w)[^|]*\|(?=[^|]*(?:[£$€] ?\d|\d[.,:]\d|@|\d(?:[ ()/-]{,2}\d){6}|"
    r"(?<=[| ])(?:[^|\s]++ ++){7}[^|\s]))[^|]*\|?"
)
"""A row such as "Rent | £985", which does not name the columns of a table."""


_NUMBERED_CELL = re.compile(r"[\s|]*([^\W\d_]+\.? ?)\d")
"""A first cell such as "Day 1"."""

_SECOND_HEADER = re.compile(r"\|\s*+\|(?:[^|\d]*[^\W\d_][^|\d]*\|){2,}")
"""A row whose first cell is empty and whose other cells have text without numbers."""

_LONE_CELL = re.compile(r"\|(?=[^|]*[^\W\d_])[^|]*+\|[|\s]*+")
"""A row with text in its first cell only."""


def _is_second_header(header: str, line: str) -> bool:
    """Whether a line without numbers names columns below a header with merged cells."""
    names = [cell.strip() for cell in header.strip().removesuffix("|").split("|")][2:]
    merged = "" in names or len(set(names)) < len(names)
    return merged and _SECOND_HEADER.fullmatch(line.strip()) is not None


def _is_numbered(rows: Sequence[_Line]) -> bool:
    """Whether the first two rows of a table begin like "Day 1" and "Day 2", so neither is a header."""
    said = [row.text for row in rows[:3] if not _is_ruler(row.text)]
    cells = [cell[1] for text in said[:2] if (cell := _NUMBERED_CELL.match(text))]
    return len(cells) == 2 and cells[0] == cells[1]


def _begins_table(line: str, following: str) -> bool:
    """Whether a line begins a table, unlike one line of text with a bar, as in "a | b"."""
    if _is_bounded(line) or (_is_ruler(line) and _is_row(following)):
        return True
    return _is_row(line) and (_is_row(following) or _is_ruler(following))


def _is_ruler(line: str) -> bool:
    """Whether a line separates a table's header from its rows."""
    signs = set(line.strip())
    return signs <= set(" \t:|+-=") and bool(signs & set("-=") and signs & set("|+"))


def _is_delimited(block: Sequence[_Line]) -> bool:
    """Whether the lines are comma-, semicolon- or tab-separated values."""
    if len(block) < 3 or any(line.stripped[-1] in ".:;!?" for line in block[:20]):
        return False
    for sign in ("\t", ";", ","):
        counts = {line.text.count(sign) for line in block[:20]}
        if min(counts) >= 2 and (len(counts) == 1 or sign != ","):
            return True
    more = [line for line in block[:20] if line.text.count(",") > min(counts)]
    return 2 <= min(counts) == block[0].text.count(",") and all('"' in line.text for line in more)


def _aligned(block: Sequence[_Line]) -> int:
    """Return how many lines at the start of a block are a table of aligned columns; 0 if none are.

    All lines have the same number of columns; rules of dashes may come between them.
    """
    columns: list[int] = []
    ruled, end = False, 0
    for end, line in enumerate(block):  # noqa: B007
        if not any(map(str.isalnum, line.text)):
            ruled = True
            continue
        gaps = len(_GAP.findall(line.stripped))
        if gaps < 2 or gaps != (columns or [gaps])[0]:
            break
        columns.append(gaps)
    else:
        end = len(block)
    return end if len(columns) >= (2 if ruled else 3) else 0


def _speakers(text: str, turn: re.Pattern[str]) -> frozenset[str]:
    """Return the speakers if the text is a conversation: names before colons at line starts."""
    names = Counter(match[1] for line in text.split("\n") if (match := turn.match(line)))
    several = {name for name, count in names.items() if count >= 2}
    return frozenset(several if len(several) >= 2 else ())


def _is_chat(lines: Sequence[str]) -> bool:
    """Whether a third of the lines begin messages, unlike events: "3 May, 10:00 - 11:00 Tour"."""
    stamps = [(line, stamp) for line in lines if (stamp := _STAMP.match(line))]
    said = sum("]" in stamp[0] or bool(_SENDER.match(line, stamp.end())) for line, stamp in stamps)
    return said > 1 and 3 * said >= len(lines)
