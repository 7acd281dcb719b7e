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


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(sys.modules["semqa.decoding.warm_up"], "PATIENCE", 0.05)


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize(
    ("work", "said"), [(lambda: time.sleep(0.2), 1), (lambda: None, 0)], ids=["slow", "quick"]
)
def test_a_message_comes_only_if_it_takes_long(
    work: Callable[[], None], said: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "entries", work)
    monkeypatch.setattr(compiled, "is_compiled", lambda: False)
    heard: list[str] = []
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
        time.sleep(0.2)
        return original()

    monkeypatch.setattr(compiled, "is_compiled", lambda: False)
    monkeypatch.setattr(compiled, "entries", slow)
    CopyConstraint(byte_vocabulary(), [Source("a")])
    assert [record.getMessage() for record in caplog.records] == [
        "Compiling the copy constraint (once for this installation, up to a minute) …"
    ]
