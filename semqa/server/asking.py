"""From what a request says to a question that can be answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from semqa.engines import PromptedEngine
from semqa.server.answering import Asked
from semqa.server.context import in_context
from semqa.server.gathering import (
    DEFAULT_LIMIT,
    characters,
    check_for_model,
    check_question,
    check_sources,
    retrieve,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastapi import Request

    from semqa.server.answering import Given
    from semqa.server.context import Turn

__all__ = ["prepare"]


async def prepare(
    request: Request,
    question: str,
    history: Sequence[Turn] = (),
    *,
    given: Sequence[Given] | None = None,
    collection: str | None = None,
    engine: str | None = None,
    limit: int | None = None,
    renumber: bool = False,
    **more: Any,
) -> Asked:
    """Check a question, and find what it is answered from.

    Args:
        request: that asks; its owner's collections are looked into.
        question: as it was asked.
        history: what was said before, the oldest first.
        given: sources of the request; they come first.
        collection: name of the one to look into; None for all, or for none if there are sources.
        engine: that is to answer; None for the default.
        limit: most passages to find.
        renumber: whether the sources are numbered anew.
        more: further attributes of `Asked`.

    Raises:
        InputError: something is not as it should be.
        UnavailableError: the collections cannot be read.
    """
    state = request.app.state
    check_question(question, state.settings)
    spec = state.shelf.choose(engine)
    understood = in_context(question, history)
    sources = tuple(given or ())
    if sources:
        check_sources(sources, state.settings)
        # The engine is looked at where it matters alone: it may have to be made first.
        if characters(sources) > state.settings.max_model_characters and isinstance(
            await state.answering.engine(spec), PromptedEngine
        ):
            check_for_model(sources, state.settings)
    if not sources or collection is not None:
        # A follow-up finds what itself asks for, and what the conversation is about.
        queries = list(dict.fromkeys((understood, question)))
        sources += await run_in_threadpool(
            retrieve,
            state.library,
            request.state.owner,
            collection,
            queries,
            limit or DEFAULT_LIMIT,
        )
    return Asked(question, understood, sources, spec, renumber, **more)
