"""Answers to some items of a run, given together where the engine can, and scored."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from semqa.bench.record import Record
from semqa.bench.results import score_item
from semqa.errors import InputError
from semqa.quotes import QuotedAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.bench.plan import Item
    from semqa.engines import Engine

__all__ = ["answer_items"]


def answer_items(items: Sequence[Item], engine: Engine | None) -> list[Record]:
    """Answer and score some items.

    One example that cannot be answered must not cost the run: its record says why. What fails from
    outside (`UnavailableError`) ends the run, and is tried again when it is resumed.

    Args:
        items: what is answered together.
        engine: what answers; None for the human row, whose answers are there.
    """
    from semqa.engines import BatchEngine, Request

    if isinstance(engine, BatchEngine) and len(items) > 1:
        requests = [Request(item.question.question, item.question.sources) for item in items]
        started = time.perf_counter()
        try:
            answers = engine.answer_batch(requests)
        except InputError:
            # One of them, found before any was answered: which one shows when each is alone.
            return [_record(item, engine) for item in items]
        share = (time.perf_counter() - started) / len(items)
        return [
            _scored(item, engine, answer, answer.marked, share, None)
            for item, answer in zip(items, answers, strict=True)
        ]
    return [_record(item, engine) for item in items]


def _record(item: Item, engine: Engine | None) -> Record:
    question = item.question
    error = None
    started = time.perf_counter()
    if item.left_out is not None:
        text = question.references[item.left_out].text
        answer = QuotedAnswer.parse(text, question.sources)
    elif engine is None:
        raise ValueError("an item without a reference needs an engine")
    else:
        try:
            answer = engine.answer(question.question, question.sources)
        except InputError as failure:
            answer, error = QuotedAnswer.parse("", question.sources), str(failure)
        text = answer.marked
    seconds = time.perf_counter() - started
    return _scored(item, engine, answer, text, seconds, error)


def _scored(
    item: Item,
    engine: Engine | None,
    answer: QuotedAnswer,
    text: str,
    seconds: float,
    error: str | None,
) -> Record:
    exemplars = None if error else _exemplars(item, engine)
    scores = score_item(item, text)
    return Record.of(item.key, item.question.question, answer, scores, seconds, error, exemplars)


def _exemplars(item: Item, engine: Engine | None) -> tuple[str, ...] | None:
    from semqa.engines import PromptedEngine

    if not isinstance(engine, PromptedEngine):
        return None
    prompt = engine.prompt(item.question.question, item.question.sources)
    return tuple(exemplar.qid for exemplar in prompt.exemplars)
