"""A request made ready for an endpoint: its prompt, and what keeps its answer to verbatim quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from semqa.decoding.grammar import quoting_grammar
from semqa.decoding.vllm.request import to_extra_args
from semqa.engines.openai.ways import grammar_fields, schema_fields
from semqa.errors import InputError
from semqa.prompting import Message, Prompt
from semqa.quotes.pointing import INSTRUCTION, Pointing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from semqa.engines.base import Request
    from semqa.engines.generation import Way
    from semqa.engines.openai.options import OpenAIOptions
    from semqa.engines.openai.ways import Offer
    from semqa.prompting.reserved import Spelling

__all__ = ["Task", "make_task", "pointing_prompt"]


class Task(NamedTuple):
    """A request, ready for the endpoint.

    Attributes:
        request: the question and its sources.
        prompt: what the model is given.
        way: how it is kept to verbatim quotes.
        fields: of the HTTP request, for that.
        pointing: reads the reply, if the model points.
        plain: the same without any of this, if the endpoint refuses it.
    """

    request: Request
    prompt: Prompt
    way: Way
    fields: Mapping[str, object]
    pointing: Pointing | None = None
    plain: Prompt | None = None


def make_task(
    request: Request, prompt: Prompt, offer: Offer, options: OpenAIOptions, spell: Spelling
) -> Task:
    """Return a task; what no grammar takes is repaired, unless a grammar was asked for.

    Args:
        request: the question and its sources.
        prompt: what asks for marked answers.
        offer: the way to take.
        options: of the engine.
        spell: spells control tokens out.

    Raises:
        InputError: the grammar that was asked for cannot be made.
    """
    question, sources = request
    if offer.way == "processor":
        keys = to_extra_args(sources, options.policy, question)
        return Task(request, prompt, offer.way, {"vllm_xargs": keys})
    if offer.way == "grammar":
        try:
            grammar = quoting_grammar(
                sources,
                options.policy,
                question=question,
                dialect=offer.dialect,
            )
        except InputError:
            if options.constraint == "grammar":
                raise
            return Task(request, prompt, "repair", {})
        return Task(request, prompt, offer.way, grammar_fields(grammar, offer.dialect))
    if offer.way == "pointing":
        pointing = Pointing(sources, question)
        asked = pointing_prompt(pointing, question, prompt, spell)
        return Task(
            request,
            asked,
            offer.way,
            schema_fields(pointing.schema(bounded=offer.bounded)),
            pointing,
            prompt,
        )
    return Task(request, prompt, offer.way, {})


def pointing_prompt(pointing: Pointing, question: str, prompt: Prompt, spell: Spelling) -> Prompt:
    """Return the prompt that asks for pointers, in the form of another."""
    asked = f"Question: {spell(question)}\n\n{spell(pointing.listing)}"
    return Prompt(
        messages=(Message("system", INSTRUCTION), Message("user", asked)),
        text=f"{INSTRUCTION}\n\n{asked}\n\nJSON:",
        form=prompt.form,
        stop=(),
        answers="quotes",
        exemplars=(),
        template="pointing",
        version="1",
        sha256="",
    )
