"""Tokenization and normalisation for the metrics, and parsing of marks.

Sem-F1 and Sem-Rec compare normalised words in any script, ROUGE compares runs of a-z and 0-9, and
short answers are compared as SQuAD does.

Marks are parsed as strictly as in the released QuoteSum scorer: a bracket, a space, a source
number, a space, any text without a square bracket (possibly empty or with newlines), a space, a
bracket. `semqa.quotes` also accepts ``[1 span]``; here that would change the authors' figures. Of
nested marks only the innermost counts, any other bracket inside a span makes the mark invalid, and
invalid marks stay in the text. As in that scorer, a source number is one digit, 1-9; with
``all_sources=True`` it has up to nine digits.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

ARTICLES = frozenset({"a", "an", "the"})
"""Words ignored when quotes are compared."""

_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]+")
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def _byte_table(kept: str, rare: str = "") -> bytes:
    """Return a table that lower-cases letters, keeps digits and `kept`, and marks `rare`."""
    table = bytearray(b" " * 256)
    for char in string.ascii_letters + string.digits + kept:
        table[ord(char)] = ord(char.lower())
    for char in rare:
        table[ord(char)] = _RARE
    return bytes(table)


_RARE = 0x7F
_CONTROLS = "".join(c for c in map(chr, range(128)) if not c.isprintable() and not c.isspace())

# bytes.translate is several times faster than a regular expression.
_ROUGE_BYTES = _byte_table(kept="\n")
_SPAN_BYTES = _byte_table(kept="]", rare=_CONTROLS)


class Overlap(NamedTuple):
    """Agreement of two bags of tokens, each measure in [0, 1]."""

    f1: float
    recall: float
    precision: float


def words_of_spans(spans: Collection[str]) -> list[list[str]]:
    """Return the words of each quoted span, `ARTICLES` included.

    Words are lower-cased and split at ASCII punctuation; other punctuation stays.

    Args:
        spans: at least one span; no span contains a closing bracket.

    Example:
        >>> words_of_spans(["The U.S.A. — it’s a country"])
        [['the', 'u', 's', 'a', '—', 'it’s', 'a', 'country']]
    """
    joined = "]".join(spans)
    if joined.isascii():
        words = joined.encode("ascii").translate(_SPAN_BYTES)
        if _RARE not in words:
            return [line.split() for line in words.decode("ascii").split("]")]
    elif len(spans) > 1:
        return [words_of_spans([span])[0] for span in spans]
    return [_words_of_any(span) for span in spans]


def _words_of_any(span: str) -> list[str]:
    words = []
    for word in _PUNCTUATION.sub(" ", span.lower()).split():
        if word.isalnum():
            words.append(word)
        else:
            words += _ARTICLE.sub(" ", word).split()  # as in "a’s"
    return words


def rouge_tokens(text: str) -> list[str]:
    """Return the tokens for ROUGE: lower-cased runs of a-z and 0-9, not stemmed.

    Source: rouge-score 0.1.2, default tokenizer without a stemmer.

    Example:
        >>> rouge_tokens("Café on 5th Ave.")
        ['caf', 'on', '5th', 'ave']
    """
    return _rouge_words(text).split()


def rouge_lines(text: str) -> list[list[str]]:
    r"""Return the tokens of each line, without lines that have no tokens.

    Example:
        >>> rouge_lines("To be,\n...\nor not.")
        [['to', 'be'], ['or', 'not']]
    """
    return [tokens for line in _rouge_words(text).split("\n") if (tokens := line.split())]


def _rouge_words(text: str) -> str:
    """Lower-case the text and replace all but a-z, 0-9 and newlines with spaces."""
    if not text.isascii():
        text = text.lower()  # a few other letters have an ASCII lower case
    return text.encode("ascii", "replace").translate(_ROUGE_BYTES).decode("ascii")


_ONE_DIGIT = re.compile(r"\[ ([1-9]) ([^\[\]]*) \]")
_ANY_NUMBER = re.compile(r"\[ ([1-9][0-9]{0,8}) ([^\[\]]*) \]")


def split_marks(text: str, *, all_sources: bool = False) -> list[str]:
    """Split a text at its marks.

    Returns:
        Free text, number, span, free text, number, span, …, free text: ``3 * marks + 1`` strings.
    """
    return (_ANY_NUMBER if all_sources else _ONE_DIGIT).split(text)


def strip_marks(text: str) -> str:
    """Replace each mark with its span.

    Example:
        >>> strip_marks("Released in [ 1 May 1942 ], says [2 him].")
        'Released in May 1942, says [2 him].'
    """
    pieces = split_marks(text)
    del pieces[1::3]
    return "".join(pieces)


_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise_answer(text: str) -> str:
    """Lower-case an answer, remove ASCII punctuation and articles, and collapse white space.

    Punctuation is removed, not replaced by a space: ``U.S.`` becomes ``us``, and ``well-known``
    becomes ``wellknown``.

    Example:
        >>> normalise_answer("The  U.S. flag!")
        'us flag'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_ASCII_PUNCTUATION)).split())


def exact_match(a: str, b: str) -> bool:
    """Return whether two normalised answers are equal.

    Example:
        >>> exact_match("The U.S.", "US")
        True
    """
    return normalise_answer(a) == normalise_answer(b)


def token_f1(a: str, b: str) -> float:
    """Return the F1 of two answers as bags of normalised tokens, in [0, 1].

    As in SQuAD 2.0, it is 1 if both answers normalise to nothing, and 0 if only one does.

    Example:
        >>> token_f1("New York City", "in New York")
        0.6666666666666666
    """
    left, right = normalise_answer(a).split(), normalise_answer(b).split()
    if not left or not right:
        return float(left == right)
    return bag_f1(left, right)


def bag_f1(a: Sequence[str], b: Sequence[str]) -> float:
    """Return the F1 of two bags of words, in [0, 1]; 0 if they share no word.

    Example:
        >>> bag_f1(["a", "a", "b"], ["a"])
        0.5
    """
    common = (Counter(a) & Counter(b)).total()
    if not common:
        return 0.0
    precision, recall = common / len(a), common / len(b)
    return 2 * precision * recall / (precision + recall)
