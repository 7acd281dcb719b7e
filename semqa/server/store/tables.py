"""The tables, as the newest migration leaves them; a test holds the two equal.

Times are microseconds since 1970 in UTC, for SQLite keeps no time zones. Contents are JSON in ASCII:
PostgreSQL keeps no NUL in text, and neither database keeps half a surrogate pair.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, MetaData, Table, Text

__all__ = ["conversations", "keys", "messages", "metadata"]

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

keys = Table(
    "keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("digest", Text, nullable=False, unique=True),
    Column("created", BigInteger, nullable=False),
    Column("revoked", BigInteger),
)

conversations = Table(
    "conversations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("updated", BigInteger, nullable=False),
    Index("ix_conversations_owner_updated", "owner", "updated"),
)

messages = Table(
    "messages",
    metadata,
    Column(
        "number",
        BigInteger().with_variant(Integer, "sqlite"),
        primary_key=True,
        autoincrement=True,
    ),
    Column("id", Text, nullable=False, unique=True),
    Column(
        "conversation",
        Text,
        ForeignKey("conversations.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("role", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
)
