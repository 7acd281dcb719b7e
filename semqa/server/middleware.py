"""Middleware: request ids, limits, API keys, and security headers.

`RequestMiddleware` applies `RateLimit` and `KeyRing` to each request.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import logging
import re
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from semqa.errors import SemqaError, UnavailableError
from semqa.server.errors import INTERNAL_ERROR, SHUTTING_DOWN, as_error, error_body
from semqa.server.measures import Measures
from semqa.server.settings import ServerSettings

MAX_BUCKETS = 10_000
"""Maximum number of buckets; the least recently used are dropped first."""


class RateLimit:
    """A token bucket for each key; 0 per minute for no limit.

    Example:
        >>> limit = RateLimit(2, clock=lambda: 0.0)
        >>> [limit.wait("k") for _ in range(3)]
        [0.0, 0.0, 30.0]
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str) -> float:
        """Count a request and return 0, or return the seconds until one is allowed."""
        if not self._most:
            return 0.0
        now = self._clock()
        left, seen = self._buckets.pop(key, (self._most, now))
        left = min(self._most, left + (now - seen) * self._most / 60)
        allowed = left >= 1
        self._buckets[key] = (left - allowed, now)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - left) * 60 / self._most


class KeyRing:
    """The API keys of the server: those in its settings and those in its database."""

    def __init__(self, given: Sequence[str], store: Any) -> None:
        self._given = {_digest(secret): given_owner(secret) for secret in given}
        self._store = store
        self._closed = bool(given)
        self._turns = CapacityLimiter(8)  # of its own, so that slow requests do not block keys

    async def required(self) -> bool:
        """Return whether requests need a key: if there is one, or was one since the server started."""
        # Revoking the last key must not open the server to everyone.
        if not self._closed:
            self._closed = bool(await to_thread.run_sync(self._store.keys, limiter=self._turns))
        return self._closed

    async def owner(self, secret: str) -> str | None:
        if (given := self._given.get(_digest(secret))) is not None:
            return given
        found: str | None = await to_thread.run_sync(
            self._store.owner_of, secret, limiter=self._turns
        )
        return found


def given_owner(secret: str) -> str:
    """Return the owner id of a key in the settings, derived from its digest."""
    return f"key-{_digest(secret)[:16]}"


def _digest(secret: str) -> str:
    # Looking up digests prevents timing attacks.
    return hashlib.sha256(b"semqa key\0" + secret.encode("utf-8", "replace")).hexdigest()


_log = logging.getLogger("semqa.server")

_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_PUBLIC = re.compile(r"/|/healthz|/readyz|/openapi\.json|/favicon\.ico|/page(?:/.*)?")
"""Paths that need no key, because they contain no user data."""

_RETRY = {"retry-after": "1"}
_HEALTH = ("/healthz", "/readyz")

MAX_UNKNOWN_KEYS = 20
"""Maximum number of invalid keys per address and minute."""

MIN_BYTES_PER_SECOND = 10_000.0
"""Minimum rate at which a client must send the body of a request."""

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


PAGE_POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'"
)
"""The policy of pages: they load their own files and call their own server; no inline scripts."""


class _RefusedError(HTTPException):
    """Refuses a request. An HTTPException, so that frameworks let it pass."""


