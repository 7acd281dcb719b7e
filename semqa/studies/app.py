"""The page of a study and its interface, over the middleware of the server.

A link holds its secret behind ``#``, so that it is in no request's path and in no log; the page sends
it as a bearer token. Raters get what the stages of their own items show, and nothing else.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import fastapi
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

import semqa
from semqa import server
from semqa.errors import InputError, NotFoundError
from semqa.server.errors import add_handlers, error_body
from semqa.server.measures import Measures
from semqa.server.middleware import PAGE_POLICY, Guard, Head, KeyRing, RateLimit
from semqa.server.settings import ServerSettings
from semqa.studies.records import OWNER, REVIEWER
from semqa.studies.reviewing import judge, queue, shown
from semqa.studies.session import LockedError, answer, keep_draft, task

if TYPE_CHECKING:
    from semqa.studies.store import Store

MAX_BODY = 2**20
"""Bytes of a request; a rating is a few hundred."""

_T = TypeVar("_T")


def _storable(values: _T) -> _T:
    """Check that values can be written to a file later: no NaN, no half of a surrogate pair."""
    try:
        json.dumps(values, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise ValueError("must be JSON that UTF-8 can hold") from error
    return values


class Given(BaseModel):
    """Answers of a stage, and the seconds that the rater worked on the item."""

    model_config = ConfigDict(extra="forbid")

    stage: Annotated[int, Field(ge=0)]
    values: Annotated[dict[str, Any], AfterValidator(_storable)]
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]


Number = Annotated[int, fastapi.Path(ge=1, le=2**53)]
"""The id of an item of a rater."""


class Said(BaseModel):
    """What a reviewer says of a finished answer."""

    model_config = ConfigDict(extra="forbid")

    answer: Annotated[int, Field(ge=1, le=2**53)]
    accepted: bool
    remark: Annotated[str, AfterValidator(_storable)] = ""


def create_app(store: Store, settings: ServerSettings) -> FastAPI:
    """Make the application of a study."""
    settings = replace(settings, max_body=min(settings.max_body, MAX_BODY))
    app = FastAPI(
        title="semqa study",
        version=semqa.__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.state.settings, app.state.store = settings, store
    add_handlers(app)
    _add_interface(app, store)
    _add_reviews(app, store)
    _add_page(app)
    app.add_middleware(Head)
    app.add_middleware(
        Guard,
        settings=settings,
        keys=KeyRing((), store),
        rate=RateLimit(settings.rate_limit),
        measures=Measures(lambda: 0),
    )

    @app.exception_handler(LockedError)
    async def locked(request: Request, error: LockedError) -> JSONResponse:
        return JSONResponse(error_body(409, str(error), request.state.request_id), 409)

    return app


def _role(store: Store, name: str) -> str:
    state = store.rater(name).state
    return state if state in (OWNER, REVIEWER) else "rater"


def _with_role(store: Store, request: Request, role: str) -> str:
    """Return the name of who asks, if this is for them."""
    name: str = request.state.owner
    if _role(store, name) != role:
        raise NotFoundError(f"This is for a {role} of the study. Open the right link.")
    return name


def _add_interface(app: FastAPI, store: Store) -> None:
    study = store.study

    @app.get("/v1/study")
    def about(request: Request) -> dict[str, Any]:
        """Return what the page needs before the first item."""
        from markdown_it import MarkdownIt

        name = request.state.owner
        markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        return {
            "title": study.settings.title,
            "role": _role(store, name),
            "name": name,
            "view": study.kind.view,
            "guidelines": markdown.render(study.guidelines),
        }

    @app.get("/v1/next")
    def following(request: Request) -> dict[str, Any]:
        """Return the next item of a rater, or why there is none."""
        name = _with_role(store, request, "rater")
        if store.rater(name).state == "failed":
            return {"end": "failed"}
        _check_active(name)
        found = store.next(name)
        if found is not None:
            return task(store, found)
        order = store.order(name)
        last = order[-1][0] if order else None
        end = "held" if store.held(name) else "done"
        more, unread = store.may_follow(name), store.unaccepted(name)
        return {"end": end, "last": last, "more": more, "unread": unread}

    @app.get("/v1/tasks/{number}")
    def one(request: Request, number: Number) -> dict[str, Any]:
        """Return an item that a rater has seen before."""
        name = _with_role(store, request, "rater")
        _check_active(name)
        found = store.assignment(name, number)
        if found.opened is None:
            raise NotFoundError("Its turn has not come yet.")
        return task(store, found)

    @app.put("/v1/tasks/{number}/draft", status_code=204)
    def draft(request: Request, number: Number, given: Given) -> Response:
        """Keep what a rater has entered so far."""
        name = _with_role(store, request, "rater")
        _check_active(name)
        keep_draft(store, name, number, given.stage, given.values, given.seconds)
        return Response(status_code=204)

    @app.post("/v1/tasks/{number}/answers")
    def save(request: Request, number: Number, given: Given) -> dict[str, Any]:
        """Save the answers of a stage; once this replies, they are on the disk."""
        name = _with_role(store, request, "rater")
        _check_active(name)
        answer(store, name, number, given.stage, given.values, given.seconds)
        return task(store, store.assignment(name, number))

    def _check_active(name: str) -> None:
        if store.rater(name).state != "active":
            raise InputError("Your part in this study has ended. Thank you!")

    @app.get("/v1/progress")
    def progress(request: Request) -> dict[str, Any]:
        """Return how far each rater is; for the owner."""
        if request.state.owner != OWNER:
            raise NotFoundError("This is for the owner of the study.")
        return {
            "title": study.settings.title,
            "items": len(study.ordinary),
            "per_item": study.settings.per_item,
            "ratings": len(store.rated()),
            "wanted": store.wanted(),
            "missing": store.missing(),
            "unread": store.unaccepted(),
            "raters": [each._asdict() for each in store.progress()],
        }


def _add_reviews(app: FastAPI, store: Store) -> None:
    @app.get("/v1/reviews")
    def waiting(request: Request) -> dict[str, Any]:
        """Return the finished items; for a reviewer."""
        _with_role(store, request, REVIEWER)
        return {"answers": queue(store)}

    @app.get("/v1/reviews/{number}")
    def one(request: Request, number: Number) -> dict[str, Any]:
        """Return a finished item; for a reviewer."""
        _with_role(store, request, REVIEWER)
        return shown(store, number)

    @app.post("/v1/reviews/{number}")
    def say(request: Request, number: Number, said: Said) -> dict[str, Any]:
        """Accept a finished item or send it back; once this replies, that is on the disk."""
        name = _with_role(store, request, REVIEWER)
        judge(store, name, number, said.answer, accepted=said.accepted, remark=said.remark)
        return {"answers": queue(store)}


def _add_page(app: FastAPI) -> None:
    files = StaticFiles(directory=Path(__file__).parent / "page")
    app.mount("/page/study", files)
    app.mount("/page", StaticFiles(directory=Path(server.__file__).parent / "page"))

    @app.get("/")
    async def page(request: Request) -> Response:
        """Show the page."""
        reply = await files.get_response("index.html", request.scope)
        reply.headers["content-security-policy"] = PAGE_POLICY
        return reply

    @app.get("/healthz")
    async def alive() -> JSONResponse:
        """Tell that the process lives."""
        return JSONResponse({"status": "ok"})
