"""A machine without a network, which tells who asked for it all the same."""

from __future__ import annotations

import socket
import threading
import traceback
from typing import Any

import pytest

__all__ = ["asked_hosts"]


@pytest.fixture
def asked_hosts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts whose address the test asked for, and was not given, and from where.

    Libraries have threads that go on from test to test; theirs do not count.
    """
    asked: list[str] = []
    here = threading.current_thread()

    def no_network(host: Any, *_: Any, **__: Any) -> Any:
        if threading.current_thread() is here:
            asked.append(f"{host} in {''.join(traceback.format_stack(limit=12))}")
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    # Its client asks once a process what to call itself, whatever else it is asked.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY", True)
    return asked
