"""A disk that is full: whoever sends something is told so, in the words of no library."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

import pytest

from semqa.errors import InputError, UnavailableError
from semqa.server.errors import as_error
from semqa.server.store import Store
from tests.server.serving import client
from tests.server.stand_ins import Conversation, Written
from tests.server.stand_ins import Store as Kept


def test_a_database_without_room_is_told(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'semqa.sqlite'}")
    store.migrate()
    talk = store.create_conversation("")
    store.add_message("", talk.id, "user", {"question": "Who?"})
    with store._database.writing() as connection:
        (pages,) = connection.exec_driver_sql("PRAGMA page_count").one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(UnavailableError) as caught:
        store.add_message("", talk.id, "assistant", {"plain": "x" * 100_000})
    assert as_error(caught.value)[0] == 507
    # What was there still is.
    assert [each.role for each in store.conversation("", talk.id).messages] == ["user"]
    store.close()


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 507),
        (
            UnavailableError("failed: got 'LanceError(IO): No space left on device (os error 28)'"),
            507,
        ),
        (UnavailableError("got 'database or disk is full'"), 507),
        (UnavailableError("got 'database is locked'"), 503),
        (UnavailableError("the endpoint refused: got 'quota exceeded', expected an answer"), 503),
        (InputError("engine: got 'disk is full', expected one of extractive; choose one"), 400),
    ],
)
def test_statuses(error: Exception, status: int) -> None:
    told = as_error(error)
    assert told[0] == status
    if status == 507:
        assert "No room is left" in told[1]
        assert "Error" not in told[1]


def test_an_answer_that_cannot_be_kept_is_told() -> None:
    store = Kept()
    conversation = store.kept["", "c"] = Conversation()

    def full() -> None:
        if conversation.messages:
            raise UnavailableError("the database: got 'database or disk is full', expected room")

    store.before_add = full
    body = {"question": "When?", "sources": [{"text": "In 1932."}], "conversation": "c"}
    with client(Written("[ 1 1932 ]"), store=store) as server:
        assert server.post("/v1/answers", json=body).status_code == 507
        streamed = server.post("/v1/answers", json={**body, "stream": True})
        assert streamed.status_code == 507
        conversation.messages.clear()
        streamed = server.post("/v1/answers", json={**body, "stream": True})
        assert "event: error" in streamed.text
        assert "event: done" not in streamed.text
        assert "No room is left" in streamed.text


def test_an_upload_that_has_no_room_on_its_way_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "write", full)
    with client() as server:
        reply = server.post("/v1/collections/c/documents", files={"file": ("a.txt", b"text")})
        assert reply.status_code == 507
        assert "No room is left" in reply.json()["error"]["message"]
