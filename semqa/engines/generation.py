"""What a language model wrote for one question, before anything in it is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semqa.prompting import Prompt

__all__ = ["Generation"]


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
    """

    text: str
    prompt: Prompt
    prompt_tokens: int
    new_tokens: int
    finished: bool
