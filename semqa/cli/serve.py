"""`semqa serve`: the page, and interfaces for other programs, over HTTP."""

from __future__ import annotations

import ipaddress
import json
import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

import semqa
from semqa.cli.choice import choose, warm_up, with_default
from semqa.cli.engine_options import EngineOptions
from semqa.cli.options import RERANKER_HELP, did_you_mean, flag
from semqa.errors import InputError
from semqa.extras import require

if TYPE_CHECKING:
    from semqa.engines import Engine

_log = logging.getLogger("semqa.server")

_SERVER = "Server"
_LIMITS = "Limits"


def _option(help_text: str, panel: str | None, name: str, **more: Any) -> Any:
    envvar = more.pop("envvar", "SEMQA_" + name.upper())
    show = more.pop("show_default", True)
    return typer.Option(
        flag(name), help=help_text, rich_help_panel=panel, envvar=envvar, show_default=show, **more
    )


def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Take a file's settings as defaults, so that flags and the environment come before them."""
    if path is None:
        return None
    yaml = require("yaml", extra="serve", purpose="--config")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"The file cannot be read: {why}.", where=str(path)) from error
    try:
        settings = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        raise InputError(
            f"Invalid YAML: {getattr(error, 'problem', None) or error}.", where=where
        ) from error
    if settings is None:
        return path
    if not isinstance(settings, dict):
        raise InputError(
            f"Expected settings such as port: 8000, got {type(settings).__name__}.", where=str(path)
        )
    known = {str(each.name): each for each in context.command.params if each.name}
    given: dict[str, Any] = {}
    for key, value in settings.items():
        name = str(key).replace("-", "_")
        if name not in known or name in ("config", "help"):
            raise InputError(
                f"Unknown setting {key!r}.",
                where=str(path),
                hint=did_you_mean(str(key), known)
                or "Settings are the flags of semqa serve --help-all.",
            )
        if value is None:
            continue
        if known[name].nargs == 1 and getattr(known[name], "multiple", False):
            given[name] = [str(v) for v in (value if isinstance(value, list) else [value])]
        else:
            given[name] = json.dumps(value) if isinstance(value, (dict, list)) else value
    context.default_map = given
    return path


