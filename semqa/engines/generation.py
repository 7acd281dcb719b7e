"""What a language model wrote for one question, before anything in it is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from semqa.prompting import Prompt

__all__ = ["Generation", "Way"]

Way = Literal["processor", "grammar", "repair", "off"]
"""How a model is kept to verbatim quotes: by masks over its vocabulary (``processor``), by a grammar
of the server (``grammar``), afterwards (``repair``), or not at all (``off``)."""


@dataclass(frozen=True, slots=True)
class Generation:
    """One answer as a model wrote it.

    Attributes:
        text: the answer.
        prompt: what the model was given.
        prompt_tokens: how many tokens it read.
        new_tokens: how many tokens it wrote, the end token included.
        finished: whether it ended by itself; otherwise the token budget cut it off, which cannot
            happen under the constraint.
        constraint: how the model was kept to verbatim quotes.
        breach: which rule the text breaks for all that, in words; None where it breaks none, or the
            constraint is off. Found by reading the text (`semqa.decoding.find_breach`).
    """

    text: str
    prompt: Prompt
    prompt_tokens: int
    new_tokens: int
    finished: bool
    constraint: Way = "off"
    breach: str | None = None
