"""How a server is set up: every setting in one record, checked when it is made."""

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

SHORTEST_KEY = 16
"""Characters of an API key."""


def _create(spec: str) -> Engine:
    from semqa.engines import create_engine

    return create_engine(spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The settings of a server.

    Attributes:
        host, port: where it listens; port 0 takes one that is free.
        reranker: a cross-encoder that reads passages that were found again; None for no reranking.
        database: URL of the database of conversations; None for SQLite in `data`.
        api_keys: keys that may use it, besides those in the database. Without any, it is open
            to everyone that reaches it.
        engines: specifications of the engines that may be asked for; the first one is the default.
        allowed_hosts: names that the server is reached by, besides addresses and names without a
            dot. A page of another name cannot use a server that asks for no key.
        allowed_origins: origins (``https://chat.example.org``) of pages elsewhere that may use the
            server from a browser (CORS); ``*`` stands for any that sends a key.
        public_url: address at which browsers reach the page, for links to passages; None for the
            one that a request names. Its path is where a proxy mounts the server.
        trusted_proxies: addresses of proxies whose ``X-Forwarded-For`` and ``X-Forwarded-Proto``
            are believed.
        citations: how quotes look in the text of chat completions and responses unless a request
            says so: ``plain``, ``numbered`` (``[1]`` behind each) or ``marked`` (in brackets).
        max_body: most bytes of a request.
        max_upload: most bytes of a request that uploads files.
        max_model_characters: most characters of all of them together where a language model is to
            read them; all of them are read, and paid for, with each question.
        rate_limit: most requests of one key in a minute; 0 for no limit.
        answers_at_once: most answers under way; others wait for their turn.
        answers_waiting: most answers that wait; more are refused.
        request_timeout: seconds until an answer must be there.
        read_timeout: seconds in which a client must send the next part of its request.
        write_timeout: seconds in which a client must take what it is sent.
        drain: seconds that open answers are given when the server stops.
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
            raise InputError("must name at least one.", field="engine")
        for key in self.api_keys:
            if len(key) < SHORTEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
                raise InputError(
                    f"must have at least {SHORTEST_KEY} printable ASCII characters and no space, got "
                    f"{len(key)} characters.",
                    field="api_key",
                    hint="semqa keys create makes one.",
                )
        for origin in self.allowed_origins:
            if origin != "*" and not (_ORIGIN.fullmatch(origin) and not _USUAL.search(origin)):
                raise InputError(
                    f"must be an origin as browsers send it, in lower case and without a usual port, "
                    f"got {origin!r}.",
                    field="allowed_origin",
                    value=origin,
                    hint="Write such as https://chat.example.org, or * for any.",
                )
        if self.public_url is not None and not _ADDRESS.fullmatch(self.public_url):
            raise InputError(
                f"must be an address such as https://example.org/semqa, got {self.public_url!r}.",
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
        """The path at which a proxy mounts the server; empty for none."""
        return urlsplit(self.public_url or "").path.rstrip("/")

    @property
    def store(self) -> str | Path:
        """The URL of the database, or the file of SQLite."""
        return self.database or self.data / "semqa.sqlite"


_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")

_USUAL = re.compile(r"^http://.*:0*80$|^https://.*:0*443$")
"""Ports that browsers leave away."""

_ADDRESS = re.compile(r"https?://[^\s/?#]+(?:/[^\s?#]*)?")

_LIMITS = (
    "max_body", "max_upload", "max_question", "max_sources", "max_source_characters",
    "max_model_characters", "max_documents", "answers_at_once", "rate_limit", "answers_waiting",
)  # fmt: skip
