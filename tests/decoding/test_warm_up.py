"""Compiling is announced when it takes long, and only then."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from semqa.decoding import warm_up as warm_up_function
from semqa.decoding.core import entries as compiled

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(sys.modules["semqa.decoding.warm_up"], "PATIENCE", 0.05)


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize(
    ("work", "said"), [(lambda: time.sleep(0.5), 1), (lambda: None, 0)], ids=["slow", "quick"]
)
def test_it_speaks_only_when_it_takes_long(
    work: Callable[[], None], said: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "entries", work)
    heard: list[str] = []
    warm_up_function(heard.append)
    time.sleep(0.1)
    assert len(heard) == said
    assert all("Compiling" in message for message in heard)
