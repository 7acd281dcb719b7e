"""What the first upload would wait for is loaded while the server is up already."""

from __future__ import annotations

import threading

import pytest

from semqa.errors import UnavailableError
from semqa.server import work
from semqa.server.work import Warming
from tests.server.serving import client
from tests.server.stand_ins import Library
from tests.server.test_gone import eventually


class Encoded(Library):
    """Collections with an encoder that is loaded when it is told to."""

    encoder: str | None = "letters"

    def __init__(self, fails: Exception | None = None) -> None:
        super().__init__()
        self.go, self.begun, self.fails = threading.Event(), threading.Event(), fails

    def warm(self) -> None:
        self.begun.set()
        assert self.go.wait(20)
        if self.fails is not None:
            raise self.fails


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "PAUSE", 0.0)


def test_readyz_tells_when_the_encoder_is_there() -> None:
    library = Encoded()
    with client(library=library) as server:

        def state() -> object:
            reply = server.get("/readyz")
            assert reply.status_code == 200
            return reply.json()["encoder"]

        assert state() == "none"
        begun: Warming = server.app.state.warming  # type: ignore[attr-defined]
        begun.begin()
        assert library.begun.wait(10)
        assert state() == "loading"
        library.go.set()
        assert eventually(lambda: state() == "ready")
        left: list[int] = []
        begun.end(lambda: left.append(1))
        assert left == []


@pytest.mark.parametrize("fails", [UnavailableError("no package"), RuntimeError("broken")])
def test_an_encoder_that_cannot_be_loaded_is_told(
    fails: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    library = Encoded(fails)
    library.go.set()
    begun = Warming(library)
    begun.begin()
    assert eventually(lambda: begun.state == "failed")
    assert "the encoder cannot be loaded" in caplog.text


def test_the_end_does_not_wait_for_it() -> None:
    library = Encoded()
    begun = Warming(library)
    begun.begin()
    assert library.begun.wait(10)
    left = threading.Event()
    begun.end(left.set)
    assert left.is_set()
    library.go.set()


def test_a_server_that_ends_at_once_loads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "PAUSE", 20.0)
    library = Encoded()
    begun = Warming(library)
    begun.begin()
    begun.end(lambda: pytest.fail("it has nothing to leave behind"))
    assert not library.begun.is_set()


def test_without_an_encoder_there_is_nothing_to_load() -> None:
    library = Encoded()
    library.encoder = None
    begun = Warming(library)
    begun.begin()
    assert (begun.state, library.begun.is_set()) == ("none", False)
