"""Request handling that all APIs share.

`prepare` validates the question and retrieves passages. `respond` sends the answer, streamed or
whole, in the format of a `Serializer`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from semqa.engines import GeneratingEngine
from semqa.errors import InputError, NotFoundError
from semqa.history import Exchange, in_context, is_courtesy
from semqa.quotes import Source
from semqa.quotes.answer import NO_QUESTION
from semqa.retrieval import DEFAULT_PASSAGES
from semqa.retrieval.passages import Found, Library
from semqa.server.answering import AnswerResult, AnswerSource, Piece, PreparedQuestion
from semqa.server.errors import SHUTTING_DOWN, error_body, stream_error
from semqa.server.settings import ServerSettings
from semqa.server.sse import EventStream, await_first, dumps, event, while_connected

_RRF_K = 60
"""k of reciprocal rank fusion. Source: Cormack, Clarke and Büttcher 2009, section 2."""


async def prepare(
    request: Request,
    question: str,
    history: Sequence[Exchange] = (),
    *,
    sources: Sequence[AnswerSource] | None = None,
    collection: str | Sequence[str] | None = None,
    named_by: str = "collection",
    engine: str | None = None,
    limit: int | None = None,
    **more: Any,
) -> PreparedQuestion:
    """Validate a question and collect its sources. A greeting or thanks gets a fixed reply.

    Args:
        sources: sources in the request; retrieved passages follow them. An empty list is an error
            unless a collection is named.
        collection: names of collections to search. By default, all of them are searched if there are
            no sources, and none otherwise.
        named_by: the field of the request that names the collections.
        more: other fields of `PreparedQuestion`.
    """
    state = request.app.state
    collection = None if collection == [] else collection  # some clients send an empty list
    check_question(question, state.settings)
    spec = state.shelf.choose(engine)
    if sources is not None and not sources and collection is None:
        raise InputError(
            "must not be empty.", field="sources", hint="Leave it out to search all collections."
        )
    sources = tuple(sources or ())
    if sources:
        check_sources(sources, state.settings)
        size, limit_for_models = total_characters(sources), state.settings.max_model_characters
        # Get the engine only if the size matters, because it may have to be loaded first.
        if size > limit_for_models and isinstance(
            await state.answering.engine(spec), GeneratingEngine
        ):
            raise InputError(
                f"must have at most {limit_for_models:,} characters for a language model, "
                f"got {size:,}.",
                field="sources",
                hint="Upload them to a collection: only the best passages are sent to the model.",
            )
    if is_courtesy(question):
        return PreparedQuestion(
            question, tuple(history), sources, spec, fixed_reply=NO_QUESTION, **more
        )
    if not sources or collection is not None:
        await state.document_workers.wait_for_uploads(request.state.owner, collection)
        names = [collection] if isinstance(collection, str) else collection
        # A follow-up question is searched both alone and together with its context.
        queries = list(dict.fromkeys((in_context(question, history), question)))
        try:
            sources += await run_in_threadpool(
                retrieve,
                state.library,
                request.state.owner,
                names,
                queries,
                limit or DEFAULT_PASSAGES,
                page_address(request),
            )
        except NotFoundError as error:
            error.field = named_by
            raise
    return PreparedQuestion(question, tuple(history), sources, spec, **more)


def page_address(request: Request) -> str:
    """Return the URL of the page, without a trailing slash."""
    public = request.app.state.settings.public_url
    return (public or str(request.base_url)).rstrip("/")


def check_question(question: str, settings: ServerSettings) -> None:
    """Raise if a question is empty or too long."""
    if not any(map(str.isalnum, question)):
        raise InputError("must contain letters or digits.", field="question", value=question)
    if len(question) > settings.max_question:
        raise InputError(
            f"must have at most {settings.max_question:,} characters, got {len(question):,}.",
            field="question",
        )


def check_sources(sources: Sequence[AnswerSource], settings: ServerSettings) -> None:
    """Raise if the sources of a request are too many, too long or all empty."""
    if len(sources) > settings.max_sources:
        raise InputError(
            f"must be at most {settings.max_sources:,}, got {len(sources):,}.", field="sources"
        )
    size = total_characters(sources)
    if size > settings.max_source_characters:
        raise InputError(
            f"must have at most {settings.max_source_characters:,} characters in all, got {size:,}.",
            field="sources",
        )
    if not any(each.source.text.strip() or each.source.title.strip() for each in sources):
        raise InputError("must not all be empty.", field="sources")


def total_characters(sources: Sequence[AnswerSource]) -> int:
    """Return the total length of sources, titles included."""
    return sum(len(each.source.text) + len(each.source.title) for each in sources)


def retrieve(
    library: Library,
    owner: str,
    names: Sequence[str] | None,
    queries: Sequence[str],
    limit: int,
    page: str,
) -> tuple[AnswerSource, ...]:
    """Return the best passages for some queries, combined by reciprocal rank fusion. Blocking.

    Without names, all collections of the owner are searched.
    """
    if names is None:
        chosen = [each.name for each in library.collections(owner)]
    else:
        chosen = list(dict.fromkeys(names))
    if not chosen:
        raise InputError(
            "are missing, and there are no collections.",
            field="sources",
            hint="Send sources, or upload documents first.",
        )
    collections = []
    for name in chosen:
        with _ignore_deleted(names):
            collections.append((name, library.collection(owner, name)))
    scores: dict[tuple[str, ...], float] = {}
    found: dict[tuple[str, ...], AnswerSource] = {}
    for query in queries:
        hits: list[tuple[str, Found]] = []
        for name, collection in collections:
            with _ignore_deleted(names):
                hits += [(name, hit) for hit in collection.search(query, limit)]
        # Rank by score over all collections: the top hit of a collection may be irrelevant.
        hits.sort(key=lambda pair: -pair[1].score)
        for rank, (name, hit) in enumerate(hits):
            key = (name, str(hit.document_id), str(hit.start), str(hit.end))
            scores[key] = scores.get(key, 0.0) + 1 / (_RRF_K + rank)
            found.setdefault(key, retrieved(name, hit, page))
    best = sorted(scores, key=lambda key: -scores[key])[:limit]
    return tuple(found[key] for key in best)


def _ignore_deleted(names: Sequence[str] | None) -> AbstractContextManager[None]:
    """Ignore a collection that was deleted meanwhile, unless the request names it."""
    return suppress(NotFoundError) if names is None else nullcontext()


def retrieved(collection: str, passage: Found, page: str) -> AnswerSource:
    """Return a found passage as a source. Without a URL of its own it links to its place on the page."""
    source = passage.source
    if not source.url or source.url.startswith("semqa:"):
        named = urlencode(
            {"collection": collection, "document": passage.document_id}, quote_via=quote
        )
        link = f"{page}/?{named}#char={passage.start},{passage.end}"
        source = replace(source, url=link)
    origin = {
        "collection": collection,
        "document_id": passage.document_id,
        "name": passage.name,
        "start": passage.start,
        "end": passage.end,
        "page": passage.page,
    }
    return AnswerSource(source, origin)


MAX_LINK_CHARACTERS = 1_000
"""Maximum length of a passage that is part of a link."""


def source_link(source: Source, base: str) -> str:
    """Return the URL of a source: its own, or a link to the page that contains the text.

    Sources in a request are not stored. The text is in the fragment of the link, which browsers do
    not send to the server.
    """
    if source.url:
        return source.url
    text = quote(source.text[:MAX_LINK_CHARACTERS], safe="")
    return f"{base}/#title={quote(source.title[:200], safe='')}&text={text}"


class Serializer(ABC):
    """Converts the events of an answer to the reply of an API."""

    def begin(self) -> list[bytes]:
        """Return the first events of a stream."""
        return []

    @abstractmethod
    def add(self, piece: Piece) -> list[bytes]:
        """Add a piece of the answer, and return its events for a stream."""

    def offer(self, _: AnswerResult) -> Sequence[Piece]:
        """Return pieces to add to the end of the answer."""
        return ()

    @abstractmethod
    def end(self, result: AnswerResult) -> list[bytes]:
        """Return the last events of a stream."""

    @abstractmethod
    def whole(self, result: AnswerResult) -> dict[str, Any]:
        """Return the whole reply, as a JSON-ready object."""

    def failed(self, error: dict[str, Any]) -> bytes:
        """Return the event that ends a stream with an error."""
        return event(error)


async def respond(
    request: Request,
    prepared: PreparedQuestion,
    serializer: Serializer,
    *,
    stream: bool,
    headers_first: bool = False,
    save: Callable[[AnswerResult], Awaitable[None]] | None = None,
) -> Response:
    """Answer a question in the format of an API.

    Args:
        headers_first: send the headers of a stream before the engine starts; else an early error
            sets the status of the reply.
        save: called with the whole answer before the end is sent, or with the partial answer if the
            client stops a stream.
    """
    answering = request.app.state.answering
    if not stream:
        pieces, result = await while_connected(request, answering.whole(prepared))
        for piece in (*pieces, *serializer.offer(result)):
            serializer.add(piece)
        if save is not None:
            await save(result)
        return Response(dumps(serializer.whole(result)), media_type="application/json")
    events = answering.events(prepared, save)
    if not headers_first:
        events = await while_connected(request, await_first(events))

    async def sent() -> AsyncGenerator[bytes, None]:
        if begun := serializer.begin():
            yield b"".join(begun)
        try:
            async for each in events:
                if isinstance(each, AnswerResult):
                    if save is not None:
                        await save(each)
                    offered = serializer.offer(each)
                    chunks = [chunk for piece in offered for chunk in serializer.add(piece)]
                    chunks += serializer.end(each)
                else:
                    chunks = serializer.add(each)
                yield b"".join(chunks)
        except Exception as error:  # noqa: BLE001  (the status has been sent)
            yield serializer.failed(stream_error(error, request))
        finally:
            await events.aclose()

    def cut() -> bytes:
        error = error_body(503, SHUTTING_DOWN, request.state.request_id)
        return serializer.failed(error)

    return EventStream(sent(), cut)
