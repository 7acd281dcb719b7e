"""The engine with a tiny model, and test questions."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from semqa import Source
from semqa.engines import Request
from semqa.engines.transformers import TransformersEngine, TransformersOptions
from semqa.engines.transformers.loading import LoadedModel
from semqa.prompting import PromptBuilder
from tests.models import tiny

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@contextmanager
def passes_of(module: Any, fatal: int = 0) -> Iterator[list[None]]:
    """List the forward passes of a module while the block runs; the one numbered `fatal` fails."""
    passes: list[None] = []

    def count(*_: object) -> None:
        passes.append(None)
        if len(passes) == fatal:
            raise RuntimeError("out of memory")

    hook = module.register_forward_pre_hook(count)
    try:
        yield passes
    finally:
        hook.remove()
