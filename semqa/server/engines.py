"""The engines of the server, and `GET /v1/models`."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

from semqa.engines import Engine, close_engine
from semqa.errors import NotFoundError

router = APIRouter(tags=["models"])

_ALWAYS = re.compile(r"extractive|bm25|(?:lead|tail)-[1-9][0-9]{0,2}")


class EngineRegistry:
    """Engines that clients may choose from.

    Clients cannot load any other model.
    """

    def __init__(self, specs: Sequence[str], create: Callable[[str], Engine]) -> None:
        self.names = tuple(dict.fromkeys(specs))
        self._create = create
        self._loaded: dict[str, Engine] = {}
        self._lock = threading.Lock()

    def choose(self, spec: str | None) -> str:
        """Return the specification of the engine for a request; raise if clients may not use it."""
        if spec is None:
            return self.names[0]
        if spec in self.names or _ALWAYS.fullmatch(spec):
            return spec
        names = dict.fromkeys((*self.names, "extractive", "bm25", "lead-K", "tail-K"))
        raise NotFoundError(
            f"must be one of {', '.join(names)}, got {spec[:80]!r}.", field="engine"
        )

    def kind(self, spec: str) -> str:
        """Return the metrics label of an engine, without a number that the client chose."""
        return spec if spec in self.names else spec.partition("-")[0]

    def loaded(self, spec: str) -> Engine | None:
        """Return an engine, or None if it is not loaded yet."""
        return self._loaded.get(spec)

    def get(self, spec: str) -> Engine:
        """Return an engine, and load it if necessary, which may take long."""
        with self._lock:
            if spec not in self.names:  # engines without a model are cheap to create
                return self._create(spec)
            if spec not in self._loaded:
                self._loaded[spec] = self._create(spec)
            return self._loaded[spec]

    def close(self) -> None:
        with self._lock:
            for engine in self._loaded.values():
                close_engine(engine)
            self._loaded.clear()


MODEL = "semqa"
"""Model name of the default engine over all collections."""

_CREATED = 1_767_225_600
"""An arbitrary timestamp, because clients require one."""


def named_model(model: str, registry: EngineRegistry) -> tuple[str | None, str | None]:
    """Return the engine and collection of a model name; None for the default and for all.

    ``semqa/NAME`` names a collection. The specification of an engine names that engine. Any other
    name means the default, because clients send the model names of other servers.
    """
    if model.startswith(f"{MODEL}/"):
        return None, model.removeprefix(f"{MODEL}/")
    return (model if model in registry.names else None), None


@router.get("/v1/models")
async def models(request: Request) -> dict[str, Any]:
    """List the models: the default, the engines, and one model per collection."""
    listed = [_model(name) for name in await _names(request)]
    ends = {"first_id": listed[0]["id"], "last_id": listed[-1]["id"]}
    return {"object": "list", "data": listed, "has_more": False, **ends}


@router.get("/v1/models/{model:path}")
async def model(request: Request, model: str) -> dict[str, Any]:
    """Return one model."""
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
