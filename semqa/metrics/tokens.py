"""Tokens of quotes and of answers, and the overlap of two bags of tokens.

Two tokenizations live here because two scores use them: Sem-F1 and Sem-Rec compare normalised
words in any script, ROUGE compares runs of a-z and 0-9.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["Overlap", "normalise", "normalised_tokens", "rouge_tokens", "token_overlap"]

ARTICLES = frozenset({"a", "an", "the"})
"""The words that do not count when quotes are compared."""

_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]+")
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def _byte_table(kept: str, rare: str = "") -> bytes:
    """Return a table that lower-cases letters and keeps digits; see the uses for the rest."""
    table = bytearray(b" " * 256)
    for char in string.ascii_letters + string.digits + kept:
        table[ord(char)] = ord(char.lower())
    for char in rare:
        table[ord(char)] = _RARE
    return bytes(table)


_RARE = 0x7F
_CONTROLS = "".join(c for c in map(chr, range(128)) if not c.isprintable() and not c.isspace())

# Translating bytes is several times faster than any regular expression.
_ROUGE_BYTES = _byte_table(kept="\n")
_SPAN_BYTES = _byte_table(kept="]", rare=_CONTROLS)


class Overlap(NamedTuple):
    """How two bags of tokens agree; each figure in [0, 1]."""

    f1: float
    recall: float
    precision: float


def normalised_tokens(text: str) -> list[str]:
    """Return the words of a text that count when quotes are compared.

    Lower case; each ASCII punctuation character parts words, other punctuation stays; the words
    *a*, *an*, *the* are dropped.

    Example:
        >>> normalised_tokens("The U.S.A. — it’s a country")
        ['u', 's', '—', 'it’s', 'country']
    """
    return _ARTICLE.sub(" ", _PUNCTUATION.sub(" ", text.lower())).split()


def words_of_spans(spans: Collection[str]) -> list[list[str]]:
    """Return the words of each span, faster than `normalised_tokens`, `ARTICLES` not yet dropped.

    Dropping each word that is an article gives `normalised_tokens` of the span.

    Args:
        spans: at least one; none holds a closing bracket.
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


def normalise(text: str) -> str:
    """Return the normalised tokens, joined by a space.

    Example:
        >>> normalise("The B.B.C.,  in a word")
        'b b c in word'
    """
    return " ".join(normalised_tokens(text))


def rouge_tokens(text: str) -> list[str]:
    """Return the tokens that ROUGE compares: lower-cased runs of a-z and 0-9, not stemmed.

    Source: rouge-score 0.1.2, default tokenizer without a stemmer.

    Example:
        >>> rouge_tokens("Café on 5th Ave.")
        ['caf', 'on', '5th', 'ave']
    """
    return _rouge_words(text).split()


def rouge_lines(text: str) -> list[list[str]]:
    r"""Return the tokens of each line that has any.

    Example:
        >>> rouge_lines("To be,\n...\nor not.")
        [['to', 'be'], ['or', 'not']]
    """
    return [tokens for line in _rouge_words(text).split("\n") if (tokens := line.split())]


def _rouge_words(text: str) -> str:
    """Return the text with a space in place of all but a-z, 0-9 and line ends."""
    if not text.isascii():
        text = text.lower()  # a few other letters have an ASCII lower case
    return text.encode("ascii", "replace").translate(_ROUGE_BYTES).decode("ascii")


def token_overlap(target: Sequence[str], prediction: Sequence[str]) -> Overlap:
    """Compare two bags of tokens; order does not count, repetition does.

    Two empty bags agree fully. Nothing predicted is precise (precision 1), nothing wanted is
    recalled (recall 1), and either has F1 0.

    Example:
        >>> token_overlap(["may", "4", "1990"], ["may", "1990"]).precision
        1.0
    """
    if not target or not prediction:
        return Overlap(
            f1=float(len(target) == len(prediction)),
            recall=float(not target),
            precision=float(not prediction),
        )
    shared = (Counter(target) & Counter(prediction)).total()
    if not shared:
        return Overlap(0.0, 0.0, 0.0)
    recall, precision = shared / len(target), shared / len(prediction)
    return Overlap(2 * precision * recall / (precision + recall), recall, precision)
