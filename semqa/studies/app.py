"""The web application of a study, built on the server's middleware.

The secret of a link is in its fragment, so it never appears in a request path or a log; the page
sends it as a bearer token. Raters can only read the visible stages of their own items.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import fastapi
from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import AfterValidator, Field

import semqa
from semqa import server
from semqa.errors import InputError, NotFoundError
from semqa.server.errors import add_handlers, error_body
from semqa.server.measures import Measures
from semqa.server.middleware import PAGE_POLICY, RequestMiddleware
from semqa.server.schemas import RequestBody
from semqa.server.settings import ServerSettings
from semqa.studies.kind import Item
from semqa.studies.records import OWNER, REVIEWER, Assignment
from semqa.studies.store import LockedError, Store, revisable

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


class StageAnswers(RequestBody):
    """The answers of a stage, and the working time on the item so far."""

    stage: Annotated[int, Field(ge=0)]
    values: Annotated[dict[str, Any], AfterValidator(_json_value)]
    seconds: Annotated[float, Field(ge=0)]


AssignmentId = Annotated[int, fastapi.Path(ge=1, le=2**53)]


class ReviewBody(RequestBody):
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


# What raters see


def task(store: Store, found: Assignment) -> dict[str, Any]:
    """Return an item as JSON for the page, with the stages that the rater may see."""
    study = store.study
    stages = study.kind.stages(study.items[found.item - 1], study.settings.design)
    current = found.current
    shown = [n for n in range(current + 1) if stages[n].asked(found.values)]
    order = store.order(found.rater)
    place = [number for number, _ in order].index(found.id)
    return {
        "id": found.id,
        "number": place + 1,
        "total": len(order),
        "done": sum(done for _, done in order),
        "finished": found.done is not None,
        "stage": current,
        "stages": [
            {
                "title": stages[n].title,
                "parts": list(stages[n].parts),
                "number": n,
                "questions": [asdict(q.with_lines(found.values)) for q in stages[n].questions],
                "locked": n != current,
                "revisable": revisable(stages, n, current),
                "more": len(stages) > 1,
            }
            for n in shown
        ],
        "values": found.values,
        "draft": found.draft or {},
        "seconds": found.seconds,
        "previous": order[place - 1][0] if place else None,
        "reviews": [
            {
                "accepted": review.accepted,
                "remark": review.remark,
                "newest": each is found.answers[-1],
            }
            for each in found.answers
            for review in each.reviews
        ],
        "accepted": found.accepted,
    }


# What reviewers see

WAITING, ACCEPTED, RETURNED = "waiting", "accepted", "returned"


def state_of(found: Assignment) -> str:
    """Return whether a finished item is waiting for review, accepted or returned to its writer."""
    if found.review is None:
        return WAITING
    return ACCEPTED if found.review.accepted else RETURNED


def queue(store: Store) -> list[dict[str, Any]]:
    """Return the finished items for the page, by round."""
    study = store.study
    place = {n: at for at, numbers in enumerate(study.rounds) for n in numbers}
    rows = [
        {
            "id": found.id,
            "item": _label(study.items[found.item - 1]),
            "writer": found.rater,
            "round": place[found.item],
            "pilot": found.item in study.pilot,
            "state": state_of(found),
            "again": any(not each.accepted for each in found.reviews),
        }
        for found in store.finished()
    ]
    return sorted(rows, key=lambda row: row["round"])


def _label(item: Item) -> str:
    return str(item.data.get("question", item.item))


def shown(store: Store, number: int) -> dict[str, Any]:
    """Return a finished item for the page, with all its revisions and their reviews."""
    matches = store.finished(number)
    if not matches:
        raise NotFoundError("No such answer.")
    (found,) = matches
    study = store.study
    item = study.items[found.item - 1]
    return {
        "id": found.id,
        "answer": found.answers[-1].number,
        "item": _label(item),
        "writer": found.rater,
        "state": state_of(found),
        "seconds": found.seconds,
        "parts": list(study.kind.review(item, found.values)),
        "history": [
            {
                "saved": each.saved / 1e6,
                "parts": list(study.kind.review(item, each.values))[1:2],
                "said": [
                    {"accepted": said.accepted, "remark": said.remark, "reviewer": said.reviewer}
                    for said in each.reviews
                ],
            }
            for each in found.versions
        ],
    }
