"""What a question is answered from: sources in the request, a collection, or all collections."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, Protocol

from semqa.errors import InputError, NotFoundError
from semqa.quotes import Source
from semqa.server.answering import Given

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from semqa.server.settings import ServerSettings

__all__ = [
    "DEFAULT_LIMIT",
    "Passages",
    "characters",
    "check_for_model",
    "check_question",
    "check_sources",
    "retrieve",
]

DEFAULT_LIMIT = 8
"""Passages that a question is answered from."""

_STEADY = 60
"""Of reciprocal rank fusion. Source: Cormack, Clarke and Büttcher 2009, section 2."""


class Passages(Protocol):
    """The collections of passages (`semqa.retrieval.passages.Library`)."""

    def collections(self, owner: str = "") -> Sequence[Any]:
        """Return what collections an owner has."""
        ...

    def collection(self, owner: str, name: str) -> Any:
        """Return one of them."""
        ...


def check_question(question: str, settings: ServerSettings) -> None:
    """See that a question is one, and not too long.

    Raises:
        InputError: it is not.
    """
    if not any(map(str.isalnum, question)):
        raise InputError("question: got no words, expected a question; write one")
    if len(question) > settings.max_question:
        raise InputError(
            f"question: got {len(question):,} characters, expected at most "
            f"{settings.max_question:,}; shorten it"
        )


def check_sources(given: Sequence[Given], settings: ServerSettings) -> None:
    """See that sources in a request can be answered from.

    Raises:
        InputError: there are too many, they are too long, or none has any text.
    """
    if len(given) > settings.max_sources:
        raise InputError(
            f"sources: got {len(given):,}, expected at most {settings.max_sources:,}; send fewer"
        )
    size = characters(given)
    if size > settings.max_source_characters:
        raise InputError(
            f"sources: got {size:,} characters, expected at most "
            f"{settings.max_source_characters:,} in all; send less"
        )
    if not any(each.source.text.strip() or each.source.title.strip() for each in given):
        raise InputError("sources: got no text in any, expected some; give a source its text")


def check_for_model(given: Sequence[Given], settings: ServerSettings) -> None:
    """See that sources are not more than a language model is to read for one question.

    Raises:
        InputError: they are.
    """
    size = characters(given)
    if size > settings.max_model_characters:
        raise InputError(
            f"sources: got {size:,} characters for a language model, expected at most "
            f"{settings.max_model_characters:,} in all; send less, put them into a collection, of "
            "which a question reads the best passages, or raise --max-model-characters"
        )


def characters(given: Sequence[Given]) -> int:
    """Return how many characters sources have together."""
    return sum(len(each.source.text) + len(each.source.title) for each in given)


def retrieve(
    library: Passages, owner: str, name: str | None, queries: Sequence[str], limit: int
) -> tuple[Given, ...]:
    """Find the passages to answer from; blocking.

    Args:
        library: the collections.
        owner: whose.
        name: of the collection; None for all that the owner has.
        queries: what to look for. Of several, each finds its own passages, and the best of all are
            taken.
        limit: most passages.

    Raises:
        InputError: there is no such collection, or none at all.
    """
    names = [name] if name is not None else [info.name for info in library.collections(owner)]
    if not names:
        raise InputError(
            "sources: got neither sources nor a collection, and there is no collection yet, "
            "expected something to answer from; send sources, or upload documents"
        )
    collections = []
    for each in names:
        with _may_be_gone(name):
            collections.append((each, library.collection(owner, each)))
    scores: dict[tuple[str, ...], float] = {}
    found: dict[tuple[str, ...], Given] = {}
    for query in queries:
        hits: list[tuple[str, Any]] = []
        for each, held in collections:
            with _may_be_gone(name):
                hits += [(each, hit) for hit in held.search(query, limit)]
        # The first of a collection that has nothing to say is not worth the first of another.
        hits.sort(key=lambda pair: -pair[1].score)
        for rank, (each, hit) in enumerate(hits):
            key = (each, str(hit.document_id), str(hit.start), str(hit.end))
            scores[key] = scores.get(key, 0.0) + 1 / (_STEADY + rank)
            found.setdefault(key, _given(each, hit))
    best = sorted(scores, key=lambda key: -scores[key])[:limit]
    return tuple(found[key] for key in best)


def _may_be_gone(name: str | None) -> AbstractContextManager[None]:
    """Pass over a collection that is removed meanwhile, unless it is the one that was asked for."""
    return suppress(NotFoundError) if name is None else nullcontext()


def _given(collection: str, passage: Any) -> Given:
    source: Source = passage.source
    return Given(
        source,
        {
            "collection": collection,
            "document_id": passage.document_id,
            "name": passage.name,
            "start": passage.start,
            "end": passage.end,
            "page": passage.page,
        },
    )
