"""Read the vocabulary of a vLLM engine, and check its configuration.

When the engine starts, configurations that would bypass the constraint are rejected.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from semqa.decoding.tokenizers import read_tokenizer
from semqa.decoding.vocabulary import Vocabulary
from semqa.errors import InputError

NAME = "semqa.decoding.vllm:CopyConstraintProcessor"
"""The value of vLLM's ``--logits-processors``."""

_PLUGINS = "vllm.logits_processors"
_HOW = f"Start vLLM with --logits-processors {NAME}."


def check_setup(config: Any, processor: type, *, second_runner: bool) -> None:
    """Raise if the engine would not constrain every answer."""
    model = config.model_config
    listed = [one for one in model.logits_processors or () if _is(one, processor)]
    plugged = [one.value for one in entry_points(group=_PLUGINS) if _is(one.value, processor)]
    if not listed and not second_runner:
        raise InputError(
            f"{NAME} is installed as a plugin only. vLLM does not pass tokens to plugins with asynchronous scheduling and skips them with speculative decoding.",
            hint=_HOW,
        )
    if len(listed) + len(plugged) > 1:
        raise InputError(
            f"{NAME} is loaded {len(listed) + len(plugged)} times. List it only once and remove any plugin entry."
        )
    speculative = config.speculative_config
    method = getattr(speculative, "rejection_sample_method", None)
    if method == "synthetic":
        raise InputError(
            "must not be synthetic, because that accepts drafts without checking them.",
            field="rejection_sample_method",
        )
    if getattr(model, "is_diffusion", False):
        raise InputError(
            "Diffusion models cannot be constrained. Start vLLM without the processor."
        )


def vocabulary_of(config: Any) -> Vocabulary:
    """Return the vocabulary of an engine's model."""
    from vllm.tokenizers import cached_tokenizer_from_config

    model = config.model_config
    tokenizer = cached_tokenizer_from_config(model)
    if tokenizer is None:
        raise InputError(
            "cannot be combined with the constraint, which needs the tokenizer.",
            field="skip_tokenizer_init",
        )
    width = int(model.get_vocab_size())
    read = read_tokenizer(tokenizer)
    # The model only generates tokens that have scores; it may have more than the tokenizer.
    tokens = [*read.tokens[:width], *[b""] * (width - len(read.tokens))]
    ends = {number for number in _ends(model, tokenizer, read.eos_ids) if number < width}
    if not ends:
        raise InputError("The model has no end token. Set eos_token_id in generation_config.json.")
    special = [number for number in read.special_ids if number < width]
    return Vocabulary.from_tokens(
        tokens, ends, special, strips_leading_space=read.strips_leading_space
    )


def _ends(model: Any, tokenizer: Any, own: tuple[int, ...]) -> set[int]:
    """Return the tokens at which vLLM ends an answer."""
    given = model.try_get_generation_config().get("eos_token_id")
    named = set(own) if given is None else {*own, *([given] if isinstance(given, int) else given)}
    if getattr(tokenizer, "eos_token_id", None) is not None:
        named.add(int(tokenizer.eos_token_id))
    return named


def _is(named: object, processor: type) -> bool:
    """Return whether an entry of vLLM's processor list is this processor."""
    if isinstance(named, type):
        return named is processor
    module, _, name = str(named).partition(":")
    return name == processor.__qualname__ and module in (
        processor.__module__,
        processor.__module__.rpartition(".")[0],
    )
