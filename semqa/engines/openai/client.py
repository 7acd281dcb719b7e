"""Requests to an OpenAI-compatible endpoint over HTTP: retried, and bounded in time and size.

The `openai` client is not used: it reads bodies and streams without a bound, follows redirects to other
hosts with the key, and shows the key in errors.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Self, TypeVar
from urllib.parse import urlsplit

from semqa.errors import InputError, UnavailableError

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping

    import httpx

    from semqa.engines.openai.options import OpenAIOptions
    from semqa.engines.openai.replies import AnswerSink

_URLS = ("SEMQA_BASE_URL", "OPENAI_BASE_URL")
_KEYS = ("SEMQA_API_KEY", "OPENAI_API_KEY")
_HIDDEN = "<key>"

HOSTED = "https://api.openai.com/v1"
"""OpenAI's own endpoint, which is asked unless another is named."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint, such as ``http://localhost:8000/v1``, without a slash at its end."""

    url: str
    key: str | None = field(default=None, repr=False)

    @classmethod
    def find(cls, base_url: str | None = None, api_key: str | None = None) -> Self:
        """Return the endpoint that was given, or else that of the environment.

        Args:
            base_url: by default ``SEMQA_BASE_URL``, ``OPENAI_BASE_URL`` or OpenAI's own endpoint.
            api_key: by default ``SEMQA_API_KEY`` or ``OPENAI_API_KEY``, in the other order for OpenAI's
                own endpoint; empty for none.
        """
        url = _checked_url(_given(base_url, _URLS) or HOSTED)
        hosted = urlsplit(url).hostname == urlsplit(HOSTED).hostname
        key = _checked_key(_given(api_key, _KEYS[::-1] if hosted else _KEYS))
        if hosted and key is None:
            raise InputError(
                f"{HOSTED} needs an API key: set {_KEYS[1]} or {_KEYS[0]}. For another endpoint, give "
                f"its address (--base-url, for a judge --judge-url) or set {_URLS[0]}."
            )
        return cls(url, key)

    def hide(self, text: str) -> str:
        """Return a text without the key, which some servers repeat in their errors."""
        return text if not self.key else text.replace(self.key, _HIDDEN)


def default_url() -> str:
    """Return the address that is asked if none is given."""
    return _given(None, _URLS) or HOSTED


def _given(value: str | None, names: tuple[str, ...]) -> str:
    found = value if value is not None else next(filter(None, map(os.environ.get, names)), "")
    return found.strip()


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.username is not None or parts.password is not None:
        # Not shown: what stands there may be secret.
        raise InputError(
            f"must not hold a user or password; set a key in {_KEYS[0]}.", field="base_url"
        )
    if parts.scheme not in {"http", "https"} or not host or parts.query or parts.fragment:
        raise InputError(
            f"must be an http or https address such as http://localhost:8000/v1, got {url!r}.",
            field="base_url",
            value=url,
        )
    return url.rstrip("/")


def _checked_key(key: str) -> str | None:
    if not key:
        return None
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InputError(
            f"holds white space or characters that no key has. Check {_KEYS[0]} and {_KEYS[1]} for a line break or a quotation mark.",
            field="api_key",
        )
    return key


MAX_BYTES = 32 << 20
"""Bytes of one reply; more is no answer."""

_MAX_ERROR = _MAX_EVENT = 1 << 20
_SHOWN = 300
_RETRIED = frozenset({408, 409, 425, 429})
_LONGEST_WAIT = 120.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 20.0
_REST_SECONDS = 5.0
_T = TypeVar("_T")

pause = asyncio.sleep


