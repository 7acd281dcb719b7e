"""What the store hands out: plain records, detached from any database."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

__all__ = ["Conversation", "Key", "Message", "Role", "moment"]

Role = Literal["user", "assistant"]
"""Who said it."""


@dataclass(frozen=True, slots=True)
class Key:
    """An API key as the store knows it: its secret is not among that.

    Attributes:
        id: what owns collections and conversations.
        name: for people.
        created: when, in UTC.
        revoked: when it was revoked; None for a key that opens.
    """

    id: str
    name: str
    created: datetime
    revoked: datetime | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    Attributes:
        id: unique among all messages.
        role: who said it.
        content: what was said, JSON-ready; of a user ``{"question": …}``, of an assistant the final
            object of ``POST /v1/answers``.
        created: when, in UTC.
    """

    id: str
    role: Role
    content: dict[str, Any]
    created: datetime

    def to_dict(self) -> dict[str, object]:
        """Return it as a JSON-ready object."""
        return {
            "id": self.id,
            "role": self.role,
            "content": self.content,
            "created": self.created.isoformat(),
        }


@dataclass(frozen=True, slots=True)
class Conversation:
    """Questions and answers that belong together.

    Attributes:
        id: unique among all conversations.
        title: given by its owner, or the beginning of the first question.
        created: when, in UTC.
        updated: when the last message was added, in UTC.
        messages: in order; empty in a list of conversations.
    """

    id: str
    title: str
    created: datetime
    updated: datetime
    messages: tuple[Message, ...] = field(default=())

    def to_dict(self) -> dict[str, object]:
        """Return it as a JSON-ready object, without its messages."""
        return {
            "id": self.id,
            "title": self.title,
            "created": self.created.isoformat(),
            "updated": self.updated.isoformat(),
        }


def moment(microseconds: int) -> datetime:
    """Return a point in time that a table holds.

    Example:
        >>> moment(1_500_000).isoformat()
        '1970-01-01T00:00:01.500000+00:00'
    """
    whole, rest = divmod(microseconds, 1_000_000)
    return datetime.fromtimestamp(whole, UTC).replace(microsecond=rest)
