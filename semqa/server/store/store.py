"""The store: everything about keys and conversations that outlives a request.

Knows nothing of HTTP, engines or documents.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from semqa.errors import InputError, NotFoundError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sqlalchemy import Connection, Row

    from semqa.server.settings import ServerSettings


Role = Literal["user", "assistant"]
"""The speaker of a message."""


@dataclass(frozen=True, slots=True)
class Key:
    """An API key as the store knows it: its secret is not among that.

    Attributes:
        id: what owns collections and conversations.
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
        content: what was said, JSON-ready; of a user ``{"question": …}``, of an assistant the final
            object of ``POST /v1/answers``.
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


LONGEST_TITLE = 200
"""Longer titles and names are cut there."""


class Store:
    """Keys, conversations and messages in a database. Blocking; thread-safe.

    An owner sees what is theirs; what belongs to another does not exist for them. When a
    method that writes returns, what it wrote is on the disk.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> store = Store(f"sqlite:///{folder.name}/semqa.sqlite")
        >>> store.migrate()
        >>> talk = store.create_conversation("")
        >>> message = store.add_message("", talk.id, "user", {"question": "Who sang it?"})
        >>> [each.title for each in store.conversations("")]
        ['Who sang it?']
        >>> store.close()
        >>> folder.cleanup()
    """

    def __init__(self, url: str | Path) -> None:
        """Take note of a database; call `migrate` before anything else.

        Args:
            url: such as ``sqlite:////var/lib/semqa/semqa.sqlite`` or
                ``postgresql://user:password@host/name``, or the file of SQLite.
        """
        require("sqlalchemy", extra="serve", purpose="the store of conversations")
        from semqa.server.store import database

        self._tables = database
        self._database = database.Database(url)

    def migrate(self) -> None:
        """Bring the tables up to date; nothing is lost if this is cut off."""
        self._database.migrate()

    def check(self) -> None:
        """Raise if the database does not answer."""
        from sqlalchemy import text

        with self._database.reading() as connection:
            connection.execute(text("SELECT 1"))

    def close(self) -> None:
        """Close connections; the store can be used again."""
        self._database.close()

    # Keys

    def create_key(self, name: str) -> tuple[str, str]:
        """Create an API key with a name for people.

        Returns:
            Its id, and its secret, which is shown this once: the database has its digest only.
        """
        if not _line(name):
            raise InputError("must not be empty.", field="name", value=name)
        identifier, secret = _new_id("key"), f"semqa_{secrets.token_urlsafe(32)}"
        with self._database.writing() as connection:
            connection.execute(
                self._tables.keys.insert().values(
                    id=identifier, name=_line(name), digest=_digest(secret), created=_now()
                )
            )
        return identifier, secret

    def keys(self) -> list[Key]:
        """Return all keys, oldest first; those that were revoked say so."""
        table = self._tables.keys
        with self._database.reading() as connection:
            rows = connection.execute(table.select().order_by(table.c.created, table.c.id)).all()
        return [
            Key(
                row.id,
                row.name,
                moment(row.created),
                None if row.revoked is None else moment(row.revoked),
            )
            for row in rows
        ]

    def revoke(self, key: str) -> None:
        """Revoke a key: it opens nothing from now on. What it owns stays."""
        table = self._tables.keys
        where = table.c.id == _known_id("key", key)
        with self._database.writing() as connection:
            if connection.execute(table.select().where(where)).first() is None:
                raise _missing("key", key)
            connection.execute(
                table.update().where(where, table.c.revoked.is_(None)).values(revoked=_now())
            )

    def owner_of(self, secret: str) -> str | None:
        """Return the id of the key with a secret; None if it is unknown or revoked."""
        table = self._tables.keys
        with self._database.reading() as connection:
            found = connection.execute(
                table.select().where(table.c.digest == _digest(secret), table.c.revoked.is_(None))
            ).first()
        return None if found is None else str(found.id)

    # Conversations

    def conversations(
        self, owner: str, limit: int = 500, *, offset: int = 0, title: str = ""
    ) -> list[Conversation]:
        """Return conversations of an owner without their messages, last used first.

        Args:
            title: what their titles hold, whatever its case (of the letters that the database knows: a
                PostgreSQL of locale C knows those of ASCII).
        """
        table = self._tables.conversations
        query = table.select().where(table.c.owner == owner)
        if wanted := _line(title):
            query = query.where(table.c.title.icontains(wanted, autoescape=True))
        query = query.order_by(table.c.updated.desc(), table.c.created.desc(), table.c.id)
        with self._database.reading() as connection:
            rows = connection.execute(query.limit(limit).offset(offset)).all()
        return [_conversation(row) for row in rows]

    def create_conversation(self, owner: str, title: str = "") -> Conversation:
        """Begin a conversation; without a title it takes that of its first question."""
        now = _now()
        row = {"id": _new_id("conv"), "owner": owner, "title": _line(title)}
        with self._database.writing() as connection:
            connection.execute(
                self._tables.conversations.insert().values(**row, created=now, updated=now)
            )
        return Conversation(row["id"], row["title"], moment(now), moment(now))

    def conversation(self, owner: str, conversation: str) -> Conversation:
        """Return a conversation with its messages."""
        table = self._tables.messages
        with self._database.reading() as connection:
            row = self._find(connection, owner, conversation)
            found = connection.execute(
                table.select().where(table.c.conversation == row.id).order_by(table.c.number)
            ).all()
        messages = tuple(
            Message(each.id, each.role, json.loads(each.content), moment(each.created))
            for each in found
        )
        return _conversation(row, messages)

    def rename(self, owner: str, conversation: str, title: str) -> Conversation:
        """Give a conversation another title, and return it without its messages."""
        table = self._tables.conversations
        with self._database.writing() as connection:
            row = self._find(connection, owner, conversation, held=True)
            connection.execute(
                table.update().where(table.c.id == row.id).values(title=_line(title))
            )
            return _conversation(self._find(connection, owner, conversation))

    def delete(self, owner: str, conversation: str) -> None:
        """Delete a conversation and its messages."""
        table = self._tables.conversations
        with self._database.writing() as connection:
            row = self._find(connection, owner, conversation, held=True)
            connection.execute(table.delete().where(table.c.id == row.id))

    def add_message(
        self, owner: str, conversation: str, role: Role, content: Mapping[str, Any]
    ) -> Message:
        """Add a message at the end of a conversation.

        A conversation without a title takes the question of its first message of a user.
        """
        if role not in get_args(Role):
            raise InputError(
                f"must be one of {', '.join(get_args(Role))}, got {role!r}.", field="role"
            )
        try:
            written = json.dumps(dict(content), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InputError(f"must be JSON: {error}.", field="content") from error
        identifier = _new_id("msg")
        table = self._tables.conversations
        with self._database.writing() as connection:
            found = self._find(connection, owner, conversation, held=True)
            now = _now()
            changes: dict[str, object] = {"updated": now}
            if not found.title and role == "user":
                changes["title"] = _line(str(content.get("question", "")))
            connection.execute(table.update().where(table.c.id == found.id).values(**changes))
            connection.execute(
                self._tables.messages.insert().values(
                    id=identifier, conversation=found.id, role=role, content=written, created=now
                )
            )
        return Message(identifier, role, json.loads(written), moment(now))

    def _find(
        self, connection: Connection, owner: str, conversation: str, *, held: bool = False
    ) -> Row[Any]:
        """Find a conversation; if it is held, locked until the end of the transaction."""
        table = self._tables.conversations
        query = table.select().where(
            table.c.id == _known_id("conversation", conversation), table.c.owner == owner
        )
        row = connection.execute(query.with_for_update() if held else query).first()
        if row is None:
            raise _missing("conversation", conversation)
        return row


def _conversation(row: Row[Any], messages: tuple[Message, ...] = ()) -> Conversation:
    return Conversation(row.id, row.title, moment(row.created), moment(row.updated), messages)


def _now() -> int:
    return time.time_ns() // 1000


def _new_id(kind: str) -> str:
    return f"{kind}_{secrets.token_hex(12)}"


def _known_id(noun: str, given: str) -> str:
    """Return an id that can be looked up; anything else is an id that nothing has."""
    if re.fullmatch(r"[a-z]+_[0-9a-f]{24}", given) is None:
        raise _missing(noun, given)
    return given


def _missing(noun: str, given: str) -> NotFoundError:
    shown = given if len(given) <= 60 else given[:59] + "…"
    hint = "semqa keys list shows what there is." if noun == "key" else None
    return NotFoundError(f"{noun.capitalize()} {shown!r} not found.", value=given, hint=hint)


def _digest(secret: str) -> str:
    # Secrets have 256 random bits: a fast digest is as safe as a slow one, and can be looked up.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _line(text: str) -> str:
    r"""Return a text as one line that every database keeps.

    Example:
        >>> _line(" Who\n sang\x00 it? ")
        'Who sang it?'
    """
    plain = re.sub("[\x00-\x1f\x7f-\x9f\ud800-\udfff\\s]+", " ", text).strip()
    return plain if len(plain) <= LONGEST_TITLE else plain[: LONGEST_TITLE - 1].rstrip() + "…"


def open_store(settings: ServerSettings) -> Store:
    """Open the database of keys and conversations, and bring its tables up to date."""
    make_folder(settings.data)
    store = Store(settings.store)
    store.migrate()
    return store


def make_folder(folder: Path) -> None:
    """Make a folder to keep data in."""
    try:
        # Conversations are private, also on a shared machine.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be made: {error.strerror or error}. Choose another --data."
        ) from error