class RefusedError(InputError):
    """The endpoint refused a request, with a message of its own in `detail`."""

    def __init__(self, message: str, status: int, detail: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.detail = detail


class _PassingError(Exception):
    """What may be gone at the next try, after `wait` seconds if the server asks for that."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class Transport:
    """Makes requests to one endpoint; `options` say how long to wait and how often to try."""

    def __init__(self, endpoint: Endpoint, options: OpenAIOptions) -> None:
        self.endpoint = endpoint
        self._options = options
        self._http: httpx.AsyncClient | None = None

    async def post(self, path: str, body: Mapping[str, object]) -> object:
        """Ask, and return the JSON that is answered."""

        async def once() -> object:
            async with self._asked(path, body) as response:
                return await self._json(response)

        return await self._patiently(once)

    async def stream(self, path: str, body: Mapping[str, object], sink: AnswerSink) -> None:
        """Ask for a stream, and hand out its events until the answer is whole.

        A connection that breaks is tried again as long as nothing was shown.
        """

        async def once() -> None:
            sink.begin()
            try:
                async with self._asked(path, body) as response:
                    if "event-stream" in response.headers.get("Content-Type", ""):
                        await self._read_events(response, sink)
                    else:
                        sink.take_whole(await self._json(response))
            except _PassingError:
                if not sink.whole:  # only the count of tokens may be missing
                    raise
            if not sink.whole:
                raise _PassingError("a stream that ended before the answer did")

        await self._patiently(once, sink)

    async def close(self) -> None:
        """Close all connections."""
        if self._http is not None:
            http, self._http = self._http, None
            await http.aclose()

    async def _patiently(
        self, once: Callable[[], Awaitable[_T]], sink: AnswerSink | None = None
    ) -> _T:
        """Try until it works, or until the sink has shown something that cannot be taken back."""
        reason, attempts = "no answer", self._options.attempts
        try:
            async with asyncio.timeout(self._options.timeout):
                for attempt in range(attempts):
                    try:
                        return await once()
                    except _PassingError as error:
                        reason, wait = str(error), error.wait
                    shown = sink is not None and sink.shown > 0
                    if shown or attempt + 1 == attempts or wait > _LONGEST_WAIT:
                        break
                    seconds = min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE)
                    await pause(max(wait, seconds * random.uniform(0.5, 1)))  # noqa: S311
        except TimeoutError:
            reason = f"no answer within {self._options.timeout:g} seconds ({reason})"
        if sink is not None and sink.shown:
            reason += f" after {sink.shown:,} characters of the answer"
        raise UnavailableError(
            self.endpoint.hide(
                f"{self.endpoint.url} does not answer: {reason}. Check that the server runs."
            )
        )

    @asynccontextmanager
    async def _asked(self, path: str, body: Mapping[str, object]) -> AsyncIterator[httpx.Response]:
        """Make one request, and give its response if that is a good one."""
        import httpx

        try:
            client = self._client()
            request = client.build_request("POST", self.endpoint.url + path, json=body)
            response = await client.send(request, stream=True)
            try:
                await self._check(response, path)
                yield response
            finally:
                # Cancelled in the middle of this, a connection would stay open for good.
                await asyncio.shield(response.aclose())
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
            raise InputError(
                f"is not a valid address: {self.endpoint.url!r} ({error}).",
                field="base_url",
                value=self.endpoint.url,
            ) from error
        except httpx.TransportError as error:
            said = str(error)
            raise _PassingError(type(error).__name__ + (f" ({said})" if said else "")) from error

    def _client(self) -> httpx.AsyncClient:
        import httpx

        if self._http is None:
            options, key = self._options, self.endpoint.key
            try:
                given = {"Authorization": f"Bearer {key}"} if key else {}
                self._http = httpx.AsyncClient(
                    # What is compressed could not be bounded before it fills the memory.
                    headers={"Accept-Encoding": "identity", **given},
                    verify=_certificates(),
                    timeout=httpx.Timeout(
                        options.read_timeout, connect=options.connect_timeout, pool=None
                    ),
                    follow_redirects=False,  # another host would get the key
                    limits=httpx.Limits(max_connections=None),
                )
            except (ImportError, OSError, ValueError) as error:
                raise UnavailableError(
                    f"Network settings are invalid ({error}). Check HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE."
                ) from error
        return self._http

    async def _check(self, response: httpx.Response, path: str) -> None:
        """Raise if a response is no answer."""
        status, hide = response.status_code, self.endpoint.hide
        coding = response.headers.get("Content-Encoding", "identity")
        if coding != "identity":
            raise self._wrong(f"content coded as {cut(coding)!r}", "plain content")
        if 200 <= status < 300:
            return
        if 300 <= status < 400:
            target = response.headers.get("Location", "")
            raise InputError(
                hide(f"{self.endpoint.url} redirects to {cut(target)!r} (HTTP {status})."),
                hint="If you trust that address, give it as --base-url.",
            )
        detail = hide(await _read_error(response))
        reason = f"HTTP status {status} {response.reason_phrase}".rstrip()
        shown = f"{reason}{f': {cut(detail)}' if detail else ''}"
        if status in _RETRIED or status >= 500:
            raise _PassingError(shown, _pause_asked(response.headers.get("Retry-After")))
        advice = {
            401: "Set SEMQA_API_KEY to a valid key.",
            403: "Set SEMQA_API_KEY to a key with permission.",
            404: "Check --base-url (such as …/v1) and the model.",
        }.get(status)
        raise RefusedError(
            f"{self.endpoint.url}{path} refused the request: {shown}.", status, detail, hint=advice
        )

    async def _json(self, response: httpx.Response) -> object:
        data = await _read_body(response, MAX_BYTES)
        if data is None:
            raise self._wrong(f"more than {MAX_BYTES:,} bytes")
        try:
            return json.loads(self.endpoint.hide(data.decode("utf-8")))
        except (ValueError, RecursionError) as error:
            kind = response.headers.get("Content-Type", "no content type")
            start = cut(self.endpoint.hide(data.decode("utf-8", "replace")))
            raise self._wrong(f"{kind} that begins {start!r}", "JSON") from error

    async def _read_events(self, response: httpx.Response, sink: AnswerSink) -> None:
        """Hand out the events of a stream, each a line ``data: JSON``, until it says ``[DONE]``."""
        rest, size = b"", 0
        try:
            async with aclosing(_blocks(response, sink)) as blocks:
                async for block in blocks:
                    size += len(block)
                    if size > MAX_BYTES:
                        raise self._wrong(f"a stream of more than {MAX_BYTES:,} bytes")
                    *lines, rest = (rest + block).split(b"\n")
                    if len(rest) > _MAX_EVENT:
                        raise self._wrong(f"an event of more than {_MAX_EVENT:,} bytes")
                    for line in lines:
                        if self._take(line, sink):
                            return
            self._take(rest, sink)
        except (ValueError, RecursionError) as error:
            raise self._wrong(f"a stream with {cut(str(error))}", "events in JSON") from error

    def _take(self, line: bytes, sink: AnswerSink) -> bool:
        """Hand out the event of a line, if it has one; return whether it is the last."""
        name, _, data = line.strip().partition(b":")
        if name != b"data":
            return False
        if (data := data.strip()) == b"[DONE]":
            return True
        sink.take(json.loads(self.endpoint.hide(data.decode("utf-8"))))
        return sink.enough

    def _wrong(self, got: str, expected: str = "an answer") -> UnavailableError:
        return UnavailableError(
            self.endpoint.hide(
                f"{self.endpoint.url} is not an OpenAI-compatible endpoint: got {got}, expected {expected}. Check --base-url (such as http://localhost:8000/v1)."
            )
        )


@cache
def _certificates() -> ssl.SSLContext:
    """Return the certificates to trust, which take a tenth of a second to read."""
    import httpx

    return httpx.create_ssl_context()


async def _blocks(response: httpx.Response, sink: AnswerSink) -> AsyncGenerator[bytes]:
    """Give the blocks of a stream; once the answer is whole, the rest is not waited for long."""
    blocks = response.aiter_raw()
    while True:
        try:
            async with asyncio.timeout(_REST_SECONDS if sink.whole else None):
                block = await anext(blocks, None)
        except TimeoutError:
            return
        if block is None:
            return
        yield block


async def _read_body(response: httpx.Response, most: int) -> bytes | None:
    """Return the body; None if it is longer than it may be."""
    blocks, size = [], 0
    async for block in response.aiter_raw():
        size += len(block)
        if size > most:
            return None
        blocks.append(block)
    return b"".join(blocks)


async def _read_error(response: httpx.Response) -> str:
    """Return what an endpoint says of an error, in its own words."""
    data = await _read_body(response, _MAX_ERROR) or b""
    text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "" if "html" in response.headers.get("Content-Type", "") else text.strip()
    for name in ("error", "message", "detail"):
        if isinstance(value, dict) and value.get(name):
            value = value[name]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _pause_asked(retry_after: str | None) -> float:
    """Return the seconds of a Retry-After header: a number, or a date."""
    if not retry_after:
        return 0.0
    try:
        return max(0.0, float(retry_after)) if len(retry_after) < 20 else 0.0
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, OverflowError, TypeError):
        return 0.0


def cut(text: str) -> str:
    """Return as much of a text as a message may hold."""
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
