"""HTTP client for OpenAI-compatible endpoints, and the form of requests to one of their models.

The `openai` client is not used because it reads responses without a size limit, sends the key to
other hosts on redirects, and shows the key in errors.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Self, TypeVar
from urllib.parse import urlsplit

from semqa.engines.openai.replies import (
    Piece,
    StreamAccumulator,
    check_length,
    read_context,
    read_reply,
)
from semqa.engines.options import OpenAIOptions
from semqa.errors import InputError, UnavailableError
from semqa.prompting import Form, Prompt

if TYPE_CHECKING:
    import httpx

_URL_VARIABLES = ("SEMQA_BASE_URL", "OPENAI_BASE_URL")
_KEY_VARIABLES = ("SEMQA_API_KEY", "OPENAI_API_KEY")
_HIDDEN = "<key>"

HOSTED = "https://api.openai.com/v1"
"""OpenAI's own endpoint, the default."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint URL such as ``http://localhost:8000/v1``, without a trailing slash."""

    url: str
    key: str | None = field(default=None, repr=False)

    @classmethod
    def find(cls, base_url: str | None = None, api_key: str | None = None) -> Self:
        """Return the given endpoint, with defaults from the environment.

        Args:
            base_url: by default ``SEMQA_BASE_URL``, ``OPENAI_BASE_URL`` or OpenAI's own endpoint.
            api_key: by default ``SEMQA_API_KEY`` or ``OPENAI_API_KEY``, in reverse order for
                OpenAI's own endpoint. Empty for no key.
        """
        url = _check_url(_from_environment(base_url, _URL_VARIABLES) or HOSTED)
        hosted = urlsplit(url).hostname == urlsplit(HOSTED).hostname
        key = _check_key(
            _from_environment(api_key, _KEY_VARIABLES[::-1] if hosted else _KEY_VARIABLES)
        )
        if hosted and key is None:
            raise InputError(
                f"{HOSTED} needs an API key: set {_KEY_VARIABLES[1]} or {_KEY_VARIABLES[0]}. For another endpoint, give "
                f"its address (--base-url, for a judge --judge-url) or set {_URL_VARIABLES[0]}."
            )
        return cls(url, key)

    def hide(self, text: str) -> str:
        """Mask the key in a text, because some servers repeat it in errors."""
        return text if not self.key else text.replace(self.key, _HIDDEN)


def default_url() -> str:
    """Return the URL that is used if none is given."""
    return _from_environment(None, _URL_VARIABLES) or HOSTED


def _from_environment(value: str | None, names: tuple[str, ...]) -> str:
    found = value if value is not None else next(filter(None, map(os.environ.get, names)), "")
    return found.strip()


def _check_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.username is not None or parts.password is not None:
        # Do not show the URL, as it may contain a secret.
        raise InputError(
            f"must not contain a user name or password; set a key in {_KEY_VARIABLES[0]}.",
            field="base_url",
        )
    if parts.scheme not in {"http", "https"} or not host or parts.query or parts.fragment:
        raise InputError(
            f"must be an http or https address such as http://localhost:8000/v1, got {url!r}.",
            field="base_url",
        )
    return url.rstrip("/")


def _check_key(key: str) -> str | None:
    if not key:
        return None
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InputError(
            f"contains white space or other invalid characters. Check {_KEY_VARIABLES[0]} and {_KEY_VARIABLES[1]} for a line break or a quotation mark.",
            field="api_key",
        )
    return key


MAX_BYTES = 32 << 20
"""Maximum size of a reply."""

_MAX_ERROR = _MAX_EVENT = 1 << 20
_MESSAGE_LENGTH = 300
CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 300.0
"""Seconds to wait for data; without streaming, none arrives until the answer is finished."""

ATTEMPTS = 5
_TRANSIENT_STATUS = frozenset({408, 409, 425, 429})
_MAX_RETRY_AFTER = 120.0
_FIRST_DELAY, _MAX_DELAY = 0.5, 20.0
_TRAILER_TIMEOUT = 5.0
_T = TypeVar("_T")

pause = asyncio.sleep


