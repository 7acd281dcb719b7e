"""The one protocol of everything that answers.

An engine proposes marked text; `QuotedAnswer.parse` alone decides what in it is verified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.quotes import QuotedAnswer, Source

__all__ = ["Engine", "check_request"]


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


def check_request(question: str, sources: Sequence[Source]) -> None:
    """See that there is something to answer, and something to answer from.

    Raises:
        InputError: the question is blank or there is no source.
    """
    if not question.strip():
        raise InputError("the question is blank: got no words, expected a question; write one")
    if not sources:
        raise InputError("no source to answer from: got 0, expected at least 1; give one")
