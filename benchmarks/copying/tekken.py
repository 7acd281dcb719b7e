"""Mistral's tekken tokenizer, in full or reduced to its first tokens."""

from __future__ import annotations

import json
from pathlib import Path

__all__ = ["SMALL_SIZE", "tekken_file"]

SMALL_SIZE = 8_192
"""Vocabulary size for smoke tests: loading the full vocabulary takes seconds.

A multiple of 32, like the full size, so that masks have no unused bits.
"""


def tekken_file(folder: Path | None = None, *, tokens: int = SMALL_SIZE) -> Path:
    """Return the path of the tokenizer file, with 131,072 tokens.

    Args:
        folder: if given, write a smaller file with the most frequent tokens there; return its
            path.
        tokens: number of tokens in the smaller file, including special tokens.
    """
    import mistral_common

    full = Path(mistral_common.__file__).parent / "data/tekken_240911.json"
    if folder is None:
        return full
    data = json.loads(full.read_text(encoding="utf-8"))
    config = data["config"]
    ordinary = tokens - config["default_num_special_tokens"]
    config |= {"num_vocab_tokens": ordinary, "default_vocab_size": tokens}
    smaller = folder / "tekken.json"
    smaller.write_text(
        json.dumps({"config": config, "vocab": data["vocab"][:ordinary]}), encoding="utf-8"
    )
    return smaller
