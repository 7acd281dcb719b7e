"""Mistral's tekken, the vocabulary that the constraint is timed with: whole, or its beginning."""

from __future__ import annotations

import json
from pathlib import Path

__all__ = ["FEW", "tekken_file"]

FEW = 8_192
"""Tokens that show whether a benchmark works at all; to read all of them takes seconds.

A multiple of 32, as the whole: a mask has no bits beyond them.
"""


def tekken_file(folder: Path | None = None, *, tokens: int = FEW) -> Path:
    """Return the file of the tokenizer, 131,072 tokens.

    Args:
        folder: where to write the same with fewer tokens, the most frequent ones: return that.
        tokens: how many of them, special ones among them.
    """
    import mistral_common

    whole = Path(mistral_common.__file__).parent / "data/tekken_240911.json"
    if folder is None:
        return whole
    data = json.loads(whole.read_text(encoding="utf-8"))
    config = data["config"]
    usual = tokens - config["default_num_special_tokens"]
    config |= {"num_vocab_tokens": usual, "default_vocab_size": tokens}
    smaller = folder / "tekken.json"
    smaller.write_text(
        json.dumps({"config": config, "vocab": data["vocab"][:usual]}), encoding="utf-8"
    )
    return smaller