class RequestMiddleware:
    """The outermost middleware.

    It assigns an id to each request, sets its owner (``request.state.owner``), enforces limits,
    adds headers, and logs and counts the reply.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: ServerSettings,
        store: Any,
        measures: Measures,
    ) -> None:
        self._app = app
        self._settings = settings
        self._keys = KeyRing(settings.api_keys, store)
        self._rate = RateLimit(settings.rate_limit)
        self._measures = measures
        self._unknown_keys = RateLimit(MAX_UNKNOWN_KEYS)
        self._hosts = {settings.host.lower(), *(name.lower() for name in settings.allowed_hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        root = self._settings.root_path
        if root and scope["path"].startswith(f"{root}/"):  # unless the proxy has removed it
            scope = {**scope, "path": scope["path"].removeprefix(root)}
        elif root and scope["path"] == root:
            await RedirectResponse(f"{root}/")(scope, receive, send)
            return
        started, method = time.perf_counter(), scope["method"]
        if method == "HEAD":  # answered like GET; the HTTP server leaves out the body
            scope = {**scope, "method": "GET"}
        headers = Headers(scope=scope)
        proposed = headers.get("x-request-id", "")
        request_id = proposed if _ID.fullmatch(proposed) else uuid.uuid4().hex
        state = scope.setdefault("state", {})
        state["request_id"], state["owner"] = request_id, ""
        status = 0
        body = _LimitedBody(receive, self._most(headers), self._settings.read_timeout)

        async def reply(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                out = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    out.setdefault(name, value)
                out["x-request-id"] = request_id
                # Browsers must revalidate the files of the page.
                caching = "no-store" if scope["path"].startswith("/v1/") else "no-cache"
                out.setdefault("cache-control", caching)
            await send(message)

        try:
            await self._check(scope, headers)
            await self._app(scope, body, reply)
        except (Exception, asyncio.CancelledError) as error:
            unexpected = not isinstance(error, (SemqaError, _RefusedError, asyncio.CancelledError))
            if unexpected:
                _log.error("unexpected error", exc_info=error, extra={"request_id": request_id})
            if status:  # too late to refuse
                if isinstance(error, asyncio.CancelledError):  # the stream has said so
                    return
                raise
            refused = _RefusedError(500, INTERNAL_ERROR) if unexpected else _refusal(error)
            content = error_body(refused.status_code, refused.detail, request_id)
            response = JSONResponse(content, refused.status_code, refused.headers)
            await response(scope, receive, reply)
        finally:
            self._note(scope, method, status, time.perf_counter() - started)

    async def _check(self, scope: Scope, headers: Headers) -> None:
        path = scope["path"]
        if path in _HEALTH:  # always available
            return
        length = headers.get("content-length", "")
        if length.isdigit() and int(length[:18]) > self._most(headers):
            raise _too_large(self._most(headers))
        client = (scope.get("client") or ("",))[0]
        is_open = _PUBLIC.fullmatch(path) is not None
        try:
            required = await self._keys.required()
        except UnavailableError:
            if not is_open:
                raise
            required = True
        if not required:
            self._check_browser(scope, headers)
        elif not is_open:
            scope["state"]["owner"] = await self._owner(headers, client)
        if path.startswith("/v1/"):
            wait = self._rate.wait(scope["state"]["owner"] or f"at {client}")
            if wait:
                most = self._settings.rate_limit
                raise _later(
                    wait,
                    f"At most {most} requests per minute are allowed; retry in {wait:.1f} seconds.",
                )

    async def _owner(self, headers: Headers, client: str) -> str:
        """Return the owner of a request's key; refuse addresses that guess keys."""
        secret = _secret(headers)
        owner = await self._keys.owner(secret) if secret else None
        if owner is None:
            if secret and (wait := self._unknown_keys.wait(client)):
                raise _later(
                    wait, "Too many invalid keys from this address. Wait before you retry."
                )
            reason = "The API key is invalid." if secret else "An API key is required."
            raise _RefusedError(
                401,
                f"{reason} Send the header Authorization: Bearer KEY.",
                {"www-authenticate": "Bearer"},
            )
        return owner

    def _check_browser(self, scope: Scope, headers: Headers) -> None:
        """Refuse requests from other websites if the server has no keys."""
        host = headers.get("host", "")
        if not self._known(host):
            raise _RefusedError(
                403,
                "The host name of this request is not allowed. Add it with --allowed-host, or "
                "start the server with an API key.",
            )
        origin, allowed = headers.get("origin", ""), self._settings.allowed_origins
        foreign = bool(origin) and origin.partition("://")[2] != host
        if foreign and origin in allowed:
            return
        # Other sites can read replies to these requests only if all origins are allowed.
        if scope["method"] in ("GET", "HEAD", "OPTIONS") and not (foreign and "*" in allowed):
            return
        if foreign or headers.get("sec-fetch-site", "same-origin") in ("cross-site", "same-site"):
            raise _RefusedError(
                403,
                "Other websites may not use this server. Add the origin with --allowed-origin, "
                "or start the server with an API key.",
            )

    def _known(self, host: str) -> bool:
        name = re.sub(r":[0-9]+$", "", host).lower().strip("[]")
        if "." not in name or name.endswith(".localhost") or name in self._hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _most(self, headers: Headers) -> int:
        upload = headers.get("content-type", "").lower().startswith("multipart/form-data")
        return self._settings.max_upload if upload else self._settings.max_body

    def _note(self, scope: Scope, method: str, status: int, seconds: float) -> None:
        # All unknown paths share one label, to limit the number of time series.
        route = getattr(scope.get("route"), "path", None) or "(none)"
        method = method if method in _METHODS else "(other)"
        self._measures.requests.labels(method, route, str(status)).inc()
        self._measures.seconds.labels(method, route).observe(seconds)
        _log.info(
            "request",
            extra={
                "request_id": scope["state"]["request_id"],
                "owner": scope["state"]["owner"],
                "method": method,
                "route": route,
                "status": status,
                "milliseconds": round(seconds * 1000, 1),
            },
        )


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class _LimitedBody:
    """Receives the body of a request, and limits its size and duration."""

    def __init__(self, receive: Receive, most: int, timeout: float) -> None:
        self._receive = receive
        self._most = most
        self._timeout = timeout
        self._got = 0
        self._began = time.monotonic()
        self._whole = False

    async def __call__(self) -> Message:
        if self._whole:  # wait for the client to disconnect
            return await self._receive()
        # Slow uploads time out too.
        left = self._began + self._timeout + self._got / MIN_BYTES_PER_SECOND - time.monotonic()
        try:
            async with asyncio.timeout(min(self._timeout, max(left, 0.0))):
                message = await self._receive()
        except TimeoutError:
            raise _RefusedError(
                408,
                f"The request timed out: its body arrived too slowly ({self._got:,} bytes so far). "
                "Send it again.",
                {"connection": "close"},
            ) from None
        if message["type"] == "http.request":
            self._got += len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._got > self._most:
                raise _too_large(self._most)
        return message


def _later(wait: float, message: str) -> _RefusedError:
    return _RefusedError(429, message, {"retry-after": str(max(1, round(wait + 0.5)))})


def _too_large(most: int) -> _RefusedError:
    return _RefusedError(
        413, f"The request must have at most {most:,} bytes.", {"connection": "close"}
    )


def _secret(headers: Headers) -> str:
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and value.strip():
        return value.strip()
    return headers.get("x-api-key", "").strip()


def _refusal(error: BaseException) -> _RefusedError:
    if isinstance(error, _RefusedError):
        return error
    if isinstance(error, asyncio.CancelledError):
        # Requests are only cancelled when the time for shutting down is over.
        headers = {"connection": "close", "retry-after": "5"}
        return _RefusedError(503, SHUTTING_DOWN, headers)
    return _RefusedError(*as_error(error), _RETRY)
