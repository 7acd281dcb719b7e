"""Find the maximum prompt length of the harness's model.

The harness truncates longer prompts at the start, which has the instructions.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MAX_TOKENS_ARGUMENTS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""Names of the generation argument for the maximum number of tokens per answer."""

_log = logging.getLogger("lm_eval.tasks.quotesum")


@dataclass(frozen=True, slots=True)
class ContextBudget:
    """Maximum prompt length.

    Attributes:
        tokens: maximum number of tokens.
        count: returns the number of tokens that the model gets for a text.
    """

    tokens: int
    count: Callable[[str], int]


def find_budget(
    chat_template: Callable[..., Any] | None,
    arguments: Mapping[str, Any],
    decoding: Mapping[str, Any],
) -> ContextBudget | None:
    """Return the context budget for prompts, or None if it is unknown.

    A chat template is a bound method of the model, which has the length and tokenizer. Without a
    chat template, both come from the model arguments.

    Args:
        arguments: arguments of the model and the task.
        decoding: generation arguments.
    """
    limits = (int(decoding[name]) for name in _MAX_TOKENS_ARGUMENTS if decoding.get(name))
    answer_tokens = next(limits, 0)
    model = getattr(chat_template, "__self__", None)
    if model is not None:
        return _budget_of_model(model, answer_tokens)
    return _budget_from_arguments(arguments, answer_tokens)


def _budget_of_model(model: Any, answer_tokens: int) -> ContextBudget | None:
    max_length, encode = getattr(model, "max_length", None), getattr(model, "tok_encode", None)
    if not isinstance(max_length, int) or encode is None:
        return None
    if getattr(model, "tokenized_requests", True) is False:
        return None  # an endpoint that gets messages and rejects long prompts itself
    separate_encoder = getattr(model, "backend", "causal") == "seq2seq"
    batch = getattr(model, "tok_batch_encode", None)

    def count(text: str) -> int:
        # What the model gets: tok_encode may omit tokens at the start, such as BOS.
        if batch is not None and hasattr(model, "backend"):
            return int(batch([text])[0].shape[-1])
        return len(encode(text))

    return ContextBudget(max_length if separate_encoder else max_length - answer_tokens, count)


def _budget_from_arguments(
    arguments: Mapping[str, Any], answer_tokens: int
) -> ContextBudget | None:
    name = arguments.get("pretrained")
    if not isinstance(name, str):
        return None
    from lm_eval.models.utils import resolve_max_length
    from transformers import AutoConfig, AutoTokenizer

    options = {key: arguments[key] for key in ("revision", "trust_remote_code") if key in arguments}
    try:
        config = AutoConfig.from_pretrained(name, **options)
        tokenizer = AutoTokenizer.from_pretrained(arguments.get("tokenizer") or name, **options)
    except (OSError, ValueError, KeyError, ImportError) as error:
        _log.warning(
            "quotesum: the tokenizer of %s cannot be loaded, so long prompts will be truncated at "
            "the start (%s)",
            name,
            str(error).partition("\n")[0],
        )
        return None
    given = arguments.get("max_length") or arguments.get("max_model_len")
    max_length = int(given) if given else resolve_max_length(config, tokenizer)
    separate_encoder = bool(getattr(config, "is_encoder_decoder", False))
    return ContextBudget(
        max_length if separate_encoder else max_length - answer_tokens,
        lambda text: len(tokenizer(text)["input_ids"]),
    )
