"""The tables of the store, and connections to SQLite or PostgreSQL.

Times are microseconds since 1970 in UTC, because SQLite has no time zones. Message contents are
JSON in ASCII, because PostgreSQL cannot store NUL characters in text, and neither database can
store lone surrogates.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Semaphore
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    create_engine,
    event,
    text,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from semqa.data.files import use_write_ahead_log
from semqa.errors import InputError, UnavailableError
from semqa.extras import require

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
        "number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True
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


VERSION = 1
"""Schema version. Increase it with each change, and convert older schemas in `Database.migrate`."""

schema = Table("semqa_schema", metadata, Column("version", Integer, primary_key=True))

_WAIT_SECONDS = 30.0
"""How long a write waits for others, and an SQLite connection for a lock."""

_POOLED, _CONNECTIONS = 8, 32
"""Number of connections kept open, and their maximum number."""

_POSTGRESQL = ("postgres", "postgresql", "postgresql+psycopg")
_LOCK = 0x73656D7161
"""Key of the advisory lock for changing tables (the letters ``semqa``)."""


class Database:
    """A pool of connections to a database. Thread-safe."""

    def __init__(self, url: str | Path) -> None:
        """Connect lazily: nothing is opened before the first use."""
        # SQLite gives some relative file names, such as ":memory:", a special meaning.
        self._url = (
            URL.create("sqlite", database=str(url.absolute()))
            if isinstance(url, Path)
            else _parse_url(url)
        )
        self.name = self._url.render_as_string(hide_password=True)
        self._sqlite = self._url.drivername == "sqlite"
        # SQLite has one writer at a time, and no queue: with many of them, one may wait for ever.
        self._writers = Semaphore(1 if self._sqlite else _CONNECTIONS)
        self._engine = self._sqlite_engine() if self._sqlite else self._postgresql_engine()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection in a read transaction, which sees one snapshot of the database."""
        with self._translating_errors(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection in a write transaction.

        When the block ends, its changes are committed and on disk.
        """
        engine = self._engine.execution_options(semqa_writes=True)
        if not self._writers.acquire(timeout=_WAIT_SECONDS):
            raise UnavailableError(f"The database {self.name} is busy. Try again.")
        try:
            with self._translating_errors(), engine.begin() as connection:
                yield connection
        finally:
            self._writers.release()

    def migrate(self) -> None:
        """Create missing tables of the store, and check the schema version."""
        with self._changing_tables() as connection:
            schema.create(connection, checkfirst=True)
            found = connection.execute(schema.select()).scalar()
            if found is None:
                connection.execute(schema.insert().values(version=VERSION))
            elif found != VERSION:
                raise InputError(
                    f"The database {self.name} has schema version {found}, but this semqa needs "
                    f"{VERSION}. Update semqa or use another database."
                )
            metadata.create_all(connection)

    def create(self, tables: MetaData) -> None:
        """Create the missing tables of another schema."""
        with self._changing_tables() as connection:
            tables.create_all(connection)

    @contextmanager
    def _changing_tables(self) -> Iterator[Connection]:
        """Yield a connection in a transaction that changes tables, one process at a time."""
        if self._sqlite:
            self._create_file()
        with self.writing() as connection:
            if not self._sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            yield connection

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _translating_errors(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            # Use the driver's message: SQLAlchemy's message contains the parameters.
            message = " ".join(str(error.orig).split())
            raise UnavailableError(f"The database {self.name} failed: {message}") from error
        except SQLAlchemyError as error:
            raise UnavailableError(
                f"The database {self.name} is unavailable ({type(error).__name__}). Try again."
            ) from error

    def _create_file(self) -> None:
        """Create an empty file that only its owner can read, because questions are private."""
        path = Path(self._url.database or "")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise UnavailableError(
                f"The database {path} cannot be opened: {error.strerror}."
            ) from error

    def _sqlite_engine(self) -> Engine:
        engine = create_engine(
            self._url,
            poolclass=QueuePool,
            pool_size=_POOLED,
            max_overflow=_CONNECTIONS - _POOLED,
            connect_args={"timeout": _WAIT_SECONDS, "check_same_thread": False},
            hide_parameters=True,
        )

        @event.listens_for(engine, "connect")
        def prepare(connection: Any, _: object) -> None:
            # `begin` starts transactions: the driver's own do not cover changes of tables.
            connection.isolation_level = None
            use_write_ahead_log(connection, _WAIT_SECONDS)
            for pragma in ("synchronous=FULL", "foreign_keys=ON"):
                connection.execute(f"PRAGMA {pragma}")
            # The built-in function only supports ASCII.
            connection.create_function("lower", 1, _lower, deterministic=True)

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            # Write transactions take the write lock at once: two read transactions that both
            # upgraded to write transactions would conflict.
            writes = connection.get_execution_options().get("semqa_writes")
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

        return engine

    def _postgresql_engine(self) -> Engine:
        require("psycopg", extra="serve", purpose=f"the database {self.name}")
        return create_engine(
            self._url,
            pool_size=_POOLED,
            max_overflow=_CONNECTIONS - _POOLED,
            pool_pre_ping=True,
            connect_args={"connect_timeout": 10},
            hide_parameters=True,
        )


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _parse_url(url: str) -> URL:
    rule = "must be sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        kind = url.partition(":")[0]  # the rest may contain a password
        raise InputError(f"{rule}, got {kind!r}:…", field="database") from error
    if parsed.drivername in _POSTGRESQL:
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise InputError(f"{rule}, got {parsed.drivername!r}.", field="database")
    if parsed.database in (None, "", ":memory:"):
        raise InputError(f"{rule}, got {url!r}.", field="database")
    return parsed.set(drivername="sqlite")
