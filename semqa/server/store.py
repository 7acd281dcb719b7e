"""The store of API keys, conversations and messages, in SQLite (the default) or PostgreSQL.

It does not depend on HTTP, engines or documents.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, Row, text

from semqa.data.files import make_folder
from semqa.errors import InputError, NotFoundError
from semqa.server.database import Database, conversations, keys, messages
from semqa.server.settings import ServerSettings

Role = Literal["user", "assistant"]
"""The speaker of a message."""


@dataclass(frozen=True, slots=True)
class Key:
    """An API key, without its secret; `id` owns the key's collections and conversations."""

    id: str
    name: str
    created: datetime
    revoked: datetime | None


@dataclass(frozen=True, slots=True)
class MessageInfo:
    """A message: `{"question"}` of a user, or the final object of `/v1/answers` of an assistant."""

    id: str
    role: Role
    content: dict[str, Any]
    created: str


@dataclass(frozen=True, slots=True)
class ConversationInfo:
    """A conversation without its messages; times are ISO 8601 in UTC."""

    id: str
    title: str
    created: str
    updated: str


@dataclass(frozen=True, slots=True)
class FullConversation(ConversationInfo):
    """A conversation with its messages in order."""

    messages: list[MessageInfo]


LONGEST_TITLE = 200
"""Maximum length of titles and names; longer ones are cut."""


