"""A small server with the interfaces that the page needs, the real store and the real engine.

It answers with `script` where a test wants certain quotes. Collections are kept in memory.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, UploadFile
from fastapi.responses import JSONResponse, Response, StreamingResponse

from semqa import QuotedAnswer, Source
from semqa.engines import create_engine
from semqa.errors import InputError, NotFoundError, SemqaError
from semqa.quotes import FreeText
from semqa.server import conversations, page
from semqa.server.store import Store

Script = Callable[[str, list[Source]], str]


def app(folder: Path, script: Script | None = None, pause: float = 0.0) -> FastAPI:
    made = FastAPI()
    store = Store(f"sqlite:///{folder / 'semqa.sqlite'}")
    store.migrate()
    made.state.store = store
    made.state.keys = False
    engine = create_engine("extractive")
    library: dict[str, dict[str, dict[str, Any]]] = {}
    made.state.library = library

    @made.middleware("http")
    async def owner(request: Request, call: Any) -> Response:
        request.state.owner = ""
        if made.state.keys and request.url.path.startswith("/v1"):
            secret = request.headers.get("authorization", "").removeprefix("Bearer ")
            found = store.owner_of(secret)
            if found is None:
                return _error(401, "wrong key")
            request.state.owner = found
        response: Response = await call(request)
        return response

    @made.exception_handler(SemqaError)
    async def told(_: Request, error: Exception) -> Response:
        status = (
            404
            if isinstance(error, NotFoundError)
            else 400
            if isinstance(error, InputError)
            else 503
        )
        return _error(status, str(error))

    @made.get("/v1/collections")
    def collections() -> Any:
        return [{"name": name} for name in library]

    @made.post("/v1/collections", status_code=201)
    def create(given: dict[str, str]) -> Any:
        library.setdefault(given["name"], {})
        return given

    @made.delete("/v1/collections/{name}", status_code=204)
    def drop(name: str) -> Response:
        del library[name]
        return Response(status_code=204)

    @made.get("/v1/collections/{name}/documents")
    def documents(name: str) -> Any:
        return [{k: v for k, v in each.items() if k != "text"} for each in library[name].values()]

    @made.post("/v1/collections/{name}/documents", status_code=201)
    async def add(name: str, file: list[UploadFile]) -> Any:
        added = []
        for each in file:
            data = await each.read()
            if b"\0" in data:
                raise InputError(f"{each.filename}: got a binary file, expected text; convert it")
            identifier = hashlib.sha256(data).hexdigest()[:12]
            text = data.decode()
            library[name][identifier] = {
                "id": identifier, "name": each.filename, "title": each.filename,
                "passages": len(text.split("\n\n")), "text": text,
            }  # fmt: skip
            added.append({"id": identifier})
        return added

    @made.get("/v1/collections/{name}/documents/{identifier}")
    def document(name: str, identifier: str) -> Any:
        return library[name][identifier]

    @made.delete("/v1/collections/{name}/documents/{identifier}", status_code=204)
    def remove(name: str, identifier: str) -> Response:
        del library[name][identifier]
        return Response(status_code=204)

    def gathered(given: dict[str, Any]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [
            {"title": each.get("title", ""), "text": each["text"], "url": each.get("url")}
            for each in given.get("sources", ())
        ]
        for each in library.get(given.get("collection", ""), {}).values():
            at = 0
            for passage in each["text"].split("\n\n"):
                found.append({
                    "title": each["title"], "text": passage, "url": f"semqa://{given['collection']}/{each['id']}#char={at},{at + len(passage)}",
                    "collection": given["collection"], "document_id": each["id"], "name": each["name"],
                    "start": at, "end": at + len(passage), "page": None,
                })  # fmt: skip
                at += len(passage) + 2
        return [{"number": number, **each} for number, each in enumerate(found, 1)]

    @made.post("/v1/answers")
    async def answers(request: Request) -> Response:
        given = await request.json()
        owner = request.state.owner
        if given.get("conversation"):
            store.add_message(owner, given["conversation"], "user", {"question": given["question"]})
        shown = gathered(given)
        sources = [Source(each["text"], each["title"], each["url"]) for each in shown]
        if script is None:
            answer = engine.answer(given["question"], sources)
        else:
            answer = QuotedAnswer.parse(script(given["question"], sources), sources)
        final = {
            "id": f"answer_{uuid.uuid4().hex}", "created": 0, "engine": engine.name, "question": given["question"],
            **answer.to_dict(), "abstained": False, "sources": shown, "usage": {},
        }  # fmt: skip
        if given.get("conversation"):
            store.add_message(owner, given["conversation"], "assistant", final)
        if not given.get("stream"):
            return JSONResponse(final)

        async def stream() -> AsyncIterator[str]:
            yield _event("sources", {"sources": shown})
            for segment in answer.segments:
                for word in segment.text.replace(" ", "\0 ").split("\0"):
                    await asyncio.sleep(pause)
                    yield _event("text", {"text": word})
                if not isinstance(segment, FreeText):
                    yield _event("quote", segment.to_dict())
            yield _event("done", final)

        return StreamingResponse(stream(), media_type="text/event-stream")

    made.include_router(conversations.router)
    made.include_router(page.router)

    @made.get("/healthz")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    return made


def _event(name: str, data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def _error(status: int, message: str) -> Response:
    return JSONResponse({"error": {"type": "error", "message": message, "request_id": "r"}}, status)
