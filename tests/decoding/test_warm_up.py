"""A message is shown only if compiling takes long."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from semqa import Source
from semqa.decoding import CopyConstraint
from semqa.decoding import warm_up as warm_up_function
from semqa.decoding.automaton import entries as compiled
from tests.decoding.vocabularies import byte_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable


def wait_until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not done() and time.monotonic() < end:
        time.sleep(0.01)


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(sys.modules["semqa.decoding.warming"], "PATIENCE", 0.05)


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize("said", [1, 0], ids=["slow", "quick"])
def test_a_message_comes_only_if_it_takes_long(said: int, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    monkeypatch.setattr(compiled, "entries", lambda: wait_until(lambda: len(heard) >= said))
    monkeypatch.setattr(compiled, "is_compiled", lambda: False)
    warm_up_function(heard.append)
    time.sleep(0.1)
    assert len(heard) == said
    assert all("Compiling" in message for message in heard)


@pytest.mark.usefixtures("patience")
def test_without_a_callback_it_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    original = compiled.entries

    def slow() -> compiled.Entries:
        wait_until(lambda: bool(caplog.records))
        return original()

    monkeypatch.setattr(compiled, "is_compiled", lambda: False)
    monkeypatch.setattr(compiled, "entries", slow)
    CopyConstraint(byte_vocabulary(), [Source("a")])
    assert [record.getMessage() for record in caplog.records] == [
        "Compiling the copy constraint (once for this installation, up to a minute) …"
    ]