class Store:
    """Keys, conversations and messages in a database. Blocking and thread-safe.

    Each owner sees only their own conversations. When a method that writes returns, its changes are
    on disk.
    """

    def __init__(self, url: str | Path) -> None:
        """Open a database lazily; call `migrate` before anything else."""
        self._database = Database(url)

    def migrate(self) -> None:
        """Create missing tables, in one transaction, and check the schema version."""
        self._database.migrate()

    def check(self) -> None:
        """Raise if the database is unavailable."""
        with self._database.reading() as connection:
            connection.execute(text("SELECT 1"))

    def close(self) -> None:
        """Close all connections. The store can still be used and reconnects."""
        self._database.close()

    # Keys

    def create_key(self, name: str) -> tuple[str, str]:
        """Create an API key; return its id and its secret, of which only a digest is stored."""
        name = _single_line(name)
        if not name:
            raise InputError("must not be empty.", field="name")
        identifier, secret = _new_id("key"), f"semqa_{secrets.token_urlsafe(32)}"
        row = {"id": identifier, "name": name, "digest": _digest(secret), "created": _now()}
        with self._database.writing() as connection:
            connection.execute(keys.insert().values(**row))
        return identifier, secret

    def keys(self) -> list[Key]:
        """Return all keys, revoked ones included, oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(keys.select().order_by(keys.c.created, keys.c.id)).all()
        return [
            Key(
                row.id,
                row.name,
                _datetime(row.created),
                None if row.revoked is None else _datetime(row.revoked),
            )
            for row in rows
        ]

    def revoke(self, key: str) -> None:
        """Revoke a key. Its collections and conversations remain."""
        where = keys.c.id == _check_id("key", key)
        with self._database.writing() as connection:
            if connection.execute(keys.select().where(where)).first() is None:
                raise _not_found("key", key)
            connection.execute(
                keys.update().where(where, keys.c.revoked.is_(None)).values(revoked=_now())
            )

    def owner_of(self, secret: str) -> str | None:
        """Return the id of the key with a secret; None if it is unknown or revoked."""
        valid = (keys.c.digest == _digest(secret)) & keys.c.revoked.is_(None)
        with self._database.reading() as connection:
            found = connection.execute(keys.select().where(valid)).first()
        return None if found is None else str(found.id)

    # Conversations

    def conversations(
        self, owner: str, limit: int = 500, *, offset: int = 0, title: str = ""
    ) -> list[ConversationInfo]:
        """Return the conversations of an owner, most recently used first.

        Titles must contain `title`, ignoring case. PostgreSQL with the C locale ignores the case of
        ASCII letters only.
        """
        table = conversations
        query = table.select().where(table.c.owner == owner)
        if wanted := _single_line(title):
            query = query.where(table.c.title.icontains(wanted, autoescape=True))
        query = query.order_by(table.c.updated.desc(), table.c.created.desc(), table.c.id)
        with self._database.reading() as connection:
            rows = connection.execute(query.limit(limit).offset(offset)).all()
        return [ConversationInfo(*_fields(row)) for row in rows]

    def create_conversation(self, owner: str, title: str = "") -> ConversationInfo:
        """Create a conversation; the default title is its first question."""
        identifier, title, now = _new_id("conv"), _single_line(title), _now()
        row = {"id": identifier, "owner": owner, "title": title, "created": now, "updated": now}
        with self._database.writing() as connection:
            connection.execute(conversations.insert().values(**row))
        return ConversationInfo(identifier, title, _iso(now), _iso(now))

    def conversation(self, owner: str, conversation: str) -> FullConversation:
        with self._database.reading() as connection:
            row = self._find(connection, owner, conversation)
            inside = messages.c.conversation == row.id
            found = connection.execute(
                messages.select().where(inside).order_by(messages.c.number)
            ).all()
        said = [MessageInfo(m.id, m.role, json.loads(m.content), _iso(m.created)) for m in found]
        return FullConversation(*_fields(row), said)

    def rename(self, owner: str, conversation: str, title: str) -> ConversationInfo:
        with self._database.writing() as connection:
            row = self._find(connection, owner, conversation, lock=True)
            self._change(connection, row, title=_single_line(title))
            return ConversationInfo(*_fields(self._find(connection, owner, conversation)))

    def delete(self, owner: str, conversation: str) -> None:
        with self._database.writing() as connection:
            row = self._find(connection, owner, conversation, lock=True)
            connection.execute(conversations.delete().where(conversations.c.id == row.id))

    def add_message(
        self,
        owner: str,
        conversation: str,
        role: Role,
        content: Mapping[str, Any],
        *,
        replace: str | None = None,
    ) -> MessageInfo:
        """Append a message to a conversation. Its first question becomes the title if it has none.

        An earlier question, `replace`, is deleted with all that follows.
        """
        written, identifier = json.dumps(dict(content), allow_nan=False), _new_id("msg")
        with self._database.writing() as connection:
            found = self._find(connection, owner, conversation, lock=True)
            now = _now()
            changes: dict[str, object] = {"updated": now}
            titled = found.title
            if replace is not None:
                asked, is_first = self._remove_from(connection, found.id, replace)
                titled = "" if is_first and titled == _single_line(asked) else titled
            if not titled and role == "user":
                changes["title"] = _single_line(str(content.get("question", "")))
            self._change(connection, found, **changes)
            row = {"id": identifier, "conversation": found.id, "role": role, "content": written}
            connection.execute(messages.insert().values(**row, created=now))
        return MessageInfo(identifier, role, json.loads(written), _iso(now))

    def _change(self, connection: Connection, conversation: Row[Any], **values: object) -> None:
        table = conversations
        connection.execute(table.update().where(table.c.id == conversation.id).values(**values))

    def _remove_from(
        self, connection: Connection, conversation: str, question: str
    ) -> tuple[str, bool]:
        """Delete a question and all that follows; return its text and whether it was the first."""
        table = messages
        inside = table.c.conversation == conversation
        asked = table.c.id == _check_id("question", question), table.c.role == "user"
        row = connection.execute(table.select().where(inside, *asked)).first()
        if row is None:
            raise _not_found("question", question)
        connection.execute(table.delete().where(inside, table.c.number >= row.number))
        is_first = connection.execute(table.select().where(inside).limit(1)).first() is None
        return str(json.loads(row.content).get("question", "")), is_first

    def _find(
        self, connection: Connection, owner: str, conversation: str, *, lock: bool = False
    ) -> Row[Any]:
        """Return the row of a conversation; `lock` locks it until the end of the transaction."""
        table = conversations
        query = table.select().where(
            table.c.id == _check_id("conversation", conversation), table.c.owner == owner
        )
        row = connection.execute(query.with_for_update() if lock else query).first()
        if row is None:
            raise _not_found("conversation", conversation)
        return row


def _fields(row: Row[Any]) -> tuple[str, str, str, str]:
    return row.id, row.title, _iso(row.created), _iso(row.updated)


def _now() -> int:
    return time.time_ns() // 1000


def _datetime(microseconds: int) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=microseconds)


def _iso(microseconds: int) -> str:
    return _datetime(microseconds).isoformat()


def _new_id(kind: str) -> str:
    return f"{kind}_{secrets.token_hex(12)}"


def _check_id(noun: str, value: str) -> str:
    """Return an id; raise if it is malformed."""
    if re.fullmatch(r"[a-z]+_[0-9a-f]{24}", value) is None:
        raise _not_found(noun, value)
    return value


def _not_found(noun: str, value: str) -> NotFoundError:
    shown = value if len(value) <= 60 else value[:59] + "…"
    hint = "Run semqa keys list to see all keys." if noun == "key" else None
    return NotFoundError(f"{noun.capitalize()} {shown!r} not found.", value=value, hint=hint)


def _digest(secret: str) -> str:
    # Secrets have 256 random bits, so a fast digest without salt is safe, and can be looked up.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _single_line(text: str) -> str:
    r"""Return a text as one line that every database can store.

    Example:
        >>> _single_line(" Who\n sang\x00 it? ")
        'Who sang it?'
    """
    plain = re.sub("[\x00-\x1f\x7f-\x9f\ud800-\udfff\\s]+", " ", text).strip()
    return plain if len(plain) <= LONGEST_TITLE else plain[: LONGEST_TITLE - 1].rstrip() + "…"


def open_store(settings: ServerSettings) -> Store:
    """Open the database of keys and conversations, and migrate it."""
    make_folder(settings.data, private=True)
    store = Store(settings.store)
    store.migrate()
    return store
