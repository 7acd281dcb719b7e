"""Real databases: SQLite in a file, and a PostgreSQL server started for the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from semqa.server.store import Store

POSTGRESQL = next(
    iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)), None
) or (Path(found) if (found := shutil.which("initdb")) else None)

Urls = Callable[[], str]


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Urls]:
    """A PostgreSQL server on a socket; each call empties its database and returns the URL."""
    if POSTGRESQL is None:
        missing = "needs PostgreSQL: no initdb is installed (apt-get install postgresql)"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    import psycopg

    binaries = POSTGRESQL.parent
    # The path of the socket must be short; the server does not run as root and needs its own folder.
    folder = Path(tempfile.mkdtemp(prefix="semqa-pg-"))
    user: int | None = None
    if os.geteuid() == 0:
        user = next(
            (pwd.getpwnam(name).pw_uid for name in ("postgres", "nobody") if _known(name)), None
        )
        if user is None:
            pytest.skip(
                "needs a user that PostgreSQL can run as: there is neither postgres nor nobody"
            )
        os.chown(folder, user, -1)
    folder.chmod(0o700)

    def run(*command: str) -> None:
        subprocess.run(
            [str(binaries / command[0]), *command[1:]],
            check=True, user=user, cwd=folder, capture_output=True, timeout=120,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        )  # fmt: skip

    data = str(folder / "data")
    run("initdb", "-D", data, "-A", "trust", "-U", "semqa", "-E", "UTF8", "--no-sync")
    # What these tests kill are clients; nothing of the server outlives the session.
    options = f"-k {folder} -c listen_addresses='' -c max_connections=120 -c fsync=off"
    run("pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
    run("createdb", "-h", str(folder), "-U", "semqa", "tests")

    def fresh() -> str:
        # Emptying one database is quicker than making many, and than deleting them.
        with psycopg.connect(f"host={folder} user=semqa dbname=tests", autocommit=True) as server:
            server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = 'tests' AND pid <> pg_backend_pid()"
            )
            server.execute("DROP SCHEMA public CASCADE")
            server.execute("CREATE SCHEMA public")
        return f"postgresql://semqa@/tests?host={folder}"

    yield fresh
    run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    shutil.rmtree(folder)


def _known(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'new' / 'semqa.sqlite'}"
    fresh: Urls = request.getfixturevalue("postgresql")
    return fresh()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    opened = Store(url)
    opened.migrate()
    yield opened
    opened.close()
