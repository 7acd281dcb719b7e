"""How long prompts and answers of a model may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.errors import InputError

if TYPE_CHECKING:
    from semqa.engines.transformers.loading import LoadedModel
    from semqa.engines.transformers.options import TransformersOptions

__all__ = ["Limits"]

_UNLIMITED = 1 << 30
_NAMES = ("max_position_embeddings", "max_seq_len", "seq_length", "max_sequence_length")


class Limits(NamedTuple):
    """Limits in tokens.

    Attributes:
        prompt: most tokens of a prompt.
    """

    prompt: int

    @classmethod
    def of(cls, loaded: LoadedModel, options: TransformersOptions) -> Limits:
        """Return what the model's configuration says, or the option `context` in its place.

        A causal model has prompt and answer in one context. An encoder has the prompt for itself.

        Raises:
            InputError: the answer alone does not fit, or the model has no positions for `context`.
        """
        config = loaded.model.config
        most = _last_position(loaded)
        if options.context is not None and options.context > most:
            raise InputError(
                f"must be at most {most:,}, the model's positions, got {options.context:,}.",
                field="context",
                value=options.context,
            )
        positions = options.context or _positions(loaded)
        # An encoder-decoder model reads a start token before the answer.
        taken = options.max_new_tokens + (1 if config.is_encoder_decoder else 0)
        if taken >= positions:
            raise InputError(
                f"must be less than the model's context of {positions:,} tokens, got {options.max_new_tokens:,}.",
                field="max_new_tokens",
                value=options.max_new_tokens,
            )
        return cls(positions if config.is_encoder_decoder else positions - taken)


def _last_position(loaded: LoadedModel) -> int:
    """Return how many positions a model knows for certain; beyond them it fails, or raves."""
    config = loaded.model.config.get_text_config()
    if _knows_distances(config) or getattr(config, "alibi", False):
        return _UNLIMITED
    if _is_stretched(config):
        return _UNLIMITED
    value = getattr(config, "max_position_embeddings", None)
    return value if isinstance(value, int) and value > 0 else _UNLIMITED


def _is_stretched(config: Any) -> bool:
    """Whether rotary positions are scaled, so that there are more than the configuration counts."""
    # Its name since transformers 5, where kinds of layers may have settings of their own.
    given = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    settings = [given, *(value for value in given.values() if isinstance(value, dict))]
    kinds = (one.get("rope_type", one.get("type", "default")) for one in settings)
    return any(kind != "default" for kind in kinds)


def _knows_distances(config: Any) -> bool:
    """Whether a model is of T5's kin, which know distances and no positions."""
    return bool(
        getattr(config, "relative_attention_num_buckets", None) and config.is_encoder_decoder
    )


def _positions(loaded: LoadedModel) -> int:
    config = loaded.model.config.get_text_config()
    if _knows_distances(config):
        return _UNLIMITED
    for name in _NAMES:
        value = getattr(config, name, None)
        if isinstance(value, int) and value > 0:
            return value
    return min(int(loaded.tokenizer.model_max_length), _UNLIMITED)
