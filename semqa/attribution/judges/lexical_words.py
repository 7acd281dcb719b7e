"""Words as the lexical judge compares them: what says something, and what turns a sentence.

English above all. Numbers and names count in any language that writes them so.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

__all__ = ["Token", "read_tokens", "sentence_spans", "sentences"]

_WORD = re.compile(
    r"(?<![^\W_])(?:[^\W\d_]\.){2,}(?:[^\W\d_](?![^\W_]))?"  # U.S., B.B.C
    r"|[^\W_]+(?:[.,:/][0-9]+)*(?:['’][^\W_]+)*(?:%|°)?"
)
_ENUMERATION = re.compile(r"\([0-9]{1,2}\)")
"""Numbers of a list, which say nothing."""

_SENTENCE = re.compile(
    r"(?<=[.!?。！？])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[^\Wa-z_])|\n\s*\n|(?<=[。！？])"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Z]|Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|No|Prof|Gen|Col|Sgt|Lt|Inc|Ltd|Co|Mt|U\.S|U\.K|e\.g|i\.e))\.$"
)


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FUNCTION = _listed(
    """a an the this that these those there here it its itself he him his she her hers they them their
    theirs we us our ours i me my mine you your yours who whom whose which what when where why how
    is am are was were be been being do does did done doing has have had having will would shall
    should can could may might must of in on at by for to from with within into onto upon about as
    than then so and or but if because while also too very just only both either each such own same
    one other another more most some any all many much few per via up down out over under again further
    according source sources say says said state states stated
    not no nor never neither none nobody nothing cannot without"""
)
_NEGATIONS = _listed(
    """not no never neither nor none nobody nothing nowhere cannot without hardly scarcely barely
    fail fails failed refuse refused refuses deny denies denied lack lacks lacked"""
)
_UP_TO_TWENTY = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_NUMBERS = {word: str(number) for number, word in enumerate(_UP_TO_TWENTY.split())}
del _NUMBERS["one"]  # which is an article as often
_ENDS = ("ational", "ations", "ation", "ings", "ing", "edly", "ies", "ied", "es", "ed", "ly", "s")
_LEAST_STEM = 3


class Token(NamedTuple):
    """A word of a text: ``text[start:end]``.

    Attributes:
        key: equal for words that count as the same.
        content: whether it says something by itself.
        number: whether it is a number, in digits or in words.
        fixed: whether it is a number or a name, which nothing else stands for.
        negation: whether it denies.
    """

    key: str
    start: int
    end: int
    content: bool
    number: bool
    fixed: bool
    negation: bool


def read_tokens(text: str) -> list[Token]:
    """Return the words of a text, in order.

    Example:
        >>> [token.key for token in read_tokens("Ann's bridges opened; 1,200 came.") if token.content]
        ['ann', 'bridg', 'open', '1200', 'cam']
    """
    tokens = []
    begins = True
    last = 0
    for match in _WORD.finditer(text):
        begins = begins or any(mark in '.!?:\n"“' for mark in text[last : match.start()])
        if _ENUMERATION.fullmatch(text, max(0, match.start() - 1), match.end() + 1):
            begins = True
            continue
        last = match.end()
        tokens.append(_token(match[0], match.start(), match.end(), begins=begins))
        begins = False
    # “Ann Lee opened it”: what stands before a name, with a capital of its own, is part of it.
    for place in range(len(tokens) - 2, -1, -1):
        token, following = tokens[place], tokens[place + 1]
        together = text[token.end : following.start] == " " and text[token.start].isupper()
        if together and following.fixed and not following.number and token.content:
            tokens[place] = token._replace(fixed=True)
    return tokens


def _token(raw: str, start: int, end: int, *, begins: bool) -> Token:
    plain = unicodedata.normalize("NFKC", raw).casefold().replace("’", "'")
    negation = plain in _NEGATIONS or plain.endswith("n't")
    plain = plain.removesuffix("'s")
    if "." in plain and plain[0].isalpha():
        plain = plain.replace(".", "")
    digits = any(character.isdigit() for character in plain)
    number = digits or plain in _NUMBERS
    if number:
        key = re.sub(r"(?<=\d),(?=\d{3})", "", _NUMBERS.get(plain, plain))
        return Token(key, start, end, True, True, True, negation)
    country = plain == "us" and raw.isupper()
    content = (plain not in _FUNCTION or country) and not negation
    # A capital at the beginning of a sentence shows nothing.
    name = content and raw[0].isupper() and (not begins or raw[1:2].isupper())
    key = "U.S." if country else _stem(plain)
    return Token(key, start, end, content, False, name, negation)


def _stem(word: str) -> str:
    """Take off an inflection, roughly."""
    if not word.isascii():
        return word
    for end in _ENDS:
        if word.endswith(end) and len(word) - len(end) >= _LEAST_STEM and not word.endswith("ss"):
            word = word[: -len(end)]
            break
    if len(word) > _LEAST_STEM and word[-1] in "eiy":
        word = word[:-1]
    if len(word) > _LEAST_STEM and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, stripped; none of a blank one."""
    return [text[start:end] for start, end in sentence_spans(text)]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return where the sentences of a text stand, without the white space around them."""
    spans = []
    start = 0
    for match in _SENTENCE.finditer(text):
        # An initial or a title ends no sentence.
        if _ABBREVIATION.search(text, max(start, match.start() - 8), match.start()):
            continue
        spans.append((start, match.start() + len(match[0].rstrip())))
        start = match.end()
    spans.append((start, len(text)))
    return [
        (at + len(piece) - len(piece.lstrip()), at + len(piece.rstrip()))
        for at, piece in ((start, text[start:end]) for start, end in spans)
        if piece.strip()
    ]
