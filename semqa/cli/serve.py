"""`semqa serve`: serve the chat page and the HTTP APIs."""

from __future__ import annotations

import ipaddress
import logging
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

import semqa
from semqa.cli.choice import EngineOptions, choose_each, warm_up
from semqa.cli.command import declared, taking
from semqa.cli.options import data_option
from semqa.data.files import data_folder
from semqa.extras import require
from semqa.server.settings import ServerOptions, ServerSettings

_log = logging.getLogger("semqa.server")


class ServeCommand(taking(EngineOptions, ServerOptions)):  # type: ignore[misc]
    """The command, whose server settings are also environment variables."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for param in declared(ServerOptions).params:
            param.envvar = param.envvar or f"SEMQA_{param.opts[0][2:].replace('-', '_').upper()}"


def serve(
    ctx: typer.Context,
    engine: Annotated[
        list[str] | None,
        typer.Option(
            help="Engine, as for semqa answer; repeatable, so that clients can choose.",
            envvar="SEMQA_ENGINE",
            show_default="see semqa models",
            metavar="ENGINE",
        ),
    ] = None,
    data: Annotated[Path | None, data_option()] = None,
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            help="Number of server processes.",
            envvar="SEMQA_WORKERS",
            rich_help_panel="Server",
        ),
    ] = 1,
) -> None:
    """Serve a chat page and an API that answer from your documents.

    The page is at /. The API is compatible with OpenAI (/v1/responses, /v1/chat/completions) and
    Anthropic (/v1/messages), and has semqa's own endpoints (/v1/answers). See /openapi.json.

    \b
    semqa serve
    semqa serve --host 0.0.0.0 --api-key "$KEY" --engine openai:gpt-4o-mini
    """  # noqa: D301 -- click reads the backspace
    for module in ("fastapi", "uvicorn", "sqlalchemy", "prometheus_client", "python_multipart"):
        require(module, extra="serve", purpose="semqa serve")
    engines, choice = choose_each(engine, ctx.obj[EngineOptions])
    settings = ServerSettings(
        **asdict(ctx.obj[ServerOptions]),
        data=data_folder(data),
        engines=engines,
        create=lambda spec: choice(spec).create(),
    )
    from semqa.server.running import log_to

    log_to()
    _log.info(f"starting semqa {semqa.__version__}")  # libraries and models take seconds to load
    listening, worker = None, 0
    if workers > 1:
        from semqa.server.processes import fork_workers
        from semqa.server.running import listen, reserve

        # Reserved but not listened on, because the parent process serves no requests.
        reserved = reserve(settings.host, settings.port)
        port = reserved.getsockname()[1]
        worker = fork_workers(workers)
        reserved.close()
        listening = listen(settings.host, port, shared=True)
    from semqa.server.app import create_app
    from semqa.server.running import Running

    app = create_app(settings)
    first = app.state.shelf.get(engines[0])  # the others are loaded with their first question
    if choice(engines[0]).constrained:
        warm_up(first)
    if not worker:
        _warn(settings.host, settings.api_keys, app.state.store)

    def ready() -> None:
        app.state.warming.begin()
        if worker:
            return
        address, data = http_address(settings.host, running.port), str(settings.data)
        everywhere = settings.host in ("0.0.0.0", "::")  # noqa: S104
        others = " and all other addresses of this machine," if everywhere else ""
        _log.info(
            f"semqa is at {address}{others} with its data in {data}; Ctrl-C stops it",
            extra={"address": address, "data": data},
        )

    running = Running(app, settings, ready, listening)
    try:
        running.run()
    finally:
        app.state.warming.end(_leave)


def _leave() -> None:
    """Exit at once: answers are finished and acknowledged data is on disk."""
    logging.shutdown()
    os._exit(0)


def http_address(host: str, port: int) -> str:
    """Return the address of a server for a browser on this machine."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{shown}:{port}/"


def _warn(host: str, keys: tuple[str, ...], store: Any) -> None:
    try:
        private = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        private = False
    if private or keys or (store is not None and store.keys()):
        return
    _log.warning("anyone who can reach this address may use the server; set a key with --api-key")
