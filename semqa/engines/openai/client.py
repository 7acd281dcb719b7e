"""Requests to an OpenAI-compatible endpoint over HTTP: retried, and bounded in time and size.

The `openai` client was not used here: it reads bodies and streams without a bound, follows redirects to
other hosts with the key, and shows the key in errors.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import random
import time
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Protocol, Self, TypeVar
from urllib.parse import urlsplit

from semqa.errors import InputError, UnavailableError

if TYPE_CHECKING:
    import ssl
    from collections.abc import (
        AsyncGenerator,
        AsyncIterator,
        Awaitable,
        Callable,
        Iterator,
        Mapping,
    )

    import httpx

_URLS = ("SEMQA_BASE_URL", "OPENAI_BASE_URL")
_KEYS = ("SEMQA_API_KEY", "OPENAI_API_KEY")
_HIDDEN = "<key>"

HOSTED = "https://api.openai.com/v1"
"""OpenAI's own endpoint, which is asked unless another is named."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint, such as ``http://localhost:8000/v1``.

    Attributes:
        url: what the paths of requests are appended to; without a slash at its end.
    """

    url: str
    key: str | None = field(default=None, repr=False)

    @classmethod
    def find(cls, base_url: str | None = None, api_key: str | None = None) -> Self:
        """Return the endpoint that was given, or else that of the environment.

        Args:
            base_url: by default ``SEMQA_BASE_URL``, ``OPENAI_BASE_URL`` or OpenAI's own endpoint.
            api_key: by default ``SEMQA_API_KEY`` or ``OPENAI_API_KEY``, in the other order for OpenAI's
                own endpoint; empty for none.

        Raises:
            InputError: the address or the key is invalid, or OpenAI's endpoint has no key.
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

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers that every request has."""
        return {} if not self.key else {"Authorization": f"Bearer {self.key}"}


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


_MOST_OF_AN_ERROR = 1 << 20
_LONGEST = 300


async def read_body(response: httpx.Response, most: int) -> bytes | None:
    """Return the body; None if it is longer than it may be."""
    blocks, size = [], 0
    async for block in response.aiter_raw():
        size += len(block)
        if size > most:
            return None
        blocks.append(block)
    return b"".join(blocks)


async def read_error(response: httpx.Response) -> str:
    """Return what an endpoint says of an error, in its own words."""
    data = await read_body(response, _MOST_OF_AN_ERROR) or b""
    text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "" if "html" in response.headers.get("Content-Type", "") else text.strip()
    for name in ("error", "message", "detail"):
        if isinstance(value, dict) and value.get(name):
            value = value[name]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def pause_asked(retry_after: str | None) -> float:
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
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


MAX_EVENT = 1 << 20
"""Characters of one event; more is no piece of an answer."""


class EventReader:
    r"""Reads a stream of events.

    Example:
        >>> reader = EventReader()
        >>> [list(reader.add(piece)) for piece in (b"data: {", b"}\r", b"\n\r\n: x\n\ndata: 1\n")]
        [[], [], ['{}']]
        >>> list(reader.end())
        ['1']
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("strict")
        self._line = ""
        self._data: list[str] = []
        self._size = 0

    def add(self, piece: bytes) -> Iterator[str]:
        """Take more bytes, and give the data of the events that are whole now."""
        yield from self._take(self._decoder.decode(piece))

    def end(self) -> Iterator[str]:
        """Give the data of an event that the stream ended with."""
        yield from self._take(self._decoder.decode(b"", final=True) + "\n\n")

    def _take(self, text: str) -> Iterator[str]:
        # A carriage return may be half of a line's end.
        lines = (self._line + text).replace("\r\n", "\n")
        last = "\r" if lines.endswith("\r") else ""
        *whole, rest = lines.removesuffix("\r").replace("\r", "\n").split("\n")
        self._line = rest + last
        if len(self._line) + self._size > MAX_EVENT:
            raise ValueError(f"an event of more than {MAX_EVENT:,} characters")
        for line in whole:
            if line:
                self._read(line)
            elif self._data:
                data, self._data, self._size = self._data, [], 0
                yield "\n".join(data)

    def _read(self, line: str) -> None:
        name, _, value = line.partition(":")
        if name == "data":
            self._data.append(value.removeprefix(" "))
            self._size += len(value)