class RefusedError(InputError):
    """The endpoint rejected a request.

    Attributes:
        detail: the endpoint's own message.
        param: the invalid field, if the endpoint named it.
    """

    def __init__(
        self, message: str, status: int, detail: str, param: object, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.detail = detail
        self.param = param


class _TransientError(Exception):
    """A failure worth retrying, after `wait` seconds if the server requested that."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class Transport:
    """Sends requests to one endpoint; `timeout` is in seconds and includes retries."""

    def __init__(self, endpoint: Endpoint, timeout: float) -> None:
        self.endpoint = endpoint
        self._timeout = timeout
        self._http: httpx.AsyncClient | None = None

    async def post(self, path: str, body: Mapping[str, object]) -> object:
        """Send a request and return the JSON response."""

        async def attempt() -> object:
            async with self._response(path, body) as response:
                return await self._json(response)

        return await self._with_retries(attempt)

    async def get(self, path: str) -> object:
        """Return the JSON at a path, or None if the request fails; it is not retried."""
        with suppress(InputError, UnavailableError, _TransientError, TimeoutError):
            async with asyncio.timeout(CONNECT_TIMEOUT), self._response(path) as response:
                return await self._json(response)
        return None

    async def stream(
        self, path: str, body: Mapping[str, object], accumulator: StreamAccumulator
    ) -> None:
        """Request a stream and pass its events to `accumulator` until the answer is complete.

        A broken connection is retried only if no text has been shown yet.
        """

        async def attempt() -> None:
            accumulator.begin()
            try:
                async with self._response(path, body) as response:
                    if "event-stream" in response.headers.get("Content-Type", ""):
                        await self._read_events(response, accumulator)
                    else:
                        accumulator.add(await self._json(response), event=False)
            except _TransientError:
                if not accumulator.complete:  # only the token counts may be missing
                    raise
            if not accumulator.complete:
                raise _TransientError("a stream that ended before the answer did")

        await self._with_retries(attempt, accumulator)

    async def close(self) -> None:
        """Close all connections."""
        if self._http is not None:
            http, self._http = self._http, None
            await http.aclose()

    async def _with_retries(
        self, send: Callable[[], Awaitable[_T]], accumulator: StreamAccumulator | None = None
    ) -> _T:
        """Retry transient failures, unless `accumulator` has already shown text."""
        reason = "no answer"
        try:
            async with asyncio.timeout(self._timeout):
                for number in range(ATTEMPTS):
                    try:
                        return await send()
                    except _TransientError as error:
                        reason, wait = str(error), error.wait
                    shown = accumulator is not None and accumulator.shown > 0
                    if shown or number + 1 == ATTEMPTS or wait > _MAX_RETRY_AFTER:
                        break
                    seconds = min(_FIRST_DELAY * 2**number, _MAX_DELAY)
                    await pause(max(wait, seconds * random.uniform(0.5, 1)))  # noqa: S311
        except TimeoutError:
            reason = f"no answer within {self._timeout:g} seconds ({reason})"
        if accumulator is not None and accumulator.shown:
            reason += f" after {accumulator.shown:,} characters of the answer"
        raise UnavailableError(
            self.endpoint.hide(
                f"{self.endpoint.url} does not answer: {reason}. Check that the server is running."
            )
        )

    @asynccontextmanager
    async def _response(
        self, path: str, body: Mapping[str, object] | None = None
    ) -> AsyncIterator[httpx.Response]:
        """Send one request and yield the response; raise if its status is an error."""
        import httpx

        try:
            client = self._client()
            method = "GET" if body is None else "POST"
            request = client.build_request(method, self.endpoint.url + path, json=body)
            response = await client.send(request, stream=True)
            try:
                await self._check(response, path)
                yield response
            finally:
                # If this were cancelled half-way, the connection would never be closed.
                await asyncio.shield(response.aclose())
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
            raise InputError(
                f"is not a valid address: {self.endpoint.url!r} ({error}).", field="base_url"
            ) from error
        except httpx.TransportError as error:
            message = str(error)
            raise _TransientError(
                type(error).__name__ + (f" ({message})" if message else "")
            ) from error

    def _client(self) -> httpx.AsyncClient:
        import httpx

        if self._http is None:
            key = self.endpoint.key
            try:
                authorization = {"Authorization": f"Bearer {key}"} if key else {}
                self._http = httpx.AsyncClient(
                    # Compressed data could fill the memory before its size is checked.
                    headers={"Accept-Encoding": "identity", **authorization},
                    verify=_certificates(),
                    timeout=httpx.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT, pool=None),
                    follow_redirects=False,  # would send the key to another host
                    limits=httpx.Limits(max_connections=None),
                )
            except (ImportError, OSError, ValueError) as error:
                raise UnavailableError(
                    f"Network settings are invalid ({error}). Check HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE."
                ) from error
        return self._http

    async def _check(self, response: httpx.Response, path: str) -> None:
        """Raise if a response is an error."""
        status, hide = response.status_code, self.endpoint.hide
        coding = response.headers.get("Content-Encoding", "identity")
        if coding != "identity":
            raise self._invalid(f"content coded as {truncate(coding)!r}", "plain content")
        if 200 <= status < 300:
            return
        if 300 <= status < 400:
            target = response.headers.get("Location", "")
            raise InputError(
                hide(f"{self.endpoint.url} redirects to {truncate(target)!r} (HTTP {status})."),
                hint="If you trust that address, give it as --base-url.",
            )
        detail, param = await _read_error(response)
        detail = hide(detail)
        reason = f"HTTP status {status} {response.reason_phrase}".rstrip()
        shown = f"{reason}{f': {truncate(detail)}' if detail else ''}"
        if status in _TRANSIENT_STATUS or status >= 500:
            wait = _parse_retry_after(response.headers.get("Retry-After"))
            raise _TransientError(shown, wait)
        advice = {
            401: "Set SEMQA_API_KEY to a valid key.",
            403: "Set SEMQA_API_KEY to a key with permission.",
            404: "Check --base-url (such as …/v1) and the model.",
        }.get(status)
        raise RefusedError(
            f"{self.endpoint.url}{path} refused the request: {shown}.",
            status,
            detail,
            param,
            hint=advice,
        )

    async def _json(self, response: httpx.Response) -> object:
        data = await _read_body(response, MAX_BYTES)
        if data is None:
            raise self._invalid(f"more than {MAX_BYTES:,} bytes")
        try:
            return json.loads(self.endpoint.hide(data.decode("utf-8")))
        except (ValueError, RecursionError) as error:
            kind = response.headers.get("Content-Type", "no content type")
            start = truncate(self.endpoint.hide(data.decode("utf-8", "replace")))
            raise self._invalid(f"{kind} that begins {start!r}", "JSON") from error

    async def _read_events(self, response: httpx.Response, accumulator: StreamAccumulator) -> None:
        """Pass the events of a stream (lines ``data: JSON``) to `accumulator` until ``[DONE]``."""
        rest, size = b"", 0
        try:
            async with aclosing(_blocks(response, accumulator)) as blocks:
                async for block in blocks:
                    size += len(block)
                    if size > MAX_BYTES:
                        raise self._invalid(f"a stream of more than {MAX_BYTES:,} bytes")
                    *lines, rest = (rest + block).split(b"\n")
                    if len(rest) > _MAX_EVENT:
                        raise self._invalid(f"an event of more than {_MAX_EVENT:,} bytes")
                    for line in lines:
                        if self._handle_line(line, accumulator):
                            return
            self._handle_line(rest, accumulator)
        except (ValueError, RecursionError) as error:
            raise self._invalid(
                f"a stream with {truncate(str(error))}", "events in JSON"
            ) from error

    def _handle_line(self, line: bytes, accumulator: StreamAccumulator) -> bool:
        """Pass the event of a line, if any, to `accumulator`; return whether to stop reading."""
        name, _, data = line.strip().partition(b":")
        if name != b"data":
            return False
        if (data := data.strip()) == b"[DONE]":
            return True
        accumulator.add(json.loads(self.endpoint.hide(data.decode("utf-8"))))
        return accumulator.done

    def _invalid(self, got: str, expected: str = "an answer") -> UnavailableError:
        return UnavailableError(
            self.endpoint.hide(
                f"{self.endpoint.url} is not an OpenAI-compatible endpoint: got {got}, expected {expected}. Check --base-url (such as http://localhost:8000/v1)."
            )
        )


@cache
def _certificates() -> ssl.SSLContext:
    """Return the trusted certificates; cached because loading takes 0.1 seconds."""
    import httpx

    return httpx.create_ssl_context()


async def _blocks(
    response: httpx.Response, accumulator: StreamAccumulator
) -> AsyncGenerator[bytes]:
    """Yield the blocks of a stream; once the answer is complete, wait only briefly for more."""
    blocks = response.aiter_raw()
    while True:
        try:
            async with asyncio.timeout(_TRAILER_TIMEOUT if accumulator.complete else None):
                block = await anext(blocks, None)
        except TimeoutError:
            return
        if block is None:
            return
        yield block


async def _read_body(response: httpx.Response, limit: int) -> bytes | None:
    """Return the body, or None if it exceeds `limit` bytes."""
    blocks, size = [], 0
    async for block in response.aiter_raw():
        size += len(block)
        if size > limit:
            return None
        blocks.append(block)
    return b"".join(blocks)


async def _read_error(response: httpx.Response) -> tuple[str, object]:
    """Return the endpoint's own error message, and the invalid field if it is named."""
    data = await _read_body(response, _MAX_ERROR) or b""
    text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ("" if "html" in response.headers.get("Content-Type", "") else text.strip()), None
    param = None
    for name in ("error", "message", "detail"):
        if isinstance(value, dict) and value.get(name):
            param = value.get("param", param)
            value = value[name]
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)), param


