"""The application: its routes, its middleware and the services behind them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool

import semqa
from semqa.data.files import make_folder
from semqa.engines.extractive import ExtractiveEngine
from semqa.retrieval.passages import Library
from semqa.server import answers, chat, collections, conversations, engines, messages, responses
from semqa.server.answering import Answering
from semqa.server.engines import EngineRegistry
from semqa.server.errors import ErrorOut, add_handlers, errors
from semqa.server.measures import Measures
from semqa.server.middleware import PAGE_POLICY, RequestMiddleware
from semqa.server.settings import ServerSettings
from semqa.server.store import open_store
from semqa.server.work import DocumentWorkers, LibraryLoader, Workers, in_background

_log = logging.getLogger("semqa.server")

_PAGE = StaticFiles(directory=Path(__file__).parent / "page")
_operation = APIRouter()


@_operation.get("/", include_in_schema=False)
async def page(request: Request) -> Response:
    """Return the page."""
    reply = await _PAGE.get_response("index.html", request.scope)
    reply.headers["content-security-policy"] = PAGE_POLICY
    return reply


@_operation.get("/healthz", tags=["operation"])
async def alive() -> JSONResponse:
    """Return 200 if the process is running."""
    return JSONResponse({"status": "ok"})


@_operation.get("/readyz", tags=["operation"])
async def ready(request: Request) -> JSONResponse:
    """Return 200 if the server can answer questions, and the state of the encoder."""
    state = request.app.state
    why = "" if state.ready else "The server is starting or shutting down."
    if not why:
        try:
            await run_in_threadpool(state.store.check)
        except Exception:  # noqa: BLE001  (any failure means that it is not ready)
            _log.warning("the database is unavailable", exc_info=True)
            why = "The database is unavailable."
    body = {"status": "not ready" if why else "ok", "encoder": state.warming.state}
    return JSONResponse({**body, "reason": why} if why else body, 503 if why else 200)


@_operation.get("/metrics", tags=["operation"], response_class=Response)
async def metrics(request: Request) -> Response:
    """Return metrics in the Prometheus text format."""
    text = await run_in_threadpool(request.app.state.measures.text)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


_ROUTERS = (
    answers.router,
    chat.router,
    responses.router,
    messages.router,
    engines.router,
    collections.router,
    conversations.router,
)


def create_app(settings: ServerSettings, *, library: Any = None, store: Any = None) -> FastAPI:
    """Make the application."""
    if library is None:
        make_folder(settings.library, private=True)
        read_ahead = in_background(ExtractiveEngine().read_ahead)
        library = Library(settings.library, reranker=settings.reranker, read_ahead=read_ahead)
    if store is None:
        store = open_store(settings)
    registry = EngineRegistry(settings.engines, settings.create)
    workers = Workers(settings.answers_at_once, settings.answers_waiting, settings.request_timeout)
    measures = Measures(lambda: workers.under_way)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.ready = True
        try:
            yield
        finally:
            app.state.ready = False
            workers.close()
            await run_in_threadpool(registry.close)
            await run_in_threadpool(store.close)

    app = FastAPI(
        title="semqa",
        summary="Answers whose every claim is a quote that a reader can check at a glance.",
        description="Offsets are Unicode code points, 0-based, end exclusive.",
        version=semqa.__version__,
        docs_url=None,  # its pages load scripts from a CDN
        redoc_url=None,
        lifespan=lifespan,
        responses=errors(401, 403, 429, 500),
    )
    state = app.state
    state.settings, state.library, state.store, state.ready = settings, library, store, False
    state.shelf, state.workers, state.measures = registry, workers, measures
    state.answering = Answering(registry, workers, measures)
    state.document_workers = DocumentWorkers()
    state.warming = LibraryLoader(library)
    add_handlers(app)
    for router in _ROUTERS:
        app.include_router(router, responses=errors(400, 404, 408, 413, 503, 504, 507))
    app.include_router(_operation)
    app.mount("/page", _PAGE)
    _document(app)
    app.add_middleware(RequestMiddleware, settings=settings, store=store, measures=measures)
    if settings.allowed_origins:
        # Outermost, so that pages can read refusals; and preflight requests carry no key.
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.allowed_origins,
            allow_methods=["GET", "HEAD", "POST", "PATCH", "DELETE"],
            allow_headers=["*"],
            allow_private_network=True,  # public pages that call a server on this machine
            expose_headers=["x-request-id", "retry-after"],
        )
    return app


def _document(app: FastAPI) -> None:
    """Correct the OpenAPI schema: define `ErrorOut`, replace 422 by 400, declare bearer keys."""
    make = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is not None:
            return app.openapi_schema
        schema = make()
        for operations in schema["paths"].values():
            for operation in operations.values():
                operation["responses"].pop("422", None)
        parts = schema["components"]
        error = ErrorOut.model_json_schema(ref_template="#/components/schemas/{model}")
        parts["schemas"] |= {**error.pop("$defs"), "ErrorOut": error}
        for name in ("HTTPValidationError", "ValidationError"):
            parts["schemas"].pop(name, None)
        parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        schema["security"] = [{}, {"key": []}]  # the key is optional
        return schema

    app.openapi = openapi  # type: ignore[method-assign]
