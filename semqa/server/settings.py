"""The settings of the server, validated on creation."""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

from typer import Option

from semqa.checks import check_settings
from semqa.data.files import data_folder
from semqa.engines import create_engine
from semqa.errors import InputError

if TYPE_CHECKING:
    Texts = tuple[str, ...]
else:
    Texts = list[str]  # a repeatable flag

Citations = Literal["plain", "numbered", "marked"]

MIN_KEY_LENGTH = 16
"""Minimum length of an API key."""


def _server(*flag: str, **more: Any) -> Any:
    return Option(*flag, rich_help_panel="Server", **more)


def _many(flag: str, help: str, metavar: str) -> Any:  # noqa: A002 - as typer names it
    return _server(flag, help=f"{help}; repeatable.", show_default=False, metavar=metavar)


def _limit(help: str, least: float = 1) -> Any:  # noqa: A002
    return Option(help=help, min=least, rich_help_panel="Limits")


_TIMEOUT = 0.001
"""Minimum of a timeout in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The settings of a server that are also flags and environment variables."""

    host: Annotated[str, Option(help="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Option(help="Port to listen on; 0 for a free one.", min=0, max=65535)] = (
        8000
    )
    database: Annotated[
        str | None,
        _server(
            help="Database URL, such as postgresql+psycopg://user@host/name.",
            show_default="SQLite in the data folder",
            metavar="URL",
        ),
    ] = None
    api_keys: Annotated[
        Texts,
        Option(
            "--api-key",
            help="API key for clients; repeatable. Safer in the environment.",
            envvar="SEMQA_SERVE_API_KEY",
            show_default=False,
            metavar="KEY",
        ),
    ] = field(default=(), repr=False)
    reranker: Annotated[
        str | None,
        _server(
            help="Cross-encoder that reranks passages: a folder or a Hub name.",
            show_default="none",
            metavar="MODEL",
        ),
    ] = None
    allowed_hosts: Annotated[
        Texts, _many("--allowed-host", "Accepted host name, for a server without keys", "NAME")
    ] = ()
    allowed_origins: Annotated[
        Texts,
        _many(
            "--allowed-origin",
            "Origin allowed by CORS, such as https://chat.example.org",
            "ORIGIN",
        ),
    ] = ()
    public_url: Annotated[
        str | None,
        _server(
            help="Public address of the page, for links to passages.",
            show_default="that of the request",
            metavar="URL",
        ),
    ] = None
    trusted_proxies: Annotated[
        Texts,
        _many("--trusted-proxy", "Proxy trusted for X-Forwarded-For and -Proto", "ADDRESS"),
    ] = ()
    citations: Annotated[Citations, _server(help="Format of quotes for chat apps.")] = "plain"
    rate_limit: Annotated[int, _limit("Requests per minute and key; 0 for no limit.", 0)] = 0
    max_body: Annotated[int, _limit("Bytes per request.")] = 16 * 2**20
    max_upload: Annotated[int, _limit("Bytes per upload.")] = 128 * 2**20
    max_question: Annotated[int, _limit("Characters per question.")] = 8_000
    max_sources: Annotated[int, _limit("Sources per request.")] = 1_000
    max_source_characters: Annotated[
        int, _limit("Total characters of the sources per request.")
    ] = 4_000_000
    max_model_characters: Annotated[int, _limit("The same limit for language models.")] = 200_000
    max_documents: Annotated[int, _limit("PDF files per request to /v1/messages.")] = 50
    answers_at_once: Annotated[int, _limit("Concurrent answers.")] = 256
    answers_waiting: Annotated[int, _limit("Queued answers; more are refused.", 0)] = 1_024
    request_timeout: Annotated[float, _limit("Seconds until an answer times out.", _TIMEOUT)] = (
        120.0
    )
    read_timeout: Annotated[
        float, _limit("Seconds to wait for more data of a request.", _TIMEOUT)
    ] = 30.0
    write_timeout: Annotated[
        float, _limit("Seconds to wait for a client to read the response.", _TIMEOUT)
    ] = 30.0
    drain: Annotated[float, _limit("Seconds to finish open answers on shutdown.", _TIMEOUT)] = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings(ServerOptions):
    """The settings of a server.

    Attributes:
        engines: specifications of the engines that clients may choose; the first is the default.
        create: makes an engine from a specification.
    """

    data: Path = field(default_factory=data_folder)
    engines: tuple[str, ...] = ("extractive",)
    create: Callable[[str], Any] = field(default=create_engine, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("api_keys", "allowed_hosts", "allowed_origins", "trusted_proxies"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        check_settings(self)
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

    @property
    def library(self) -> Path:
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
