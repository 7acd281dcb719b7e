"""QuoteSum for inspect_ai, with semqa's prompts and scores.

Importing this module needs inspect_ai, which reads the annotations at run time.
"""

from __future__ import annotations

import math
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelName,
    get_model,
)
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    mean,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState, generate

from semqa.harness.quotesum import MAX_NEW_TOKENS, MEANS, HarnessSettings, QuestionSet, corpus_semqa
from semqa.metrics import METRICS
from semqa.prompting import Form, Prompt

_TURNS = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}

_SAMPLING_PROVIDERS = ("hf", "nnterp")
"""Providers that always sample and reject a temperature of 0."""

_MIN_TEMPERATURE = 1e-5
"""Low enough to make sampling greedy, except for ties."""


@task
def quotesum(
    data: str | None = None,
    split: str = "dev",
    prompt: str | None = None,
    shots: int = 0,
    exemplars: str | None = None,
    train: str | None = None,
    encoder: str | None = None,
    form: Form = "chat",
    seed: int = 0,
    canonical: bool = False,
    all_sources: bool = False,
) -> Task:
    """QuoteSum: answer questions by quoting numbered sources.

    Args:
        data: QuoteSum file; see `HarnessSettings` for this and the other arguments.
        split: cached split to use without a data file.
        form: ``chat``, or ``completion`` for a single user turn with the whole prompt.
        canonical: also accept marks that are not in canonical form.
        all_sources: also score source 8.
    """
    questions = QuestionSet(
        HarnessSettings(
            data=data,
            split=split,
            prompt=prompt,
            exemplars=exemplars,
            train=train,
            encoder=encoder,
            canonical=canonical,
            all_sources=all_sources,
        )
    )
    builder = questions.builder(shots, form=form, seed=seed)
    stops: tuple[str, ...] = ()
    samples = []
    for question in questions.questions:
        asked = questions.prompt(question.qid, builder)
        if form == "completion":
            stops = asked.stop
        samples.append(
            Sample(
                id=question.qid,
                input=asked.text if form == "completion" else _messages(asked),
                target=list(question.texts),
                metadata={
                    "question": question.question,
                    "exemplars": [exemplar.qid for exemplar in asked.exemplars],
                },
            )
        )
    return Task(
        dataset=MemoryDataset(samples, name="quotesum", location=str(questions.path)),
        solver=generate(),
        scorer=quotesum_scorer(
            data=str(questions.path), canonical=canonical, all_sources=all_sources
        ),
        config=GenerateConfig(
            temperature=_greedy_temperature(),
            max_tokens=MAX_NEW_TOKENS,
            stop_seqs=list(stops) or None,
        ),
        metadata=questions.identity(builder),
        version=1,
    )


def _greedy_temperature() -> float:
    """Return the lowest temperature that the model's provider accepts."""
    try:
        provider = ModelName(get_model()).api
    except ValueError:  # no model is set yet
        return 0.0
    return _MIN_TEMPERATURE if provider in _SAMPLING_PROVIDERS else 0.0


def _messages(prompt: Prompt) -> list[ChatMessage]:
    return [_TURNS[message.role](content=message.content) for message in prompt.messages]


@metric
def semqa() -> Metric:
    """Return the metric for corpus SEMQA, which is not a mean over examples."""

    def compute(scores: list[SampleScore]) -> float:
        rows = [row for each in scores if isinstance(row := each.score.value, dict)]
        return corpus_semqa((_number(row["sem_f1"]), _number(row["rougeLsum"])) for row in rows)

    return compute


@scorer(name="quotesum", metrics=[semqa(), {name: [mean(), stderr()] for name in MEANS}])
def quotesum_scorer(
    data: str | None = None, split: str = "dev", canonical: bool = False, all_sources: bool = False
) -> Scorer:
    """Score answers like ``semqa score``.

    The arguments are plain values, so that ``inspect score`` can recreate the scorer from a log.
    """
    questions = QuestionSet(
        HarnessSettings(data=data, split=split, canonical=canonical, all_sources=all_sources)
    )

    async def score(state: TaskState, target: Target) -> Score:
        del target
        text = state.output.completion
        row = questions.score(str(state.sample_id), text)
        values: dict[str, Any] = {
            # NaN tells the harness that the score is undefined.
            name: math.nan if (value := row.value(name)) is None else value
            for name in METRICS
        }
        return Score(value=values, answer=text, metadata={"unscored": dict(row.unscored)})

    return score


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
