"""From a request to a question that can be answered, and from the answer to a reply.

Every interface goes this way: `prepare` checks the question and finds its passages, `respond` sends
the answer in the shape that a `Serializer` gives it, streamed or whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from semqa.engines import GeneratingEngine
from semqa.errors import InputError, NotFoundError
from semqa.history import in_context
from semqa.server.answering import Answered, Asked, Given
from semqa.server.errors import ending, failed
from semqa.server.sse import EventStream, dumps, event, primed, while_there

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
    from contextlib import AbstractContextManager

    from fastapi import Request

    from semqa.history import Exchange
    from semqa.retrieval.passages import Found, Library
    from semqa.server.answering import Piece
    from semqa.server.settings import ServerSettings

DEFAULT_LIMIT = 8
"""Passages that a question is answered from."""

_STEADY = 60
"""Of reciprocal rank fusion. Source: Cormack, Clarke and Büttcher 2009, section 2."""


async def prepare(
    request: Request,
    question: str,
    history: Sequence[Exchange] = (),
    *,
    given: Sequence[Given] = (),
    collection: str | Sequence[str] | None = None,
    engine: str | None = None,
    limit: int | None = None,
    **more: Any,
) -> Asked:
    """Check a question, and find what it is answered from.

    Args:
        collection: name or names; None for all, or for none if there are sources.
        engine: that is to answer; None for the default.
    """
    state = request.app.state
    collection = None if collection == [] else collection  # clients send the list even if empty
    check_question(question, state.settings)
    spec = state.shelf.choose(engine)
    understood = in_context(question, history)
    sources = tuple(given)
    if sources:
        check_sources(sources, state.settings)
        # The engine is looked at where it matters alone: it may have to be made first.
        if characters(sources) > state.settings.max_model_characters and isinstance(
            await state.answering.engine(spec), GeneratingEngine
        ):
            check_for_model(sources, state.settings)
    if not sources or collection is not None:
        await state.reading.settled(request.state.owner, collection)
        names = [collection] if isinstance(collection, str) else collection
        # A follow-up finds what itself asks for, and what the conversation is about.
        queries = list(dict.fromkeys((understood, question)))
        found = await run_in_threadpool(
            retrieve, state.library, request.state.owner, names, queries, limit or DEFAULT_LIMIT
        )
        base = address(request)
        sources += tuple(_linked(each, base) for each in found)
    return Asked(question, tuple(history), sources, spec, **more)


def address(request: Request) -> str:
    """Return the address of the page, without a slash at the end."""
    public = request.app.state.settings.public_url
    return (public or str(request.base_url)).rstrip("/")


def check_question(question: str, settings: ServerSettings) -> None:
    """Raise if a question has no words or too many."""
    if not any(map(str.isalnum, question)):
        raise InputError("must have words.", field="question", value=question)
    if len(question) > settings.max_question:
        raise InputError(
            f"must have at most {settings.max_question:,} characters, got {len(question):,}.",
            field="question",
        )


def check_sources(given: Sequence[Given], settings: ServerSettings) -> None:
    """Raise if sources in a request are too many, too long or all empty."""
    if len(given) > settings.max_sources:
        raise InputError(
            f"must be at most {settings.max_sources:,}, got {len(given):,}.", field="sources"
        )
    size = characters(given)
    if size > settings.max_source_characters:
        raise InputError(
            f"must have at most {settings.max_source_characters:,} characters in all, got {size:,}.",
            field="sources",
        )
    if not any(each.source.text.strip() or each.source.title.strip() for each in given):
        raise InputError("must have text in at least one.", field="sources")


def check_for_model(given: Sequence[Given], settings: ServerSettings) -> None:
    """Raise if sources are longer than a language model may read for one question."""
    size = characters(given)
    if size > settings.max_model_characters:
        raise InputError(
            f"must have at most {settings.max_model_characters:,} characters for a language model, "
            f"got {size:,}.",
            field="sources",
            hint="Put them into a collection, of which a question reads the best passages.",
        )


def characters(given: Sequence[Given]) -> int:
    """Return how many characters sources have together."""
    return sum(len(each.source.text) + len(each.source.title) for each in given)


def retrieve(
    library: Library, owner: str, names: Sequence[str] | None, queries: Sequence[str], limit: int
) -> tuple[Given, ...]:
    """Find the passages to answer from; blocking.

    Args:
        names: of the collections; None for all that the owner has.
        queries: what to look for. Of several, each finds its own passages, and the best of all are
            taken.
    """
    wanted = list(dict.fromkeys(names)) if names is not None else None
    chosen = wanted if wanted is not None else [each.name for each in library.collections(owner)]
    if not chosen:
        raise InputError(
            "are missing, and there is no collection yet.",
            field="sources",
            hint="Send sources, or upload documents.",
        )
    collections = []
    for each in chosen:
        with _may_be_gone(wanted):
            collections.append((each, library.collection(owner, each)))
    scores: dict[tuple[str, ...], float] = {}
    found: dict[tuple[str, ...], Given] = {}
    for query in queries:
        hits: list[tuple[str, Found]] = []
        for each, held in collections:
            with _may_be_gone(wanted):
                hits += [(each, hit) for hit in held.search(query, limit)]
        # The first of a collection that has nothing to say is not worth the first of another.
        hits.sort(key=lambda pair: -pair[1].score)
        for rank, (each, hit) in enumerate(hits):
            key = (each, str(hit.document_id), str(hit.start), str(hit.end))
            scores[key] = scores.get(key, 0.0) + 1 / (_STEADY + rank)
            found.setdefault(key, _given(each, hit))
    best = sorted(scores, key=lambda key: -scores[key])[:limit]
    return tuple(found[key] for key in best)


def _may_be_gone(names: Sequence[str] | None) -> AbstractContextManager[None]:
    """Pass over a collection that is removed meanwhile, unless it was asked for by name."""
    return suppress(NotFoundError) if names is None else nullcontext()


def _given(collection: str, passage: Found) -> Given:
    return Given(
        passage.source,
        {
            "collection": collection,
            "document_id": passage.document_id,
            "name": passage.name,
            "start": passage.start,
            "end": passage.end,
            "page": passage.page,
        },
    )


def _linked(given: Given, base: str) -> Given:
    """Give a passage without an address of its own the one at which the page shows it."""
    at = given.origin
    own = given.source.url
    link = page_link(own, base, at["collection"], at["document_id"], at["start"], at["end"])
    return replace(given, source=replace(given.source, url=link))


def page_link(
    url: str | None, base: str, collection: str, document_id: str, start: int, end: int
) -> str:
    """Return the address of a passage: its own, or that at which the page shows it."""
    if url and not url.startswith("semqa:"):
        return url
    named = f"collection={quote(collection, safe='')}&document={quote(document_id, safe='')}"
    return f"{base}/?{named}#char={start},{end}"


SHOWN = 1_000
"""Characters of a passage in a link that carries it."""


def link_of(given: Given, base: str) -> str:
    """Return an address for a passage: its own, or one at which the page shows its text.

    A passage of a request is kept nowhere, so the link has the text in its fragment, which browsers
    do not send to the server.
    """
    if given.source.url:
        return given.source.url
    text = quote(given.source.text[:SHOWN], safe="")
    return f"{base}/#title={quote(given.source.title[:200], safe='')}&text={text}"


class Serializer(ABC):
    """Makes a reply of the events of an answer; each interface has its own."""

    def begin(self) -> list[bytes]:
        """Return what a stream begins with."""
        return []

    @abstractmethod
    def add(self, piece: Piece) -> list[bytes]:
        """Take a piece of the answer, and return what a stream says of it."""

    @abstractmethod
    def end(self, answered: Answered) -> list[bytes]:
        """Return what a stream ends with."""

    @abstractmethod
    def whole(self, answered: Answered) -> dict[str, Any]:
        """Return the reply that is not streamed."""

    def failed(self, error: dict[str, Any]) -> bytes:
        """Return what a stream says where it fails."""
        return event(error)


async def respond(
    request: Request,
    asked: Asked,
    serializer: Serializer,
    *,
    stream: bool,
    at_once: bool = False,
    keep: Callable[[Answered], Awaitable[None]] | None = None,
) -> Response:
    """Answer a question in the shape of an interface.

    Args:
        at_once: whether a stream begins before the engine does; else what fails at once is told by
            the status.
        keep: is called with the whole answer before it is sent, or with what there is of it when
            the client stops a stream.
    """
    answering = request.app.state.answering
    if not stream:
        pieces, answered = await while_there(request, answering.whole(asked))
        for piece in pieces:
            serializer.add(piece)
        if keep is not None:
            await keep(answered)
        return Response(dumps(serializer.whole(answered)), media_type="application/json")
    events = answering.events(asked, keep)
    if not at_once:
        events = await while_there(request, primed(events))

    async def sent() -> AsyncGenerator[bytes, None]:
        for begun in serializer.begin():
            yield begun
        try:
            async for each in events:
                if isinstance(each, Answered):
                    if keep is not None:
                        await keep(each)
                    told = serializer.end(each)
                else:
                    told = serializer.add(each)
                for one in told:
                    yield one
        except Exception as error:  # noqa: BLE001  (the status is sent already)
            yield serializer.failed(failed(error, request))
        finally:
            await events.aclose()

    return EventStream(sent(), cut=lambda: serializer.failed(ending(request)))
