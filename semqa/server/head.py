"""HEAD: what GET would reply, without its body, as every server has to offer and monitors ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Head"]


class Head:
    """Hands HEAD on as GET, and keeps the body of the reply back.

    Args:
        app: what replies.

    Source: RFC 9110, sections 9.1 and 9.3.2.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        asked = {**scope, "method": "GET"}
        try:
            await self._app(asked, receive, without_body)
        finally:
            if "route" in asked:
                scope["route"] = asked["route"]  # what requests are counted by
