"""Free completions: no constraint, and greedy unless the caller wants samples."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from semqa.engines.base import PromptTooLongError
from semqa.engines.model.text import AnswerText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.decoding import Vocabulary
    from semqa.engines.model.options import AnswerOptions

__all__ = ["check_fits", "free_options", "read_text"]

_Options = TypeVar("_Options", bound="AnswerOptions")

_FREE: dict[str, object] = {
    "constraint": "off",
    "decoding": None,
    "num_beams": 1,
    "repetition_penalty": 1.0,
}
_GREEDY: dict[str, object] = {"temperature": 0.0, "top_p": 1.0, "top_k": 0}


def free_options(options: _Options, max_new_tokens: int, *, sample: bool = False) -> _Options:
    """Return options without a constraint.

    Args:
        options: of the engine.
        max_new_tokens: most tokens of a completion.
        sample: keep the temperature, `top_p`, `top_k` and seed; otherwise decode greedily.

    Raises:
        InputError: the number of tokens is out of range.
    """
    known = {field.name for field in fields(options)}
    wanted = _FREE if sample else _FREE | _GREEDY
    changed: dict[str, Any] = {name: value for name, value in wanted.items() if name in known}
    return replace(options, max_new_tokens=max_new_tokens, **changed)


def check_fits(tokens: int, limit: int) -> None:
    """See that a prompt fits into a model's context.

    Raises:
        PromptTooLongError: it does not.
    """
    if tokens > limit:
        raise PromptTooLongError(
            f"the prompt is too long for the model: got {tokens:,} tokens, expected at most "
            f"{limit:,}; shorten it"
        )


def read_text(tokens: Sequence[int], vocabulary: Vocabulary) -> str:
    """Return the text of what a model wrote, without what stands around it."""
    text = AnswerText(vocabulary, ())
    pieces = [text.add(token) for token in tokens if token not in vocabulary.eos_ids]
    return ("".join(pieces) + text.end()).strip()
