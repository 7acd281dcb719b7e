"""A marked text as the scores see it: read in one pass, and encoded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.metrics.marks import split_marks
from semqa.metrics.rouge import RougeText
from semqa.metrics.tokens import words_of_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from semqa.metrics.lcs import Vocabulary

__all__ = ["MarkedText", "bags_of_quotes"]


class MarkedText:
    """A marked text, encoded in the vocabulary of its question.

    Args:
        text: an answer with marks.
        vocabulary: of the question.
        learn: whether the vocabulary learns the text, as for a reference, or only finds what it
            knows, as for a prediction.
        all_sources: read source numbers of more than one digit too.

    Attributes:
        rouge: the text without marks.
        bags: for each source quoted, the bag of the words of its spans.
    """

    __slots__ = ("bags", "rouge")

    def __init__(
        self, text: str, vocabulary: Vocabulary, *, learn: bool = False, all_sources: bool = False
    ) -> None:
        pieces = split_marks(text, all_sources=all_sources)
        self.bags = _bags(pieces, vocabulary.learn_bag if learn else vocabulary.encode_bag)
        del pieces[1::3]
        encode = vocabulary.learn if learn else vocabulary.encode
        self.rouge = RougeText.read("".join(pieces), encode)


def bags_of_quotes(
    text: str, vocabulary: Vocabulary, *, learn: bool = False, all_sources: bool = False
) -> dict[int, str]:
    """Return `MarkedText.bags` alone; the arguments are the same."""
    pieces = split_marks(text, all_sources=all_sources)
    return _bags(pieces, vocabulary.learn_bag if learn else vocabulary.encode_bag)


def _bags(pieces: list[str], encode_bag: Callable[[Iterable[str]], str]) -> dict[int, str]:
    if len(pieces) == 1:
        return {}
    words_by_source: dict[int, list[str]] = {}
    for number, words in zip(pieces[1::3], words_of_spans(pieces[2::3]), strict=True):
        words_by_source.setdefault(int(number), []).extend(words)
    return {source: encode_bag(words) for source, words in words_by_source.items()}
