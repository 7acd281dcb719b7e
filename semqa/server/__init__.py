"""The server: pages and interfaces over HTTP. `create_app` makes it, `ServerSettings` says how."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.server.settings import ServerSettings

if TYPE_CHECKING:
    from semqa.server.app import create_app

__all__ = ["ServerSettings", "create_app"]


def __getattr__(name: str) -> object:
    # Loads the framework and every interface; opening the store needs neither.
    if name == "create_app":
        from semqa.server.app import create_app

        return create_app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
