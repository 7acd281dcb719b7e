"""The engines of a server, and `GET /v1/models`: what a client may name as its model."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

from semqa.engines import close_engine
from semqa.errors import NotFoundError
from semqa.server.schemas import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa.engines import Engine

router = APIRouter(tags=["models"])

_ALWAYS = re.compile(r"extractive|bm25|(?:lead|tail)-[1-9][0-9]{0,2}")


class EngineShelf:
    """Engines that clients may choose from.

    Clients choose among these, and cannot have another model loaded.
    """

    def __init__(self, specs: Sequence[str], create: Callable[[str], Engine]) -> None:
        self.names = tuple(dict.fromkeys(specs))
        self._create = create
        self._made: dict[str, Engine] = {}
        self._lock = threading.Lock()

    @property
    def default(self) -> str:
        """The specification of the engine that answers unless another is asked for."""
        return self.names[0]

    def choose(self, spec: str | None) -> str:
        """Return the specification of an engine that a client may use."""
        if spec is None:
            return self.default
        if spec in self.names or _ALWAYS.fullmatch(spec):
            return spec
        raise NotFoundError(
            f"must be one of {', '.join(self.names)}, got {spec[:80]!r}.", field="engine"
        )

    def kind(self, spec: str) -> str:
        """Return the label of an engine in metrics; clients can think of a thousand numbers.

        Example:
            >>> shelf = EngineShelf(["extractive", "lead-3"], lambda spec: NotImplemented)
            >>> shelf.kind("lead-3"), shelf.kind("lead-4")
            ('lead-3', 'lead')
        """
        return spec if spec in self.names else spec.partition("-")[0]

    def made(self, spec: str) -> Engine | None:
        """Return an engine if it is made already."""
        return self._made.get(spec)

    def get(self, spec: str) -> Engine:
        """Return an engine, and make it if need be; that may take long."""
        with self._lock:
            if spec not in self._made:
                if spec not in self.names:
                    # Engines without a model are cheap to make.
                    return self._create(spec)
                self._made[spec] = self._create(spec)
            return self._made[spec]

    def close(self) -> None:
        """Close the engines that can be closed."""
        with self._lock:
            for engine in self._made.values():
                close_engine(engine)
            self._made.clear()


MODEL = "semqa"
"""The model that is the default engine over all collections."""

_CREATED = 1_767_225_600
"""Clients require a time; it means nothing here."""


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
    if model.startswith(f"{MODEL}/"):
        return Named(None, model.removeprefix(f"{MODEL}/"))
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
            f"must be one of {', '.join(names[:20])}, got {model[:80]!r}.", field="model"
        )
    return _model(model)


async def _names(request: Request) -> list[str]:
    state = request.app.state
    infos = await run_in_threadpool(state.library.collections, request.state.owner)
    return [MODEL, *state.shelf.names, *(f"{MODEL}/{info.name}" for info in infos)]


def _model(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "created": _CREATED,
        "owned_by": MODEL,
        "type": "model",
        "display_name": name,
        "created_at": "2026-01-01T00:00:00Z",
    }
