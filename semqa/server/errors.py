"""Error replies, in one format for all errors."""

from __future__ import annotations

import errno
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from semqa.errors import (
    ForbiddenError,
    InputError,
    MissingExtraError,
    NotFoundError,
    SemqaError,
    UnavailableError,
    describe_invalid,
)

_log = logging.getLogger("semqa.server")


class ErrorDetail(BaseModel, extra="forbid"):
    """The details of an error."""

    type: str
    message: str
    param: str | None = Field(description="The invalid field, if there is exactly one.")
    code: str | None
    request_id: str


class ErrorOut(BaseModel, extra="forbid"):
    """An error reply."""

    type: Literal["error"]
    error: ErrorDetail
    request_id: str


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the error replies of endpoints, for their `responses`.

    They refer to `ErrorOut`, because a ``model`` here would be compiled again for each of them.
    """
    schema = {"schema": {"$ref": "#/components/schemas/ErrorOut"}}
    return {status: {"content": {"application/json": schema}} for status in statuses}


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
"""Messages of the operating system, SQLite and PostgreSQL when a disk is full."""

_SHOWN_PATH = 100
"""Maximum length of a path in an error message."""


class DisconnectedError(Exception):
    """The client disconnected."""


class BusyError(UnavailableError):
    """The queue of answers is full."""


class TooSlowError(UnavailableError):
    """An answer exceeded its timeout."""


class EngineFailedError(UnavailableError):
    """An engine or its model server failed. The original message is not shown to clients.

    If `refused`, a retry is useless until the operator changes the configuration.
    """

    def __init__(self, *, refused: bool) -> None:
        self.refused = refused
        super().__init__(
            "The model cannot be used because of the server's configuration. See the server log."
            if refused
            else "The model did not answer. Try again."
        )


class EmptyAnswerError(UnavailableError):
    """The model's answer has no text."""


def error_body(
    status: int, message: str, request_id: str, param: str | None = None
) -> dict[str, Any]:
    """Return the body of an error reply; `param` is the invalid field, if there is exactly one."""
    kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    # Anthropic's clients read the outer type; others ignore it.
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


_STATUSES: tuple[tuple[type[SemqaError], int], ...] = (
    (ForbiddenError, 403),
    (NotFoundError, 404),
    (InputError, 400),
    (TooSlowError, 504),
    (EmptyAnswerError, 502),
    (BusyError, 503),
    (MissingExtraError, 503),
)
"""The first match counts."""


def as_error(error: BaseException) -> tuple[int, str]:
    """Return the status and message for an error; unexpected errors are logged and not shown."""
    if not isinstance(error, InputError) and _is_full(error):
        _log.error("the disk is full", exc_info=error)
        return 507, "The server's disk is full. The request was not saved."
    for kind, status in _STATUSES:
        if isinstance(error, kind):
            return status, str(error)
    if isinstance(error, EngineFailedError):
        return (502 if error.refused else 503), str(error)
    if isinstance(error, UnavailableError):
        # The message may contain addresses and user names of other servers.
        _log.error("a required service is unavailable", exc_info=error)
        return (
            503,
            "A service that the server needs, such as its database, is unavailable. Try again.",
        )
    if isinstance(error, SemqaError):
        return 500, str(error)
    _log.error("unexpected error", exc_info=error)
    return 500, INTERNAL_ERROR


def _is_full(error: BaseException | None) -> bool:
    """Whether an error was caused by a full disk."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if _FULL.search(str(error)):
            return True
        error = error.__cause__
    return False


def stream_error(error: BaseException, request: Request) -> dict[str, Any]:
    """Return the error body that ends a stream."""
    return error_body(*as_error(error), request.state.request_id, _param(error))


SHUTTING_DOWN = "The server is shutting down; retry. The request may have been applied."
INTERNAL_ERROR = "Internal server error. See the server log under this request ID."


def _param(error: BaseException) -> str | None:
    return error.field if isinstance(error, InputError) else None


def add_handlers(app: FastAPI) -> None:
    """Make an application reply to errors in this format."""

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
        if _is_full(error.__cause__):  # while an upload was buffered on disk
            return reply(request, *as_error(error))
        message = str(error.detail)
        if message in ("Not Found", "Method Not Allowed"):  # Starlette's default messages
            message = (
                f"{message}: {request.method} {request.url.path[:_SHOWN_PATH]!a}. "
                "/openapi.json lists all endpoints."
            )
        return reply(request, error.status_code, message, error.headers)

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        if not isinstance(error, RequestValidationError):
            raise error
        kind = request.headers.get("content-type", "")
        if "json" not in kind and any(tuple(each["loc"]) == ("body",) for each in error.errors()):
            return reply(
                request,
                400,
                "The request is invalid: the body must be JSON, with the header Content-Type: "
                "application/json.",
            )
        problems = list(_merged(_problems(error)).items())
        message = "; ".join(f"{place} {text}" for place, text in problems[:5])
        param = problems[0][0] if len(problems) == 1 else None
        return reply(request, 400, f"The request is invalid: {message}", param=param)

    async def disconnected(_: Request, _error: Exception) -> JSONResponse:
        return JSONResponse(None, 499)

    app.add_exception_handler(DisconnectedError, disconnected)
    app.add_exception_handler(SemqaError, ours)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)


_BRANCH = re.compile(r"[\w-]+\[.*|[A-Z]\w*|dict|list|float", re.DOTALL)
"""A type in the place of an error: the branch of a union."""


def _problems(error: RequestValidationError) -> Iterator[tuple[str, str]]:
    """Yield each invalid field, without its value, and what is wrong with it.

    If a value has the type of one branch of a union, the errors of the other branches are left out.
    """
    found = []
    for each in error.errors()[:20]:
        if each["type"] == "json_invalid":
            yield "body", f"is invalid JSON at character {each['loc'][-1] + 1}"
            continue
        way = [part for part in each["loc"] if part != "body"]
        named = [part for part in way[:-1] if not _BRANCH.fullmatch(str(part))]
        if way and (each["type"] == "extra_forbidden" or not _BRANCH.fullmatch(str(way[-1]))):
            named.append(way[-1])
        found.append((named, each["type"].endswith("_type"), describe_invalid(each)))
    for way, is_type, message in found:
        if is_type and any(
            other[: len(way)] == way and (len(other) > len(way) or not other_is_type)
            for other, other_is_type, _ in found
        ):
            continue
        place = ".".join(map(str, way)) or "body"
        yield _readable(place), _readable(message)


def _merged(problems: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Join the problems of each field: a value that matches none of several types has one for each."""
    found: dict[str, list[str]] = {}
    for place, text in problems:
        if text not in (texts := found.setdefault(place, [])):
            texts.append(text if not texts else text.removeprefix("must be "))
    return {place: " or ".join(texts) for place, texts in found.items()}


def _readable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")[:200]
