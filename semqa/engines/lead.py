"""The baselines Lead-k and Tail-k: the first or last sentences of every source, quoted.

Source: "SEMQA: Semi-Extractive Multi-Source Question Answering" (Schuster et al. 2024), baselines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from semqa.engines.base import check_request
from semqa.errors import InputError
from semqa.quotes import QuotedAnswer
from semqa.quotes.marks import canonical_mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.quotes import Source

__all__ = ["EdgeEngine"]

_GAP = re.compile(r"(?<=[.!?])\s+")


class EdgeEngine:
    """Quotes `k` sentences of each source, taken from one edge of it.

    Args:
        edge: ``lead`` for the first sentences, ``tail`` for the last.
        k: number of sentences, from 1.

    Raises:
        InputError: `k` is not a whole number from 1.

    Example:
        >>> from semqa.quotes import Source
        >>> EdgeEngine("lead", 1).answer("Who?", [Source("Ann did. Bob slept.")]).marked
        '[ 1 Ann did. ]'
        >>> EdgeEngine("tail", 1).answer("Who?", [Source("Ann did. Bob slept.")]).marked
        '[ 1 Bob slept. ]'
    """

    def __init__(self, edge: Literal["lead", "tail"], k: int) -> None:
        given: object = k
        if isinstance(given, bool) or not isinstance(given, int) or given < 1:
            raise InputError(
                f"{edge}-K: got {k!r}, expected a whole number from 1; write for example {edge}-2"
            )
        self.name = f"{edge}-{k}"
        self._edge = edge
        self._k = k

    def answer(self, question: str, sources: Sequence[Source]) -> QuotedAnswer:
        """Answer one question.

        Square brackets are deleted from the sentences, as in the paper's recipe: such a quote is
        not verbatim and comes out unverified. Blank bodies are passed over.

        Args:
            question: the question; only looked at to see that there is one.
            sources: the passages to answer from; source *k* is ``sources[k - 1]``.

        Raises:
            InputError: the question is blank or there is no source.
        """
        check_request(question, sources)
        spans = [self._span(source.text).replace("[", "").replace("]", "") for source in sources]
        marks = [canonical_mark(k, span) for k, span in enumerate(spans, start=1) if span.strip()]
        return QuotedAnswer.parse(" ".join(marks), sources)

    def _span(self, text: str) -> str:
        """Return the sentences with what stands between them, where the recipe puts a space."""
        gaps = list(_GAP.finditer(text))
        if self._k > len(gaps):
            return text
        if self._edge == "lead":
            return text[: gaps[self._k - 1].start()]
        return text[gaps[-self._k].end() :]
