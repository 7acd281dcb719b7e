"""Whether a tokenizer is one, and the one of its model."""

from __future__ import annotations

from typing import Any

from semqa.errors import InputError

__all__ = ["check_tokenizer"]


def check_tokenizer(name: str, tokenizer: Any, model: Any) -> None:
    """See that a tokenizer knows words, and that the model knows their tokens.

    Tokens that were added to a tokenizer later may be more than the model knows, such as a padding
    token: those are found where a prompt holds one.

    Raises:
        InputError: the tokenizer is empty, or belongs to another model.
    """
    added = set(getattr(tokenizer, "added_tokens_decoder", {}))
    apart = set(tokenizer.all_special_tokens)
    own = {
        token: number
        for token, number in tokenizer.get_vocab().items()
        if number not in added and token not in apart
    }
    # Where there are no files, transformers makes a tokenizer of control tokens, or of a space.
    if not any(token.strip("▁Ġ ") for token in own):
        raise InputError(
            f"Model {name} has no tokenizer: none of its tokens has any text.",
            hint="Put the tokenizer's files, such as tokenizer.json, next to config.json.",
        )
    known = int(model.get_input_embeddings().num_embeddings)
    highest = max(own.values())
    if highest >= known:
        raise InputError(
            f"Model {name} has another model's tokenizer: its ids go up to {highest:,}, but the model knows {known:,} tokens."
        )