MAX_BYTES = 32 << 20
"""Bytes of one reply; more is no answer."""

_MAX_REDIRECTS = 3
_RETRIED = frozenset({408, 409, 425, 429})
_LONGEST_WAIT = 120.0
_REST_SECONDS = 5.0
_T = TypeVar("_T")

pause = asyncio.sleep


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a request is given.

    Attributes:
        total: seconds for all tries together.
        read: seconds of silence on a connection.
        attempts: how often it is tried.
        pause: seconds before the second try; doubled before each further one, up to half drawn.
    """

    total: float = 600.0
    connect: float = 10.0
    read: float = 300.0
    attempts: int = 5
    pause: float = 0.5
    longest_pause: float = 20.0


class Sink(Protocol):
    """What takes the events of a stream."""

    def begin(self) -> None:
        """Start from nothing: a try begins."""

    def take(self, value: object) -> None:
        """Take the JSON of one event."""

    def take_whole(self, value: object) -> None:
        """Take the JSON of a reply that was not streamed for all that."""

    @property
    def whole(self) -> bool:
        """Whether the answer is whole."""

    @property
    def enough(self) -> bool:
        """Whether nothing more is wanted, not even the count of tokens."""

    @property
    def shown(self) -> int:
        """How many characters were shown, so that nothing can be tried again."""


class RefusedError(InputError):
    """The endpoint refused a request.

    Attributes:
        detail: the endpoint's own message.
    """

    def __init__(self, message: str, status: int, detail: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.detail = detail


class _PassingError(Exception):
    """What may be gone at the next try.

    Attributes:
        wait: seconds that the server asks for.
    """

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class Transport:
    """Makes requests to one endpoint."""

    def __init__(self, endpoint: Endpoint, patience: Patience) -> None:
        self.endpoint = endpoint
        self._patience = patience
        self._http: httpx.AsyncClient | None = None

    async def post(self, path: str, body: Mapping[str, object]) -> object:
        """Ask, and return the JSON that is answered."""

        async def once() -> object:
            async with self._asked(path, body) as response:
                return await self._json(response)

        return await self._patiently(once)

    async def stream(self, path: str, body: Mapping[str, object], sink: Sink) -> None:
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

        def may_go_on() -> str | None:
            if not sink.shown:
                return None
            return f" after {sink.shown:,} characters of the answer"

        await self._patiently(once, may_go_on)

    async def close(self) -> None:
        """Close all connections."""
        if self._http is not None:
            http, self._http = self._http, None
            await http.aclose()

    async def _patiently(
        self,
        once: Callable[[], Awaitable[_T]],
        spoilt: Callable[[], str | None] = lambda: None,
    ) -> _T:
        """Try until it works; `spoilt` says why it cannot be tried again, if so."""
        patience = self._patience
        reason = "no answer"
        try:
            async with asyncio.timeout(patience.total):
                for attempt in range(patience.attempts):
                    try:
                        return await once()
                    except _PassingError as error:
                        reason, wait = str(error), error.wait
                    if spoilt() or attempt + 1 == patience.attempts or wait > _LONGEST_WAIT:
                        break
                    seconds = min(patience.pause * 2**attempt, patience.longest_pause)
                    await pause(max(wait, seconds * random.uniform(0.5, 1)))  # noqa: S311
        except TimeoutError:
            reason = f"no answer within {patience.total:g} seconds ({reason})"
        raise UnavailableError(
            self._hidden(
                f"{self.endpoint.url} does not answer: {reason}{spoilt() or ''}. Check that the server runs."
            )
        )

    @asynccontextmanager
    async def _asked(self, path: str, body: Mapping[str, object]) -> AsyncIterator[httpx.Response]:
        """Make one request, and give its response when that is a good one."""
        import httpx

        url = httpx.URL(self.endpoint.url + path)
        try:
            for _ in range(_MAX_REDIRECTS):
                client = self._client()
                request = client.build_request("POST", url, json=body)
                response = await client.send(request, stream=True)
                try:
                    if response.has_redirect_location:
                        url = self._redirected(url, response)
                        continue
                    await self._check(response, path)
                    yield response
                    return
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
        raise self._wrong("endless redirection", "an answer")

    def _client(self) -> httpx.AsyncClient:
        import httpx

        if self._http is None:
            patience = self._patience
            timeout = httpx.Timeout(patience.read, connect=patience.connect, pool=None)
            # A coding could hide how much there is.
            headers = {"Accept-Encoding": "identity", **self.endpoint.headers}
            try:
                self._http = httpx.AsyncClient(
                    headers=headers,
                    verify=_certificates(),
                    timeout=timeout,
                    follow_redirects=False,
                    limits=httpx.Limits(max_connections=None),
                )
            except (ImportError, OSError, ValueError) as error:
                raise UnavailableError(
                    f"Network settings are invalid ({error}). Check HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE."
                ) from error
        return self._http

    def _redirected(self, url: httpx.URL, response: httpx.Response) -> httpx.URL:
        """Return where a redirection leads; to no other host, for it would get the key."""
        target = url.join(response.headers["Location"])
        same = (url.scheme, url.host, url.port) == (target.scheme, target.host, target.port)
        if not same or response.status_code not in {307, 308}:
            where = f"{target.scheme}://{target.host}{target.path}"[:300]
            raise InputError(
                self._hidden(
                    f"{self.endpoint.url} redirects to {where} (HTTP {response.status_code})."
                ),
                hint="If you trust that address, give it as --base-url.",
            )
        return target

    async def _check(self, response: httpx.Response, path: str) -> None:
        """See that a response is an answer."""
        status = response.status_code
        if 200 <= status < 300:
            coding = response.headers.get("Content-Encoding", "identity")
            if coding != "identity":
                raise self._wrong(f"content coded as {coding!r}", "plain content")
            return
        detail = self._hidden(await read_error(response))
        reason = f"HTTP status {status} {response.reason_phrase}".rstrip()
        shown = f"{reason}{f': {cut(detail)}' if detail else ''}"
        if status in _RETRIED or status >= 500:
            raise _PassingError(shown, pause_asked(response.headers.get("Retry-After")))
        advice = {
            401: "Set SEMQA_API_KEY to a valid key.",
            403: "Set SEMQA_API_KEY to a key with permission.",
            404: "Check --base-url (such as …/v1) and the model.",
        }.get(status)
        raise RefusedError(
            f"{self.endpoint.url}{path} refused the request: {shown}.", status, detail, hint=advice
        )

    async def _json(self, response: httpx.Response) -> object:
        data = await read_body(response, MAX_BYTES)
        if data is None:
            raise self._wrong(f"more than {MAX_BYTES:,} bytes", "an answer")
        try:
            return json.loads(self._hidden(data.decode("utf-8")))
        except (ValueError, RecursionError) as error:
            kind = response.headers.get("Content-Type", "no content type")
            start = cut(self._hidden(data.decode("utf-8", "replace")))
            raise self._wrong(f"{kind} that begins {start!r}", "JSON") from error

    async def _read_events(self, response: httpx.Response, sink: Sink) -> None:
        reader, size = EventReader(), 0
        try:
            async with aclosing(_blocks(response, sink)) as blocks:
                async for block in blocks:
                    size += len(block)
                    if size > MAX_BYTES:
                        raise self._wrong(f"a stream of more than {MAX_BYTES:,} bytes", "an answer")
                    for data in reader.add(block):
                        if data == "[DONE]":
                            return
                        sink.take(json.loads(self._hidden(data)))
                        if sink.enough:
                            return
            for data in reader.end():
                if data != "[DONE]":
                    sink.take(json.loads(self._hidden(data)))
        except (ValueError, RecursionError) as error:
            raise self._wrong(f"a stream with {cut(str(error))}", "events in JSON") from error

    def _wrong(self, got: str, expected: str) -> UnavailableError:
        return UnavailableError(
            self._hidden(
                f"{self.endpoint.url} is not an OpenAI-compatible endpoint: got {got}, expected {expected}. Check --base-url (such as http://localhost:8000/v1)."
            )
        )

    def _hidden(self, text: str) -> str:
        return self.endpoint.hide(text)


@cache
def _certificates() -> ssl.SSLContext:
    """Return the certificates to trust, which take a tenth of a second to read."""
    import httpx

    return httpx.create_ssl_context()


async def _blocks(response: httpx.Response, sink: Sink) -> AsyncGenerator[bytes]:
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
