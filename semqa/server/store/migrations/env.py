"""What Alembic runs to bring a database up to date, over the connection that the store gives it."""

from __future__ import annotations

from alembic import context

from semqa.server.store.database import metadata


def migrate() -> None:
    """Run the steps that are missing, within the transaction of the connection given.

    Both databases can undo changes of tables, SQLite too: a migration that is cut off leaves the
    database as it was.
    """
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()


if __name__ == "env_py":  # the name under which Alembic runs this file
    migrate()
