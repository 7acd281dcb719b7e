"""`GET /v1/models`: what a client may name as its model: engines, and collections to ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

from semqa.errors import NotFoundError
from semqa.server.replies import errors

if TYPE_CHECKING:
    from semqa.server.engines import EngineShelf

__all__ = ["Named", "named_model", "router"]

router = APIRouter(tags=["models"])

NAME = "semqa"
"""The model that is the default engine over all collections."""

_CREATED = 1_767_225_600
"""Clients want a time; there is none that says anything."""


class Named(NamedTuple):
    """What the name of a model stands for.

    Attributes:
        engine: its specification, None for the default.
        collection: its name, None for all.
    """

    engine: str | None
    collection: str | None


def named_model(model: str, shelf: EngineShelf) -> Named:
    """Return what a model's name stands for.

    ``semqa/NAME`` is a collection, the specification of an engine that engine. Any other name is
    the default: clients send the names of models of other servers.
    """
    if model.startswith(f"{NAME}/"):
        return Named(None, model.removeprefix(f"{NAME}/"))
    return Named(model if model in shelf.names else None, None)


@router.get("/v1/models")
async def models(request: Request) -> dict[str, Any]:
    """List the models: the default, the engines, and each collection as a model of its own."""
    listed = [_model(name) for name in await _names(request)]
    ends = {"first_id": listed[0]["id"], "last_id": listed[-1]["id"]}
    return {"object": "list", "data": listed, "has_more": False, **ends}


@router.get("/v1/models/{model:path}", responses=errors(404))
async def model(request: Request, model: str) -> dict[str, Any]:
    """Return one of them."""
    names = await _names(request)
    if model not in names:
        raise NotFoundError(
            f"model: got {model[:80]!r}, expected one of {', '.join(names[:20])}; choose one"
        )
    return _model(model)


async def _names(request: Request) -> list[str]:
    state = request.app.state
    infos = await run_in_threadpool(state.library.collections, request.state.owner)
    return [NAME, *state.shelf.names, *(f"{NAME}/{info.name}" for info in infos)]


def _model(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "created": _CREATED,
        "owned_by": NAME,
        "type": "model",
        "display_name": name,
        "created_at": "2026-01-01T00:00:00Z",
    }
