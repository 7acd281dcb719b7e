"""How long prompts and answers of a model may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
            InputError: the answer alone does not fit.
        """
        config = loaded.model.config
        positions = options.context or _positions(loaded)
        # An encoder-decoder model reads a start token before the answer.
        taken = options.max_new_tokens + (1 if config.is_encoder_decoder else 0)
        if taken >= positions:
            raise InputError(
                f"max_new_tokens: got {options.max_new_tokens}, expected less than the model's "
                f"context of {positions:,} tokens; lower it"
            )
        return cls(positions if config.is_encoder_decoder else positions - taken)


def _positions(loaded: LoadedModel) -> int:
    config = loaded.model.config.get_text_config()
    if getattr(config, "relative_attention_num_buckets", None) and config.is_encoder_decoder:
        return _UNLIMITED  # T5 and its kin know distances, not positions
    for name in _NAMES:
        value = getattr(config, name, None)
        if isinstance(value, int) and value > 0:
            return value
    return min(int(loaded.tokenizer.model_max_length), _UNLIMITED)
