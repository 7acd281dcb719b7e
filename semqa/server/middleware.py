"""What every request goes through: an id, limits, the key, and headers that keep browsers in check.

`RateLimit` and `KeyRing` say how many requests are allowed and whose they are, `Guard` asks them, `Head`
answers HEAD.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
import logging
import re
import time
import uuid
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse

from semqa.errors import SemqaError, UnavailableError
from semqa.server.errors import ENDING, as_error, error_body

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from semqa.server.measures import Measures
    from semqa.server.settings import ServerSettings


MAX_KNOWN = 10_000
"""Buckets that are kept; beyond, those longest unused are forgotten, which are full again."""


class RateLimit:
    """A token bucket for each key.

    Args:
        per_minute: requests; 0 for no limit.

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
        """Take one request of a key; returns 0, or the seconds until one is allowed."""
        wait = self.left(key)
        if self._most:
            left, now = self._buckets.pop(key)
            self._buckets[key] = (left if wait else left - 1, now)
            while len(self._buckets) > MAX_KNOWN:
                self._buckets.popitem(last=False)
        return wait

    def left(self, key: str) -> float:
        """Return 0 if a request is allowed, or the seconds until one is; takes none."""
        if not self._most:
            return 0.0
        now = self._clock()
        left, seen = self._buckets.pop(key, (self._most, now))
        left = min(self._most, left + (now - seen) * self._most / 60)
        self._buckets[key] = (left, now)
        return 0.0 if left >= 1 else (1 - left) * 60 / self._most


REMEMBERED = 10.0
"""Seconds for which a key that was found good stays so: a revoked one works no longer than that."""

MAX_REMEMBERED = 10_000


