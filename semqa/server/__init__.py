"""The HTTP server: the web page and the APIs. Call `create_app` with `ServerSettings`.

Start with `app` (routes and middleware), then `asking` and `answering` (one request from start to
end), then the APIs: `answers` (our own), `chat` and `responses` (OpenAI), `messages` (Anthropic).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.server.settings import ServerSettings

if TYPE_CHECKING:
    from semqa.server.app import create_app

__all__ = ["ServerSettings", "create_app"]


def __getattr__(name: str) -> object:
    # Imports the web framework and all APIs, which opening the store does not need.
    if name == "create_app":
        from semqa.server.app import create_app

        return create_app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
