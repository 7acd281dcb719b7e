"""A request made ready for an endpoint: its prompt, and what keeps its answer to verbatim quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from semqa.decoding.grammar import quoting_grammar
from semqa.decoding.vllm.request import to_extra_args
from semqa.engines.openai.ways import grammar_fields
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from semqa.engines.base import Request
    from semqa.engines.generation import Way
    from semqa.engines.openai.options import OpenAIOptions
    from semqa.prompting import Prompt

__all__ = ["Task", "make_task"]


class Task(NamedTuple):
    """A request, ready for the endpoint.

    Attributes:
        request: the question and its sources.
        prompt: what the model is given.
        way: how it is kept to verbatim quotes.
        fields: of the HTTP request, for that.
    """

    request: Request
    prompt: Prompt
    way: Way
    fields: Mapping[str, object]


def make_task(request: Request, prompt: Prompt, way: Way, options: OpenAIOptions) -> Task:
    """Return a task; what no grammar takes is repaired, unless a grammar was asked for.

    Raises:
        InputError: the grammar that was asked for cannot be made.
    """
    question, sources = request
    if way == "processor":
        keys = to_extra_args(sources, options.policy, question)
        return Task(request, prompt, way, {"vllm_xargs": keys})
    if way == "grammar":
        try:
            grammar = quoting_grammar(sources, options.policy, question=question)
        except InputError:
            if options.constraint == "grammar":
                raise
            return Task(request, prompt, "repair", {})
        return Task(request, prompt, way, grammar_fields(grammar))
    return Task(request, prompt, way, {})
