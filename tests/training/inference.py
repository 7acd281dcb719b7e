"""Scoring a trained model through the engine."""

from __future__ import annotations

from pathlib import Path

from semqa.data.quotesum import Question
from semqa.engines import Request
from semqa.engines.transformers import TransformersEngine, TransformersOptions
from semqa.metrics import Example, score
from semqa.prompting import PromptBuilder

__all__ = ["semqa_of"]


def semqa_of(model: Path, folder: Path, questions: list[Question]) -> float:
    """Return the SEMQA score of a trained model on questions."""
    engine = TransformersEngine(
        str(model),
        TransformersOptions(device="cpu", decoding="tokens", max_new_tokens=24, batch_size=20),
        prompts=PromptBuilder(folder / "short.jinja"),
    )
    answers = engine.answer_batch([Request(each.question, each.sources) for each in questions])
    report = score(
        (
            Example(each.qid, answer.marked, each.texts, each.short_answers, each.numbers)
            for each, answer in zip(questions, answers, strict=True)
        ),
        resamples=0,
    )
    value = report.value("semqa")
    assert value is not None
    return value