def serve(
    ctx: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option(
            help="YAML file of settings, such as port: 8000. Flags and SEMQA_* variables win.",
            callback=_read_config,
            is_eager=True,
            envvar="SEMQA_CONFIG",
            metavar="FILE",
        ),
    ] = None,
    host: Annotated[str, _option("Address to listen on.", None, "host")] = "127.0.0.1",
    port: Annotated[
        int, _option("Port to listen on; 0 for a free one.", None, "port", min=0, max=65535)
    ] = 8000,
    data: Annotated[
        Path | None,
        _option(
            "Folder of collections and conversations.",
            None,
            "data",
            show_default="~/.local/share/semqa",
            metavar="DIR",
        ),
    ] = None,
    database: Annotated[
        str | None,
        _option(
            "Database URL, such as postgresql+psycopg://user@host/name.",
            _SERVER,
            "database",
            show_default="SQLite in the data folder",
            metavar="URL",
        ),
    ] = None,
    api_key: Annotated[
        list[str] | None,
        _option(
            "Key that clients must send; repeatable. Safer in the environment or --config.",
            None,
            "api_key",
            envvar="SEMQA_SERVE_API_KEY",
            show_default=False,
            metavar="KEY",
        ),
    ] = None,
    engine: Annotated[
        list[str] | None,
        _option(
            "Engine, as for semqa answer; repeat it for engines that clients may choose from.",
            None,
            "engine",
            show_default="see semqa models",
            metavar="ENGINE",
        ),
    ] = None,
    reranker: Annotated[
        str | None,
        _option(RERANKER_HELP, _SERVER, "reranker", show_default="none", metavar="MODEL"),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        _option(
            "Host name of a server without keys; repeatable.",
            _SERVER,
            "allowed_host",
            show_default=False,
            metavar="NAME",
        ),
    ] = None,
    allowed_origin: Annotated[
        list[str] | None,
        _option(
            "Origin allowed by CORS, such as https://chat.example.org; repeatable.",
            _SERVER,
            "allowed_origin",
            show_default=False,
            metavar="ORIGIN",
        ),
    ] = None,
    public_url: Annotated[
        str | None,
        _option(
            "Address of the page for browsers, used in links to passages.",
            _SERVER,
            "public_url",
            show_default="that of the request",
            metavar="URL",
        ),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        _option(
            "Proxy whose X-Forwarded-For and -Proto to trust; repeatable.",
            _SERVER,
            "trusted_proxy",
            show_default=False,
            metavar="ADDRESS",
        ),
    ] = None,
    citations: Annotated[
        str,
        _option(
            "Quotes in texts for chat apps: plain, numbered or marked.",
            _SERVER,
            "citations",
        ),
    ] = "plain",
    rate_limit: Annotated[
        int, _option("Requests per key and minute; 0 for no limit.", _LIMITS, "rate_limit", min=0)
    ] = 0,
    max_body: Annotated[int, _option("Bytes per request.", _LIMITS, "max_body", min=1)] = 16
    * 2**20,
    max_upload: Annotated[int, _option("Bytes per upload.", _LIMITS, "max_upload", min=1)] = 128
    * 2**20,
    max_question: Annotated[
        int, _option("Characters per question.", _LIMITS, "max_question", min=1)
    ] = 8_000,
    max_sources: Annotated[
        int, _option("Sources per request.", _LIMITS, "max_sources", min=1)
    ] = 1_000,
    max_source_characters: Annotated[
        int,
        _option("Characters of all sources of a request.", _LIMITS, "max_source_characters", min=1),
    ] = 4_000_000,
    max_model_characters: Annotated[
        int,
        _option(
            "Characters of all sources for a language model.",
            _LIMITS,
            "max_model_characters",
            min=1,
        ),
    ] = 200_000,
    max_documents: Annotated[
        int, _option("PDF files per request to /v1/messages.", _LIMITS, "max_documents", min=1)
    ] = 50,
    answers_at_once: Annotated[
        int,
        _option("Concurrent answers.", _LIMITS, "answers_at_once", min=1),
    ] = 256,
    answers_waiting: Annotated[
        int, _option("Queued answers; more are refused.", _LIMITS, "answers_waiting", min=0)
    ] = 1_024,
    request_timeout: Annotated[
        float, _option("Seconds until an answer times out.", _LIMITS, "request_timeout")
    ] = 120.0,
    read_timeout: Annotated[
        float,
        _option(
            "Seconds to wait for more of a request.",
            _LIMITS,
            "read_timeout",
        ),
    ] = 30.0,
    write_timeout: Annotated[
        float,
        _option("Seconds to wait for a client to read.", _LIMITS, "write_timeout"),
    ] = 30.0,
    workers: Annotated[
        int, _option("Processes that answer; they share the data.", _SERVER, "workers", min=1)
    ] = 1,
    drain: Annotated[
        float, _option("Seconds to finish open answers on shutdown.", _LIMITS, "drain")
    ] = 30.0,
) -> None:
    """Serve a chat page and an API that answer from your documents.

    The page is at /. The API speaks OpenAI (/v1/responses, /v1/chat/completions), Anthropic
    (/v1/messages) and semqa's own form (/v1/answers); /openapi.json describes it.

    \b
    semqa serve
    semqa serve --host 0.0.0.0 --api-key "$KEY" --engine openai:gpt-4o-mini
    """  # noqa: D301 -- click reads the backspace
    del config
    for module in ("fastapi", "uvicorn", "prometheus_client", "multipart"):
        require(module, extra="serve", purpose="semqa serve")
    from semqa.server.running import log_to

    log_to()
    _log.info(f"semqa {semqa.__version__} starts")  # libraries and models take seconds to load
    listening, worker = None, 0
    if workers > 1:
        from semqa.server.processes import fork_workers
        from semqa.server.running import listen, reserve

        # Taken, but not listened at: the parent answers nothing.
        reserved = reserve(host, port)
        port = reserved.getsockname()[1]
        worker = fork_workers(workers)
        reserved.close()
        listening = listen(host, port, shared=True)
    from semqa.data.home import data_folder
    from semqa.server.app import create_app
    from semqa.server.running import Running
    from semqa.server.settings import ServerSettings

    options: EngineOptions
    first, options = with_default(engine[0] if engine else None, ctx.obj)
    engines = (first, *(engine or ())[1:])

    def create(spec: str) -> Engine:
        given = options
        if spec != engines[0]:
            # What was set for the first engine holds for others as far as they know it.
            given = replace(options, habits=frozenset(options.given()))
        return choose(spec, given).create()

    settings = ServerSettings(
        host=host,
        port=port,
        data=data_folder(data),
        reranker=reranker,
        database=database,
        api_keys=tuple(api_key or ()),
        engines=engines,
        create=create,
        allowed_hosts=tuple(allowed_host or ()),
        allowed_origins=tuple(allowed_origin or ()),
        public_url=public_url,
        trusted_proxies=tuple(trusted_proxy or ()),
        citations=cast("Any", citations),
        rate_limit=rate_limit,
        max_body=max_body,
        max_upload=max_upload,
        max_question=max_question,
        max_sources=max_sources,
        max_source_characters=max_source_characters,
        max_model_characters=max_model_characters,
        max_documents=max_documents,
        answers_at_once=answers_at_once,
        answers_waiting=answers_waiting,
        request_timeout=request_timeout,
        read_timeout=read_timeout,
        write_timeout=write_timeout,
        drain=drain,
    )
    app = create_app(settings)
    first_engine = app.state.shelf.get(engines[0])
    if options.values.get("constraint") != "off":
        warm_up(first_engine)
    if not worker:
        _warn(host, settings.api_keys, app.state.store)

    def ready() -> None:
        app.state.warming.begin()
        if worker:
            return
        address, data = http_address(host, running.port), str(settings.data)
        _log.info(
            f"semqa is at {address} with its data in {data}; Ctrl-C ends it",
            extra={"address": address, "data": data},
        )

    running = Running(app, settings, ready, listening)
    try:
        running.run()
    finally:
        app.state.warming.end(_leave)


def _leave() -> None:
    """End the process at once; what was acknowledged is on the disk, and answers are finished."""
    logging.shutdown()
    os._exit(0)


def http_address(host: str, port: int) -> str:
    """Return the address at which a browser on this machine finds a server."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{shown}:{port}/"


def _warn(host: str, keys: tuple[str, ...], store: Any) -> None:
    try:
        private = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        private = False
    if private or keys or (store is not None and store.keys()):
        return
    _log.warning("anyone who reaches this address may use the server: give it a key with --api-key")
