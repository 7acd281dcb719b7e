"""Errors as a client sees them: one shape, whatever went wrong."""

from __future__ import annotations

import errno
import logging
import re
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from semqa.errors import (
    ForbiddenError,
    InputError,
    MissingExtraError,
    NotFoundError,
    SemqaError,
    UnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI, Request

_log = logging.getLogger("semqa.server")

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    502: "api_error",
    503: "overloaded_error",
    504: "timeout_error",
    507: "api_error",
}

_FULL = re.compile(
    r"No space left on device|disk is full|Disk quota exceeded|could not extend file"
)
"""What the system, SQLite and PostgreSQL say where a disk is full."""

_SHOWN_PATH = 100
"""Characters of a path that an error repeats."""


class GoneError(Exception):
    """The client disconnected."""


class BusyError(UnavailableError):
    """So many answers are under way that another one would wait too long."""


class TooSlowError(UnavailableError):
    """An answer took longer than the server allows."""


class EngineFailedError(UnavailableError):
    """An engine, or the server of its model, failed. What it said is not for clients to see.

    Attributes:
        refused: whether it will fail again unless the operator changes something.
    """

    def __init__(self, *, refused: bool) -> None:
        self.refused = refused
        super().__init__(
            "The model cannot be used as the server is set up. Its log says more."
            if refused
            else "The model did not answer. Try again."
        )


def error_body(
    status: int, message: str, request_id: str, param: str | None = None
) -> dict[str, Any]:
    """Return the body of an error; `param` is the field at fault, where it is a single one.

    Example:
        >>> error_body(404, "gone", "a1")["error"]["type"]
        'not_found_error'
    """
    kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    # The outer type is what the clients of one of the interfaces go by; others pass over it.
    return {
        "type": "error",
        "error": {
            "type": kind,
            "message": message,
            "param": param,
            "code": None,
            "request_id": request_id,
        },
        "request_id": request_id,
    }


def as_error(error: BaseException) -> tuple[int, str]:
    """Return the status and the message for an error; unexpected errors are logged, not shown."""
    if not isinstance(error, InputError) and _is_full(error):
        _log.error("no room is left on the disk", exc_info=error)
        return 507, ("No room is left on the server's disk: what was sent is not kept.")
    if isinstance(error, ForbiddenError):
        return 403, str(error)
    if isinstance(error, InputError):
        return (404 if isinstance(error, NotFoundError) else 400), str(error)
    if isinstance(error, TooSlowError):
        return 504, str(error)
    if isinstance(error, EngineFailedError):
        return (502 if error.refused else 503), str(error)
    if isinstance(error, (BusyError, MissingExtraError)):
        return 503, str(error)
    if isinstance(error, UnavailableError):
        # It may name addresses and users of other servers.
        _log.error("something the server needs is unavailable", exc_info=error)
        return (
            503,
            "The server cannot reach something that it needs, such as its database. Try again.",
        )
    if isinstance(error, SemqaError):
        return 500, str(error)
    _log.error("unforeseen error", exc_info=error)
    return 500, "The server failed. Its log says why, under the request's id."


def _is_full(error: BaseException | None) -> bool:
    """Whether the reason of an error is that there is no room on a disk."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if _FULL.search(str(error)):
            return True
        error = error.__cause__
    return False


def failed(error: BaseException, request: Request) -> dict[str, Any]:
    """Return what a stream says where it fails."""
    return error_body(*as_error(error), request.state.request_id, _param(error))


def ending(request: Request) -> dict[str, Any]:
    """Return what a stream says if the server ends before it does."""
    return error_body(503, ENDING, request.state.request_id)


ENDING = "The server is shutting down; retry. The request may have been applied."


def _param(error: BaseException) -> str | None:
    return error.field if isinstance(error, InputError) else None


def add_handlers(app: FastAPI) -> None:
    """Let an app answer errors in this shape."""

    def reply(
        request: Request,
        status: int,
        message: str,
        headers: Mapping[str, str] | None = None,
        param: str | None = None,
    ) -> JSONResponse:
        request_id = getattr(request.state, "request_id", "")
        more = {"Retry-After": "1"} if status in (429, 503) else {}
        return JSONResponse(
            error_body(status, message, request_id, param), status, {**more, **(headers or {})}
        )

    async def ours(request: Request, error: Exception) -> JSONResponse:
        return reply(request, *as_error(error), param=_param(error))

    async def http(request: Request, error: Exception) -> JSONResponse:
        if not isinstance(error, HTTPException):
            raise error
        if _is_full(error.__cause__):  # a body that is kept on the disk while it comes
            return reply(request, *as_error(error))
        told = str(error.detail)
        if told in ("Not Found", "Method Not Allowed"):  # the framework's own, of no help
            told = (
                f"{told}: {request.method} {request.url.path[:_SHOWN_PATH]!a}. /openapi.json lists "
                "what there is."
            )
        return reply(request, error.status_code, told, error.headers)

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        if not isinstance(error, RequestValidationError):
            raise error
        kind = request.headers.get("content-type", "")
        if "json" not in kind and any(tuple(each["loc"]) == ("body",) for each in error.errors()):
            return reply(
                request,
                400,
                "The request is invalid: its body must be JSON, with the header Content-Type: "
                "application/json.",
            )
        places = [[part for part in each["loc"] if part != "body"] for each in error.errors()]
        param = ".".join(map(str, places[0])) if len(places) == 1 else None
        return reply(request, 400, _told(error), param=param and _readable(param))

    async def gone(_: Request, _error: Exception) -> JSONResponse:
        return JSONResponse(None, 499)  # the client disconnected

    app.add_exception_handler(GoneError, gone)
    app.add_exception_handler(SemqaError, ours)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)


def _told(error: RequestValidationError) -> str:
    """Say which fields are wrong, without repeating what they held."""
    told = []
    for each in error.errors()[:5]:
        where = ".".join(str(part) for part in each["loc"] if part != "body") or "body"
        told.append(
            f"{_readable(where)}: {_readable(str(each['msg']).removeprefix('Value error, '))}"
        )
    return "The request is invalid: " + "; ".join(told)


def _readable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")[:200]
