"""How long a prompt may be, as the harness's model sees it.

What is longer the harness cuts at its beginning, where the instructions stand.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ANSWER = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""What the harness's arguments of decoding may call the most tokens of an answer."""

_log = logging.getLogger("lm_eval.tasks.quotesum")


@dataclass(frozen=True, slots=True)
class Room:
    """What a prompt has room in.

    Attributes:
        count: counts the tokens of a text, as the model gets it.
    """

    tokens: int
    count: Callable[[str], int]


def find_room(
    chat_template: Callable[..., Any] | None,
    arguments: Mapping[str, Any],
    decoding: Mapping[str, Any],
) -> Room | None:
    """Return what a prompt has room in, or None where that cannot be told.

    A chat template is a method of the model, which can be asked. Without one, tokenizer and length
    are those that the arguments of the model name.

    Args:
        arguments: those of model and task.
    """
    answer = next((int(decoding[name]) for name in _ANSWER if decoding.get(name)), 0)
    model = getattr(chat_template, "__self__", None)
    if model is not None:
        return _asked(model, answer)
    return _named(arguments, answer)


def _asked(model: Any, answer: int) -> Room | None:
    longest, encode = getattr(model, "max_length", None), getattr(model, "tok_encode", None)
    if not isinstance(longest, int) or encode is None:
        return None
    if getattr(model, "tokenized_requests", True) is False:
        return None  # an endpoint, which gets messages, and refuses what is too long for it
    reads_apart = getattr(model, "backend", "causal") == "seq2seq"
    batch = getattr(model, "tok_batch_encode", None)

    def count(text: str) -> int:
        # As many as the model gets: encoding one alone may leave out what stands in front.
        if batch is not None and hasattr(model, "backend"):
            return int(batch([text])[0].shape[-1])
        return len(encode(text))

    return Room(longest if reads_apart else longest - answer, count)


def _named(arguments: Mapping[str, Any], answer: int) -> Room | None:
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
            "quotesum: no tokenizer of %s: prompts too long for it will be cut at their beginning "
            "(%s)",
            name,
            str(error).partition("\n")[0],
        )
        return None
    given = arguments.get("max_length") or arguments.get("max_model_len")
    longest = int(given) if given else resolve_max_length(config, tokenizer)
    reads_apart = bool(getattr(config, "is_encoder_decoder", False))
    return Room(
        longest if reads_apart else longest - answer, lambda text: len(tokenizer(text)["input_ids"])
    )