class KeyRing:
    """The keys of a server: those it was started with, and those in its database.

    The database is any object that has `keys`, and `owner_of` a secret; it keeps digests.
    """

    def __init__(
        self, given: Sequence[str], store: Any, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._given = {_digest(secret): given_owner(secret) for secret in given}
        self._store = store
        self._clock = clock
        self._open_until = 0.0
        self._closed = False
        self._used: OrderedDict[str, None] = OrderedDict()
        self._known: OrderedDict[str, tuple[str, float]] = OrderedDict()

    async def required(self) -> bool:
        """Whether requests need a key: there is one, or has been since the server started."""
        if self._given or self._closed:
            return True
        if self._clock() < self._open_until:
            return False
        if await run_in_threadpool(self._store.keys):
            # Taking the last key back must not open the server to everybody.
            self._closed = True
            return True
        self._open_until = self._clock() + 1.0
        return False

    async def owner(self, secret: str) -> str | None:
        """Return the owner of a key, or None if the key is unknown."""
        digest = _digest(secret)
        if (given := self._given.get(digest)) is not None:
            self._note(digest)
            return given
        owner, until = self._known.get(digest, ("", 0.0))
        if self._clock() < until:
            return owner
        self._known.pop(digest, None)
        found: str | None = await run_in_threadpool(self._store.owner_of, secret)
        if found is not None:
            self._note(digest)
            self._known[digest] = (found, self._clock() + REMEMBERED)
            while len(self._known) > MAX_REMEMBERED:
                self._known.popitem(last=False)
        return found

    def used(self, secret: str) -> bool:
        """Whether a key was valid before; it may be revoked by now."""
        return _digest(secret) in self._used

    def _note(self, digest: str) -> None:
        self._used[digest] = None
        while len(self._used) > MAX_REMEMBERED:
            self._used.popitem(last=False)


def given_owner(secret: str) -> str:
    """Return the owner of a key that the server is started with."""
    return f"key-{_digest(secret)[:16]}"


def _digest(secret: str) -> str:
    # Comparing digests tells nothing about a key by the time it takes.
    return hashlib.sha256(b"semqa key\0" + secret.encode("utf-8", "replace")).hexdigest()


_log = logging.getLogger("semqa.server")

_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_OPEN = re.compile(r"/|/healthz|/readyz|/openapi\.json|/favicon\.ico|/page(?:/.*)?")
"""Paths that need no key: nothing of anyone's is there."""

_RETRY = {"retry-after": "1"}
_HEALTH = ("/healthz", "/readyz")

GUESSES = 20
"""Unknown keys that an address may send in a minute."""

SLOWEST = 10_000.0
"""Bytes a second, below which a body does not come in time."""

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
"""What a page may do: load its own files, ask its own server, run no script within a text."""


class _RefusedError(HTTPException):
    """A request that goes no further; of a kind that frameworks let through."""


class Guard:
    """The outermost middleware.

    It gives each request an id, finds its owner (``request.state.owner``), refuses what is over a
    limit, adds headers, and logs and counts the reply.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: ServerSettings,
        keys: KeyRing,
        rate: RateLimit,
        measures: Measures,
    ) -> None:
        self._app = app
        self._settings = settings
        self._keys = keys
        self._rate = rate
        self._measures = measures
        self._guesses = RateLimit(GUESSES)
        self._hosts = {settings.host.lower(), *(name.lower() for name in settings.allowed_hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        root = self._settings.root_path
        if root and scope["path"].startswith(f"{root}/"):  # a proxy may have taken it away
            scope = {**scope, "path": scope["path"].removeprefix(root)}
        elif root and scope["path"] == root:
            await RedirectResponse(f"{root}/")(scope, receive, send)
            return
        started = time.perf_counter()
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if _ID.fullmatch(given) else uuid.uuid4().hex
        state = scope.setdefault("state", {})
        state["request_id"], state["owner"] = request_id, ""
        status = 0
        body = _Body(receive, self._most(headers), self._settings.read_timeout)

        async def reply(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                out = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    out.setdefault(name, value)
                out["x-request-id"] = request_id
                # The page is asked for anew, and not sent again while it is the same.
                kept = "no-store" if scope["path"].startswith("/v1/") else "no-cache"
                out.setdefault("cache-control", kept)
            await send(message)

        try:
            try:
                await self._check(scope, headers)
                await self._app(scope, body, reply)
            except _RefusedError as refused:
                if status:
                    raise
                await _refuse(reply, refused, request_id)
        except asyncio.CancelledError:
            # Only a server that has run out of time to finish cancels requests.
            if status:
                raise
            await _refuse(reply, _ending(), request_id)
        except SemqaError as error:
            if status:
                raise
            status_of, message = as_error(error)
            await _refuse(reply, _RefusedError(status_of, message, _RETRY), request_id)
        except Exception as error:
            if status:
                _log.error("reply broke off", exc_info=error, extra={"request_id": request_id})
                raise
            _log.error("unforeseen error", exc_info=error, extra={"request_id": request_id})
            message = "The server failed. Its log says why, under the request's id."
            await _refuse(reply, _RefusedError(500, message), request_id)
        finally:
            self._note(scope, status, time.perf_counter() - started)

    async def _check(self, scope: Scope, headers: Headers) -> None:
        path = scope["path"]
        if path in _HEALTH:  # whatever is wrong, it can be asked
            return
        length = headers.get("content-length", "")
        if length.isdigit() and int(length[:18]) > self._most(headers):
            raise _too_large(self._most(headers))
        client = (scope.get("client") or ("",))[0]
        is_open = _OPEN.fullmatch(path) is not None
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
                    f"At most {most} requests a minute are allowed; retry in {wait:.1f} seconds.",
                )

    async def _owner(self, headers: Headers, client: str) -> str:
        """Return whose key a request has; an address that guesses keys has to wait."""
        secret = _secret(headers)
        if secret and not self._keys.used(secret) and (wait := self._guesses.left(client)):
            raise _later(wait, "Too many unknown keys from this address; wait.")
        owner = await self._keys.owner(secret) if secret else None
        if owner is None:
            if secret:
                self._guesses.wait(client)
            got = "The key is not known." if secret else "A key is needed."
            raise _RefusedError(
                401,
                f"{got} Send one of this server's as Authorization: Bearer KEY.",
                {"www-authenticate": "Bearer"},
            )
        return owner

    def _check_browser(self, scope: Scope, headers: Headers) -> None:
        """Refuse pages of other sites in a browser; a server without keys is open to its user alone."""
        host = headers.get("host", "")
        if not self._known(host):
            raise _RefusedError(
                403,
                "The Host is neither an address nor a name without a dot nor one of --allowed-host. "
                "Add it there, or give the server a key.",
            )
        origin, allowed = headers.get("origin", ""), self._settings.allowed_origins
        foreign = bool(origin) and origin.partition("://")[2] != host
        if foreign and origin in allowed:
            return
        # Another site's page may send these, but reads the reply only if any origin is allowed.
        if scope["method"] in ("GET", "HEAD", "OPTIONS") and not (foreign and "*" in allowed):
            return
        if foreign or headers.get("sec-fetch-site", "same-origin") in ("cross-site", "same-site"):
            raise _RefusedError(
                403,
                "Pages of other origins may not use this server. Add the origin to --allowed-origin, "
                "or give the server a key.",
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

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        # Labels must be few: unknown paths share one.
        route = getattr(scope.get("route"), "path", None) or "(none)"
        method = scope["method"] if scope["method"] in _METHODS else "(other)"
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


class _Body:
    """The body of a request, with limits on its size and time."""

    def __init__(self, receive: Receive, most: int, timeout: float) -> None:
        self._receive = receive
        self._most = most
        self._timeout = timeout
        self._got = 0
        self._began = time.monotonic()
        self._whole = False

    async def __call__(self) -> Message:
        if self._whole:  # now it waits for the client to leave
            return await self._receive()
        # Slow uploads time out too.
        left = self._began + self._timeout + self._got / SLOWEST - time.monotonic()
        try:
            async with asyncio.timeout(min(self._timeout, max(left, 0.0))):
                message = await self._receive()
        except TimeoutError:
            raise _RefusedError(
                408,
                f"The request came too slowly: {self._got:,} bytes of its body within "
                f"{self._timeout:g} seconds. Send it again.",
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


def _ending() -> _RefusedError:
    return _RefusedError(503, ENDING, {"connection": "close", "retry-after": "5"})


def _secret(headers: Headers) -> str:
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and value.strip():
        return value.strip()
    return headers.get("x-api-key", "").strip()


async def _refuse(send: Send, refused: _RefusedError, request_id: str) -> None:
    body = json.dumps(error_body(refused.status_code, refused.detail, request_id)).encode()
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        **(refused.headers or {}),
    }
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refused.status_code, "headers": raw})
    await send({"type": "http.response.body", "body": body})


class Head:
    """Answers HEAD as GET without the body.

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
