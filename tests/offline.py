"""A machine without a network, which tells who asked for it all the same."""

from __future__ import annotations

import socket
from typing import Any

import pytest

__all__ = ["asked_hosts"]


@pytest.fixture
def asked_hosts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts whose address somebody asked for, and was not given."""
    asked: list[str] = []

    def no_network(host: Any, *_: Any, **__: Any) -> Any:
        asked.append(str(host))
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    return asked
