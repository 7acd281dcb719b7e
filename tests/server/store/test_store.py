"""Keys, conversations and messages, which only their owner can find."""

from __future__ import annotations

import hashlib
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from semqa.errors import InputError, NotFoundError, UnavailableError
from semqa.server.store import Store

HOSTILE = [
    "", "x", "' OR 1=1 --", "conv_" + "0" * 24, "conv_" + "0" * 23 + "\n", "%", "\0", "\ud800",
    "conv_" + "0" * 24 + "\0", "a" * 100_000, "../../etc/passwd",
]  # fmt: skip


def raw(url: str, statement: str) -> list[tuple[object, ...]]:
    given = make_url(url)
    if given.drivername == "postgresql":
        given = given.set(drivername="postgresql+psycopg")
    engine = create_engine(given)
    try:
        with engine.begin() as connection:
            result = connection.execute(text(statement))
            return [tuple(row) for row in result] if result.returns_rows else []
    finally:
        engine.dispose()


def test_a_conversation_keeps_what_was_said_in_order(store: Store) -> None:
    talk = store.create_conversation("me")
    assert talk.title == ""
    said = [
        ("user", {"question": "Who\n sang  it?"}),
        ("assistant", {"plain": "Bing \0 \ud800 𝒳 <b>", "quotes": [{"start": 1, "x": None}]}),
        ("user", {"question": "And then?"}),
    ]
    for role, content in said:
        message = store.add_message("me", talk.id, role, content)  # type: ignore[arg-type]
        assert message.content == content
    found = store.conversation("me", talk.id)
    assert [(each.role, each.content) for each in found.messages] == said
    assert found.title == "Who sang it?"
    assert talk.created == found.created <= found.messages[0].created
    assert found.updated == found.messages[-1].created
    assert len({each.id for each in found.messages}) == 3


def test_a_question_replaces_an_earlier_one_and_what_follows(store: Store) -> None:
    talk = store.create_conversation("me")
    other = store.create_conversation("me")
    foreign = store.add_message("me", other.id, "user", {"question": "Elsewhere?"})
    first = store.add_message("me", talk.id, "user", {"question": "Who?"})
    store.add_message("me", talk.id, "assistant", {"plain": "Bing."})
    second = store.add_message("me", talk.id, "user", {"question": "When?"})
    answer = store.add_message("me", talk.id, "assistant", {"plain": "In 1942."})

    def asked() -> list[object]:
        return [each.content for each in store.conversation("me", talk.id).messages]

    for wrong in (foreign.id, answer.id, "msg_" + "0" * 24, "\0"):
        with pytest.raises(NotFoundError):
            store.add_message("me", talk.id, "user", {"question": "Why?"}, replace=wrong)
    assert len(asked()) == 4
    store.add_message("me", talk.id, "user", {"question": "Where?"}, replace=second.id)
    assert asked() == [{"question": "Who?"}, {"plain": "Bing."}, {"question": "Where?"}]
    assert store.conversation("me", talk.id).title == "Who?"
    store.add_message("me", talk.id, "user", {"question": "Which?"}, replace=first.id)
    assert asked() == [{"question": "Which?"}]
    # The title follows the first question, unless it was renamed.
    renamed = store.rename("me", talk.id, "Songs")
    (only,) = store.conversation("me", talk.id).messages
    store.add_message("me", talk.id, "user", {"question": "How?"}, replace=only.id)
    assert store.conversation("me", talk.id).title == renamed.title == "Songs"
    assert len(store.conversation("me", other.id).messages) == 1


def test_malformed_ids_are_not_found(store: Store) -> None:
    store.create_conversation("me")
    for given_id in HOSTILE:
        with pytest.raises(NotFoundError, match="not found"):
            store.conversation("me", given_id)
        with pytest.raises(NotFoundError, match="not found"):
            store.revoke(given_id)
        assert store.owner_of(given_id) is None


