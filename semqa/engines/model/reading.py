"""From the tokens of an answer to a `Generation`: the text, and whether it keeps the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.decoding.breach import find_breach
from semqa.engines.generation import Generation
from semqa.engines.model.text import AnswerText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.decoding import Vocabulary
    from semqa.engines.base import Request
    from semqa.engines.model.options import AnswerOptions
    from semqa.prompting import Prompt

__all__ = ["read_tokens"]


def read_tokens(
    tokens: Sequence[int],
    vocabulary: Vocabulary,
    stops: Sequence[str],
    *,
    request: Request,
    prompt: Prompt,
    prompt_tokens: int,
    options: AnswerOptions,
    finished: bool,
) -> Generation:
    """Read what a model wrote that masks kept to its sources, or nothing did.

    Args:
        tokens: all that it wrote, an end token included.
        vocabulary: the tokens, of which end tokens are no text.
        stops: texts that end an answer.
        request: what was asked.
        prompt: what the model was given.
        prompt_tokens: how many tokens that were.
        options: whether there was a constraint, and its rules.
        finished: whether it ended by itself.
    """
    text = AnswerText(vocabulary, stops)
    ended = bool(tokens) and tokens[-1] in vocabulary.eos_ids
    written = "".join(map(text.add, tokens[:-1] if ended else tokens)) + text.end()
    breach = None
    if options.constrained:
        breach = find_breach(written, request.sources, options.policy, request.question)
    return Generation(
        text=written,
        prompt=prompt,
        prompt_tokens=prompt_tokens,
        new_tokens=len(tokens),
        finished=finished,
        constraint="processor" if options.constrained else "off",
        breach=breach,
    )