def _parse_retry_after(retry_after: str | None) -> float:
    """Parse a Retry-After header (a number or a date) into seconds."""
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


def truncate(text: str) -> str:
    """Truncate a text for use in a message."""
    return text if len(text) <= _MESSAGE_LENGTH else text[: _MESSAGE_LENGTH - 1] + "…"


_NO_TEMPLATE = re.compile(r"chat[ _]template", re.IGNORECASE)
_NO_TEMPERATURE = re.compile(
    r"(?:unsupported|not support).{0,80}temperature|temperature.{0,80}(?:unsupported|not support)",
    re.IGNORECASE | re.DOTALL,
)
_NO_SYSTEM = re.compile(r"system.{0,20}role|role.{0,20}system", re.IGNORECASE | re.DOTALL)


class RemoteModel:
    """Sends requests to one model of an endpoint, adapting their form when one is rejected."""

    def __init__(self, name: str, transport: Transport) -> None:
        self.name = name
        self.transport = transport
        self.has_chat: bool | None = None
        self.takes_schemas = True
        self._has_system = True
        self._has_temperature = True
        self._budget = "max_tokens"

    def chats(self, form: Form) -> bool:
        """Whether prompts of this form are sent as chat messages, as far as is known."""
        return form != "completion" and (form == "chat" or self.has_chat is not False)

    async def context(self) -> int | None:
        """Return the context that the endpoint lists for the model, in tokens, if any."""
        return read_context(await self.transport.get("/models"), self.name)

    async def ask(
        self,
        prompt: Prompt,
        options: OpenAIOptions,
        fields: Mapping[str, object],
        budget: int | None = None,
    ) -> Piece:
        """Return the model's reply."""
        max_tokens = budget or options.max_new_tokens

        async def send(*, chat: bool) -> Piece:
            path, body = self._request(prompt, options, max_tokens, chat=chat)
            piece = read_reply(await self.transport.post(path, {**body, **fields}), chat=chat)
            check_length(len(piece.text), max_tokens)
            return piece

        return await self._with_fallback(prompt, send)

    async def stream(
        self,
        prompt: Prompt,
        options: OpenAIOptions,
        fields: Mapping[str, object],
        make_accumulator: Callable[[bool], StreamAccumulator],
    ) -> None:
        """Pass the events of the reply to an accumulator made for a chat or a completion."""
        all_fields = {**fields, "stream": True, "stream_options": {"include_usage": True}}

        async def send(*, chat: bool) -> None:
            path, body = self._request(prompt, options, options.max_new_tokens, chat=chat)
            await self.transport.stream(path, {**body, **all_fields}, make_accumulator(chat))

        await self._with_fallback(prompt, send)

    async def _with_fallback(self, prompt: Prompt, send: Callable[..., Awaitable[_T]]) -> _T:
        """Send a request; if the endpoint rejects its form, adapt the form and send it again."""
        while True:
            chat, system, budget = self.chats(prompt.form), self._has_system, self._budget
            temperature = self._has_temperature
            try:
                return await send(chat=chat)
            except RefusedError as error:
                if chat and prompt.form == "auto" and _lacks_chat(error):
                    self.has_chat = False
                elif "max_completion_tokens" in error.detail and budget == "max_tokens":
                    self._budget = "max_completion_tokens"
                elif temperature and _NO_TEMPERATURE.search(error.detail):
                    self._has_temperature = False  # reasoning models do not support it
                elif chat and system and _NO_SYSTEM.search(error.detail):
                    self._has_system = False
                else:
                    raise

    def _request(
        self, prompt: Prompt, options: OpenAIOptions, budget: int, *, chat: bool
    ) -> tuple[str, dict[str, object]]:
        body: dict[str, object] = {
            "model": self.name,
            self._budget: budget,
            "seed": options.seed,
        }
        if self._has_temperature:
            body["temperature"] = options.temperature
        if options.top_p < 1 and self._has_temperature:
            body["top_p"] = options.top_p
        if options.top_k:
            body["top_k"] = options.top_k
        if chat:
            messages = prompt.messages if self._has_system else prompt.folded
            body["messages"] = [message.to_dict() for message in messages]
            return "/chat/completions", body
        body["prompt"] = prompt.text
        if prompt.stop:
            body["stop"] = list(prompt.stop)
        return "/completions", body


def _lacks_chat(error: RefusedError) -> bool:
    """Return whether an error means that chat is unavailable, not that the model is unknown."""
    if error.status == 400:
        return _NO_TEMPLATE.search(error.detail) is not None
    return error.status in {404, 405, 501} and "model" not in error.detail.casefold()
