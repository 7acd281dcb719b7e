"""The one protocol of everything that answers.

An engine proposes marked text; `QuotedAnswer.parse` alone decides what in it is verified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.quotes import QuotedAnswer, Source

__all__ = ["Engine"]


class Engine(Protocol):
    """Answers questions over given sources.

    Attributes:
        name: the specification that creates this engine again, such as ``lead-2``.
    """

    name: str

    def answer(self, question: str, sources: Sequence[Source]) -> QuotedAnswer:
        """Answer one question.

        Args:
            question: the question, in words.
            sources: the passages to answer from; source *k* is ``sources[k - 1]``.

        Raises:
            InputError: the question is blank or there is no source.
        """
        ...
