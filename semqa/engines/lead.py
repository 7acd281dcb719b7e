"""The baselines Lead-k and Tail-k: the first or last sentences of every source, quoted.

Source: "SEMQA: Semi-Extractive Multi-Source Question Answering" (Schuster et al. 2024), baselines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from semqa.errors import InputError
from semqa.quotes import QuotedAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.quotes import Source

__all__ = ["LeadEngine", "TailEngine"]

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


class _EdgeEngine:
    """Quotes `k` sentences of each source, taken from one edge."""

    _edge = ""

    def __init__(self, k: int) -> None:
        given: object = k
        if isinstance(given, bool) or not isinstance(given, int) or given < 1:
            raise InputError(
                f"{self._edge}-K: got {k!r}, expected a whole number from 1; "
                f"write for example {self._edge}-2"
            )
        self.k = k
        self.name = f"{self._edge}-{k}"

    def answer(self, question: str, sources: Sequence[Source]) -> QuotedAnswer:
        """Answer one question.

        Args:
            question: the question; only looked at to see that there is one.
            sources: the passages to answer from; source *k* is ``sources[k - 1]``.

        Raises:
            InputError: the question is blank or there is no source.
        """
        return QuotedAnswer.parse(self.write(question, sources), sources)

    def write(self, question: str, sources: Sequence[Source]) -> str:
        """Return the answer as marked text.

        Square brackets are deleted from the sentences, as in the paper's recipe: such a quote is
        not verbatim and comes out unverified. Empty bodies are passed over.

        Raises:
            InputError: as `answer`.
        """
        if not question.strip():
            raise InputError("the question is blank: got no words, expected a question; write one")
        if not sources:
            raise InputError("no source to answer from: got 0, expected at least 1; give one")
        marks = []
        for number, source in enumerate(sources, start=1):
            if not source.text:
                continue
            kept = self._keep(_SENTENCE_END.split(source.text))
            text = " ".join(kept).replace("[", "").replace("]", "")
            marks.append(f"[ {number} {text} ]")
        return " ".join(marks)

    def _keep(self, sentences: list[str]) -> list[str]:
        raise NotImplementedError


class LeadEngine(_EdgeEngine):
    """Quotes the first `k` sentences of each source.

    Args:
        k: number of sentences, from 1.

    Raises:
        InputError: `k` is not a whole number from 1.

    Example:
        >>> from semqa.quotes import Source
        >>> LeadEngine(1).answer("Who?", [Source("Ann did. Bob slept.")]).marked
        '[ 1 Ann did. ]'
    """

    _edge = "lead"

    def _keep(self, sentences: list[str]) -> list[str]:
        return sentences[: self.k]


class TailEngine(_EdgeEngine):
    """Quotes the last `k` sentences of each source.

    Args:
        k: number of sentences, from 1.

    Raises:
        InputError: `k` is not a whole number from 1.

    Example:
        >>> from semqa.quotes import Source
        >>> TailEngine(1).answer("Who?", [Source("Ann did. Bob slept.")]).marked
        '[ 1 Bob slept. ]'
    """

    _edge = "tail"

    def _keep(self, sentences: list[str]) -> list[str]:
        return sentences[-self.k :]
