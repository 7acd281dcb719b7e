"""The web application of a study, built on the server's middleware.

The secret of a link is in its fragment, so it never appears in a request path or a log; the page
sends it as a bearer token. Raters can only read the visible stages of their own items.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import fastapi
from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import AfterValidator, BaseModel, Field

import semqa
from semqa import server
from semqa.errors import InputError, NotFoundError
from semqa.server.errors import add_handlers, error_body
from semqa.server.measures import Measures
from semqa.server.middleware import PAGE_POLICY, RequestMiddleware
from semqa.server.settings import ServerSettings
from semqa.studies.records import OWNER, REVIEWER
from semqa.studies.session import queue, shown, task
from semqa.studies.store import LockedError, Store

MAX_BODY = 2**20
"""Maximum size of a request in bytes; a rating takes a few hundred."""

_T = TypeVar("_T")


def _json_value(values: _T) -> _T:
    """Reject values that cannot be exported as JSON in UTF-8: NaN, inf and lone surrogates."""
    try:
        json.dumps(values, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise ValueError("must be valid JSON without NaN, infinity or lone surrogates") from error
    return values


class StageAnswers(BaseModel, extra="forbid"):
    """The answers of a stage, and the working time on the item so far."""

    stage: Annotated[int, Field(ge=0)]
    values: Annotated[dict[str, Any], AfterValidator(_json_value)]
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]


AssignmentId = Annotated[int, fastapi.Path(ge=1, le=2**53)]


class ReviewBody(BaseModel, extra="forbid"):
    """A review of a finished answer."""

    answer: Annotated[int, Field(ge=1, le=2**53)]
    accepted: bool
    remark: Annotated[str, AfterValidator(_json_value)] = ""


def create_app(store: Store, settings: ServerSettings) -> FastAPI:
    """Create the application of a study."""
    settings = replace(settings, max_body=min(settings.max_body, MAX_BODY))
    app = FastAPI(title="semqa study", version=semqa.__version__, openapi_url=None)
    app.state.settings, app.state.store = settings, store
    add_handlers(app)
    _add_interface(app, store)
    _add_page(app)
    app.add_middleware(
        RequestMiddleware, settings=settings, store=store, measures=Measures(lambda: 0)
    )

    @app.exception_handler(LockedError)
    async def locked(request: Request, error: LockedError) -> JSONResponse:
        return JSONResponse(error_body(409, str(error), request.state.request_id), 409)

    return app


def _role(request: Request) -> str:
    state = request.app.state.store.rater(request.state.owner).state
    return state if state in (OWNER, REVIEWER) else "rater"


def _named(role: str) -> Any:
    """Return a dependency: the name of the client, which must have this role."""

    def name(request: Request) -> str:
        if _role(request) != role:
            who = "the owner" if role == OWNER else f"a {role}"
            raise NotFoundError(
                f"Only {who} of this study can open this page. Please use your own link."
            )
        return str(request.state.owner)

    return Depends(name)


def _active(request: Request, name: Annotated[str, _named("rater")]) -> str:
    if request.app.state.store.rater(name).state != "active":
        raise InputError("Your part in this study has ended. Thank you!")
    return name


Rater = Annotated[str, _named("rater")]
ActiveRater = Annotated[str, Depends(_active)]
Reviewer = Annotated[str, _named(REVIEWER)]
Owner = Annotated[str, _named(OWNER)]


def _add_interface(app: FastAPI, store: Store) -> None:
    study = store.study

    @app.get("/v1/study")
    def about(request: Request) -> dict[str, Any]:
        """Return the title, guidelines and role for the page."""
        from markdown_it import MarkdownIt

        markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        return {
            "title": study.settings.title,
            "role": _role(request),
            "name": request.state.owner,
            "view": study.kind.view,
            "guidelines": markdown.render(study.guidelines),
        }

    @app.get("/v1/next")
    def next_item(request: Request, name: Rater) -> dict[str, Any]:
        """Return the next item of a rater, or the reason there is no more."""
        if store.rater(name).state == "failed":
            return {"end": "failed"}
        found = store.next(_active(request, name))
        if found is not None:
            return task(store, found)
        order = store.order(name)
        return {
            "end": "held" if store.held(name) else "done",
            "last": order[-1][0] if order else None,
            "more": store.may_follow(name),
            "unread": store.unaccepted(name),
        }

    @app.get("/v1/tasks/{number}")
    def one(name: ActiveRater, number: AssignmentId) -> dict[str, Any]:
        """Return an item that the rater has opened before."""
        found = store.assignment(name, number)
        if found.opened is None:
            raise NotFoundError("This item is not open yet.")
        return task(store, found)

    @app.put("/v1/tasks/{number}/draft", status_code=204)
    def draft(name: ActiveRater, number: AssignmentId, given: StageAnswers) -> None:
        """Save a draft."""
        store.draft(name, number, given.stage, given.values, given.seconds)

    @app.post("/v1/tasks/{number}/answers")
    def save(name: ActiveRater, number: AssignmentId, given: StageAnswers) -> dict[str, Any]:
        """Save the answers of a stage. They are on disk before the response is sent."""
        store.save(name, number, given.stage, given.values, given.seconds)
        return task(store, store.assignment(name, number))

    @app.get("/v1/progress")
    def progress(name: Owner) -> dict[str, Any]:
        """Return the progress of the study, for the owner."""
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

    @app.get("/v1/reviews")
    def reviews(name: Reviewer) -> dict[str, Any]:
        """Return the finished items, for reviewers."""
        return {"answers": queue(store)}

    @app.get("/v1/reviews/{number}")
    def finished(name: Reviewer, number: AssignmentId) -> dict[str, Any]:
        """Return a finished item, for reviewers."""
        return shown(store, number)

    @app.post("/v1/reviews/{number}")
    def review(name: Reviewer, number: AssignmentId, given: ReviewBody) -> dict[str, Any]:
        """Accept a finished item or send it back. The review is on disk before the response."""
        store.review(name, number, given.answer, accepted=given.accepted, remark=given.remark)
        return {"answers": queue(store)}


def _add_page(app: FastAPI) -> None:
    files = StaticFiles(directory=Path(__file__).parent / "page")
    app.mount("/page/study", files)
    app.mount("/page", StaticFiles(directory=Path(server.__file__).parent / "page"))

    @app.get("/")
    async def page(request: Request) -> Response:
        """Serve the page."""
        reply = await files.get_response("index.html", request.scope)
        reply.headers["content-security-policy"] = PAGE_POLICY
        return reply

    @app.get("/healthz")
    async def health() -> JSONResponse:
        """Health check."""
        return JSONResponse({"status": "ok"})
