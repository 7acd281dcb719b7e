"""A response and the knowledge that it should be grounded in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Response", "repeated"]


@dataclass(frozen=True, slots=True)
class Response:
    """One response of one system.

    Attributes:
        id: names it among those that are scored together.
        text: the response.
        knowledge: what it was given to say.
        inconsistent: what people found; None where nobody looked.
        system: who wrote it; None where that is not said.
        context: the id of what it responds to, where several systems respond to the same.
        where: ``file:line``, for messages.
        scores: scores that stood beside it, by the name of their column.
    """

    id: str
    text: str
    knowledge: str
    inconsistent: bool | None = None
    system: str | None = None
    context: str | None = None
    where: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)


def repeated(responses: Iterable[Response]) -> list[Response]:
    """Return those whose system, text and knowledge have all been there before.

    Example:
        >>> [r.id for r in repeated([Response("1", "yes", "k"), Response("2", "yes", "k")])]
        ['2']
    """
    seen: set[tuple[str | None, str, str]] = set()
    found = []
    for response in responses:
        key = (response.system, response.text, response.knowledge)
        if key in seen:
            found.append(response)
        seen.add(key)
    return found