def test_keys_open_until_they_are_revoked_and_are_not_in_the_database(
    store: Store, url: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="empty"):
        store.create_key(" \n")
    one, secret = store.create_key("laptop\n")
    two, other = store.create_key("laptop")
    assert one != two
    assert secret != other
    assert store.owner_of(secret) == one
    assert store.owner_of(other) == two
    assert store.owner_of(secret[:-1]) is None
    assert store.owner_of(hashlib.sha256(secret.encode()).hexdigest()) is None
    store.revoke(one)
    store.revoke(one)
    assert store.owner_of(secret) is None
    assert store.owner_of(other) == two
    keys = store.keys()
    assert [(each.id, each.name, each.revoked is None) for each in keys] == [
        (one, "laptop", False),
        (two, "laptop", True),
    ]
    assert secret not in str(raw(url, "SELECT * FROM keys"))
    store.close()
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes()


json_texts = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.dictionaries(st.text(), json_texts, max_size=4), title=st.text())
def test_messages_round_trip(store: Store, content: dict[str, object], title: str) -> None:
    talk = store.create_conversation("me", title)
    store.add_message("me", talk.id, "user", content)
    found = store.conversation("me", talk.id)
    assert found.messages[0].content == content
    assert len(found.title) <= 200
    assert found.title == " ".join(found.title.split())
    store.delete("me", talk.id)


def test_many_threads_lose_nothing(store: Store) -> None:
    talk = store.create_conversation("me")

    def say(number: int) -> str:
        return store.add_message("me", talk.id, "user", {"question": str(number)}).id

    with ThreadPoolExecutor(16) as pool:
        said = list(pool.map(say, range(200)))
    found = store.conversation("me", talk.id).messages
    assert sorted(each.id for each in found) == sorted(said)
    assert [each.created for each in found] == sorted(each.created for each in found)


def test_adding_to_a_deleted_conversation_fails(store: Store) -> None:
    for _ in range(20):
        talk = store.create_conversation("me")
        start = threading.Barrier(2)

        def add(start: threading.Barrier = start, talk_id: str = talk.id) -> bool:
            start.wait()
            try:
                store.add_message("me", talk_id, "user", {"question": "?"})
            except NotFoundError:
                return False
            return True

        with ThreadPoolExecutor(1) as pool:
            adding = pool.submit(add)
            start.wait()
            store.delete("me", talk.id)
            adding.result()
        assert store.conversations("me") == []


def test_a_database_is_migrated_once_by_many_at_once(url: str) -> None:
    stores = [Store(url) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(Store.migrate, stores))
    talk = stores[0].create_conversation("me", "one")
    stores[1].migrate()
    assert [each.id for each in stores[2].conversations("me")] == [talk.id]
    for each in stores:
        each.close()


@pytest.mark.parametrize("version", [0, 9])
def test_a_database_of_another_version_is_left_alone(store: Store, url: str, version: int) -> None:
    raw(url, f"UPDATE semqa_schema SET version = {version}")
    with pytest.raises(InputError, match=f"schema version {version}, but this semqa needs 1"):
        store.migrate()
    assert raw(url, "SELECT version FROM semqa_schema") == [(version,)]


def test_sqlite_is_private_and_writes_ahead(tmp_path: Path) -> None:
    path = tmp_path / "a b%20c?d" / "semqa.sqlite"
    url = f"sqlite:///{quote(str(path))}"
    store = Store(url)
    store.migrate()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert raw(url, "PRAGMA journal_mode") == [("wal",)]
    store.check()
    store.close()


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:secret@h/d",
        "nothing",
        "sqlite://",
        "sqlite:///:memory:",
        "postgresql://u:secret@h:port/d",
    ],
)
def test_invalid_urls_are_refused(url: str) -> None:
    with pytest.raises(InputError) as caught:
        Store(url)
    assert caught.value.field == "database"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["postgresql://me:secret@127.0.0.1:1/none", "sqlite:////proc/none/semqa.sqlite"]
)
def test_connection_errors_hide_the_password(url: str) -> None:
    store = Store(url)
    with pytest.raises(UnavailableError) as caught:
        store.migrate()
    assert "secret" not in str(caught.value)
    with pytest.raises(UnavailableError):
        store.check()


def test_deleting_takes_the_messages_along(store: Store, url: str) -> None:
    kept, gone = store.create_conversation("me"), store.create_conversation("me")
    for talk in (kept, gone):
        store.add_message("me", talk.id, "user", {"question": "?"})
    store.delete("me", gone.id)
    assert raw(url, "SELECT conversation FROM messages") == [(kept.id,)]
