"""The engine with a tiny model, and test questions."""

from __future__ import annotations

from typing import Any

from semqa import Source
from semqa.engines import Request
from semqa.engines.transformers import TransformersEngine, TransformersOptions
from semqa.engines.transformers.loading import LoadedModel
from semqa.prompting import PromptBuilder
from tests.models import tiny

BRIDGE = (
    Source("The bridge was opened in 1932 by the mayor.", title="Old bridge"),
    Source("Ann built it, in the rain. 日本 café"),
)
RAIN = (Source("Bob crossed it first, in the rain."),)
REQUESTS = [
    Request("Who built it?", BRIDGE),
    Request("When was the bridge opened, by whom, and who crossed it first?", RAIN),
    Request("Who?", RAIN),
]


def engine(
    family: str, prompts: PromptBuilder | None = None, **settings: Any
) -> TransformersEngine:
    made = tiny(family)
    options = {"max_new_tokens": 32, "quote_bias": 9.0, "batch_size": 2} | settings
    return TransformersEngine(
        LoadedModel(made.model, made.tokenizer),
        TransformersOptions(**options),
        prompts=prompts or PromptBuilder("zero-shot"),  # exemplars would make it slow
    )
