"""Answers to some items of a run, given together where the engine can, and scored."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from semqa.bench.record import Asked, Record
from semqa.bench.results import score_item
from semqa.errors import InputError
from semqa.quotes import QuotedAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.bench.plan import Item
    from semqa.engines import Engine

__all__ = ["answer_items", "failed_record"]


class _Answer(NamedTuple):
    answer: QuotedAnswer
    asked: Asked | None


def answer_items(
    items: Sequence[Item], engine: Engine | None, *, predict_only: bool = False
) -> list[Record]:
    """Answer and score some items.

    One example that cannot be answered must not cost the run: its record says why. What fails from
    outside (`UnavailableError`) ends the run, and is tried again when it is resumed.

    Args:
        items: what is answered together.
        engine: what answers; None for the human row, whose answers are there.
        predict_only: leave the scores out.
    """
    from semqa.engines import BatchEngine

    if isinstance(engine, BatchEngine) and len(items) > 1:
        started = time.perf_counter()
        try:
            answers = _answers(items, engine)
        except InputError:
            # One of them, found before any was answered: which one shows when each is alone.
            return [_record(item, engine, predict_only) for item in items]
        share = (time.perf_counter() - started) / len(items)
        return [
            _scored(item, answer, answer.marked, share, predict_only, asked)
            for item, (answer, asked) in zip(items, answers, strict=True)
        ]
    return [_record(item, engine, predict_only) for item in items]


def failed_record(
    item: Item, error: str, *, predict_only: bool = False, seconds: float = 0.0
) -> Record:
    """Return the record of an example that has no answer, which is scored as an empty one.

    Args:
        item: the example.
        error: why it has none.
        predict_only: leave the scores out.
        seconds: that it took to fail.
    """
    nothing = QuotedAnswer.parse("", item.question.sources)
    return _scored(item, nothing, "", seconds, predict_only, error=error)


def _record(item: Item, engine: Engine | None, predict_only: bool) -> Record:
    question = item.question
    started = time.perf_counter()
    if item.left_out is not None:
        text = question.references[item.left_out].text
        answer = QuotedAnswer.parse(text, question.sources)
        return _scored(item, answer, text, time.perf_counter() - started, predict_only)
    if engine is None:
        raise ValueError("an item without a reference needs an engine")
    try:
        ((answer, asked),) = _answers([item], engine)
    except InputError as failure:
        seconds = time.perf_counter() - started
        return failed_record(item, str(failure), predict_only=predict_only, seconds=seconds)
    return _scored(item, answer, answer.marked, time.perf_counter() - started, predict_only, asked)


def _answers(items: Sequence[Item], engine: Engine) -> list[_Answer]:
    """Answer items, with what the model was asked where the engine asks one."""
    from semqa.engines import BatchEngine, GeneratingEngine, PromptedEngine, Request

    requests = [Request(item.question.question, item.question.sources) for item in items]
    if isinstance(engine, GeneratingEngine):
        chat = bool(getattr(engine, "chat", True))
        return [
            _Answer(made.read(request.sources), Asked.by(made, chat=chat))
            for request, made in zip(requests, engine.generate(requests), strict=True)
        ]
    if isinstance(engine, BatchEngine) and len(items) > 1:
        answers = engine.answer_batch(requests)
    else:
        answers = [engine.answer(*request) for request in requests]
    if not isinstance(engine, PromptedEngine):
        return [_Answer(answer, None) for answer in answers]
    prompts = [engine.prompt(*request) for request in requests]
    return [
        _Answer(answer, Asked(tuple(exemplar.qid for exemplar in prompt.exemplars)))
        for answer, prompt in zip(answers, prompts, strict=True)
    ]


def _scored(
    item: Item,
    answer: QuotedAnswer,
    text: str,
    seconds: float,
    predict_only: bool,
    asked: Asked | None = None,
    error: str | None = None,
) -> Record:
    scores = None if predict_only else score_item(item, text)
    question = item.question
    return Record.of(
        item.key, question.qid, question.question, answer, scores, seconds, error, asked
    )
