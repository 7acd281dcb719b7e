"""Tiny models with random weights, as folders that vLLM loads, and what they are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semqa import Source

if TYPE_CHECKING:
    from pathlib import Path

SOURCES = (
    Source("White Christmas was sung by Bing Crosby in 1942, by the bridge.", title="White Christmas"),
    Source("The bridge was opened in 1932.\nIt is [old] and long — a café, naïve, 日本 😀."),
    Source(" ".join(f"In {year} the mayor crossed the bridge {year - 1900} times." for year in range(1920, 1990))),
)  # fmt: skip


def save_llama(folder: Path, *, width: int = 400, seed: int = 7) -> Path:
    """Write a model of byte-level BPE with a chat template; its scores are wider than its tokens."""
    from tests.models import tiny

    tokenizer = tiny("llama-chat").tokenizer
    _llama(width, seed, eos_token_id=1, bos_token_id=3).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_tekken(folder: Path, *, seed: int = 7) -> Path:
    """Write a model of the real vocabulary of 131,072 tokens, for ``tokenizer_mode="mistral"``."""
    import shutil

    from tests.decoding.vocabularies import mistral_data

    _llama(131_072, seed, eos_token_id=2, bos_token_id=1).save_pretrained(folder)
    shutil.copy(mistral_data() / "tekken_240911.json", folder / "tekken.json")
    return folder


def _llama(width: int, seed: int, **tokens: Any) -> Any:
    import torch
    from transformers import LlamaForCausalLM

    from tests.models import llama_config

    torch.manual_seed(seed)
    sizes = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1}
    config = llama_config(width, max_position_embeddings=4096, **sizes, **tokens)
    return LlamaForCausalLM(config).eval()
