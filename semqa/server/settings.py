"""The settings of the server, validated on creation."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args
from urllib.parse import urlsplit

from semqa.data.home import data_folder
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from semqa.engines import Engine

Citations = Literal["plain", "numbered", "marked"]

MIN_KEY_LENGTH = 16
"""Minimum length of an API key."""


def _create(spec: str) -> Engine:
    from semqa.engines import create_engine

    return create_engine(spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The settings of a server.

    Attributes:
        host, port: address to listen on; port 0 picks a free port.
        data: the data folder.
        reranker: cross-encoder that reranks retrieved passages; None for no reranking.
        database: URL of the database of conversations; None for SQLite in `data`.
        api_keys: accepted API keys, in addition to those in the database. If there are no keys at
            all, the server accepts everyone.
        engines: specifications of the engines that clients may choose; the first is the default.
        create: makes an engine from a specification.
        allowed_hosts: accepted host names, in addition to IP addresses and names without a dot.
            Without API keys, requests with any other ``Host`` are refused.
        allowed_origins: origins (``https://chat.example.org``) of other sites that may call the
            server from a browser (CORS); ``*`` allows every origin, with a key.
        public_url: public URL of the page, used in links to passages; None to take it from each
            request. Its path is where a proxy mounts the server.
        trusted_proxies: addresses of proxies whose ``X-Forwarded-For`` and ``X-Forwarded-Proto``
            headers are trusted.
        citations: default format of quotes in chat completions and responses: ``plain``,
            ``numbered`` (``[1]`` after each quote) or ``marked`` (in brackets).
        max_body: maximum size of a request, in bytes.
        max_upload: maximum size of a file upload, in bytes.
        max_question: maximum length of a question, in characters.
        max_sources: maximum number of sources per request.
        max_source_characters: maximum total length of the sources of a request.
        max_model_characters: the same if a language model reads them: each question sends all of
            them to the model.
        max_documents: maximum number of files per request to ``/v1/messages``.
        rate_limit: maximum requests per key and minute; 0 for no limit.
        answers_at_once: maximum number of concurrent answers; further requests queue.
        answers_waiting: maximum queue length; further requests are refused.
        request_timeout: timeout of an answer, in seconds.
        read_timeout: timeout for receiving the next part of a request, in seconds.
        write_timeout: timeout for sending to a slow client, in seconds.
        drain: how long open answers may take when the server stops, in seconds.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    data: Path = field(default_factory=data_folder)
    reranker: str | None = None
    database: str | None = None
    api_keys: tuple[str, ...] = field(default=(), repr=False)
    engines: tuple[str, ...] = ("extractive",)
    create: Callable[[str], Engine] = field(default=_create, repr=False, compare=False)
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    public_url: str | None = None
    trusted_proxies: tuple[str, ...] = ()
    citations: Citations = "plain"
    max_body: int = 16 * 2**20
    max_upload: int = 128 * 2**20
    max_question: int = 8_000
    max_sources: int = 1_000
    max_source_characters: int = 4_000_000
    max_model_characters: int = 200_000
    max_documents: int = 50
    rate_limit: int = 0
    answers_at_once: int = 256
    answers_waiting: int = 1_024
    request_timeout: float = 120.0
    read_timeout: float = 30.0
    write_timeout: float = 30.0
    drain: float = 30.0

    def __post_init__(self) -> None:
        """Raise if a setting is invalid."""
        if not 0 <= self.port <= 65535:
            raise InputError(f"must be from 0 to 65535, got {self.port}.", field="port")
        if not self.engines:
            raise InputError("must name at least one engine.", field="engine")
        for key in self.api_keys:
            if (
                len(key) < MIN_KEY_LENGTH
                or not key.isascii()
                or not key.isprintable()
                or " " in key
            ):
                raise InputError(
                    f"must have at least {MIN_KEY_LENGTH} printable ASCII characters and no spaces, "
                    f"got {len(key)} characters.",
                    field="api_key",
                    hint="Create one with: semqa keys create",
                )
        for origin in self.allowed_origins:
            if origin != "*" and not (
                _ORIGIN.fullmatch(origin) and not _DEFAULT_PORT.search(origin)
            ):
                raise InputError(
                    f"must be an origin in lower case without the default port, got {origin!r}.",
                    field="allowed_origin",
                    value=origin,
                    hint="Use the form https://chat.example.org, or * for any origin.",
                )
        if self.public_url is not None and not _ADDRESS.fullmatch(self.public_url):
            raise InputError(
                f"must be a URL such as https://example.org/semqa, got {self.public_url!r}.",
                field="public_url",
                value=self.public_url,
            )
        for proxy in self.trusted_proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError:
                raise InputError(
                    f"must be an IP address or network, got {proxy!r}.",
                    field="trusted_proxy",
                    value=proxy,
                ) from None
        if self.citations not in get_args(Citations):
            raise InputError(
                f"must be one of {', '.join(get_args(Citations))}, got {self.citations!r}.",
                field="citations",
                value=self.citations,
            )
        for name in _LIMITS:
            value, least = getattr(self, name), int(name not in ("rate_limit", "answers_waiting"))
            if value < least:
                raise InputError(f"must be at least {least}, got {value}.", field=name, value=value)
        for name in ("request_timeout", "read_timeout", "write_timeout", "drain"):
            if not getattr(self, name) > 0:
                raise InputError(f"must be above 0 seconds, got {getattr(self, name)}.", field=name)

    @property
    def library(self) -> Path:
        """The folder of the collections."""
        return self.data / "library"

    @property
    def root_path(self) -> str:
        """The path at which a proxy mounts the server, or an empty string."""
        return urlsplit(self.public_url or "").path.rstrip("/")

    @property
    def store(self) -> str | Path:
        """The URL of the database, or the path of the SQLite file."""
        return self.database or self.data / "semqa.sqlite"


_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")

_DEFAULT_PORT = re.compile(r"^http://.*:0*80$|^https://.*:0*443$")
"""Default ports, which browsers omit from an origin."""

_ADDRESS = re.compile(r"https?://[^\s/?#]+(?:/[^\s?#]*)?")

_LIMITS = (
    "max_body", "max_upload", "max_question", "max_sources", "max_source_characters",
    "max_model_characters", "max_documents", "answers_at_once", "rate_limit", "answers_waiting",
)  # fmt: skip
