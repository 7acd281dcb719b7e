"""A small encoder without torch: a question is embedded before torch would be imported.

Knows models of sentence-transformers that are a BERT with the mean of its last states, which the
packaged encoder is. For others, and for many texts at a time, there is sentence-transformers.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["PlainBert"]

MOST_BYTES = 256 * 2**20
"""Weights of a larger model are no quick work for numpy."""

_MODULES = ("Transformer", "Pooling", "Normalize")


class PlainBert:
    """A BERT whose states are averaged, one text at a time.

    Use `of`, which sees whether a model is one.

    Source: Devlin et al. 2019; its arithmetic is that of transformers' ``BertModel``.
    """

    def __init__(
        self, config: Mapping[str, Any], weights: Mapping[str, NDArray[np.float32]], tokenizer: Any
    ) -> None:
        self._heads: int = config["num_attention_heads"]
        self._layers: int = config["num_hidden_layers"]
        self._epsilon: float = config["layer_norm_eps"]
        self._weights = weights
        self._tokenizer = tokenizer

    @classmethod
    def of(cls, folder: Path) -> PlainBert | None:
        """Return the model in a folder, or None where it is of another kind."""
        try:
            config = _read(folder / "config.json")
            modules = [each["type"].rpartition(".")[2] for each in _read(folder / "modules.json")]
            pooling = _read(folder / "1_Pooling" / "config.json")
            limits = _read(folder / "sentence_bert_config.json")
            more = _read(folder / "config_sentence_transformers.json")
            file = folder / "model.safetensors"
            plain = (
                config["model_type"] == "bert"
                and config["hidden_act"] == "gelu"
                and config.get("position_embedding_type", "absolute") == "absolute"
                and modules == list(_MODULES[: len(modules)])
                and len(modules) >= 2
                and [key for key, on in pooling.items() if key.startswith("pooling_mode_") and on]
                == ["pooling_mode_mean_tokens"]
                and not limits.get("do_lower_case")
                and not more.get("default_prompt_name")
                and file.stat().st_size <= MOST_BYTES
            )
            if not plain:
                return None
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer

            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            tokenizer.no_padding()
            tokenizer.enable_truncation(limits["max_seq_length"])
            weights = {
                name.removeprefix("bert."): np.asarray(array, dtype=np.float32)
                for name, array in load_file(file).items()
            }
            made = cls(config, weights, tokenizer)
            made.encode(["whether all is there"])
        except Exception:  # noqa: BLE001 -- what is wrong with it, sentence-transformers will say
            return None
        return made

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the mean of the last states of each text, float32[texts, width]."""
        return np.stack([self._encode(text) for text in texts])

    def _encode(self, text: str) -> NDArray[np.float32]:
        # sentence-transformers takes the blanks off, too.
        ids = self._tokenizer.encode(text.strip()).ids
        tables = [f"embeddings.{name}_embeddings.weight" for name in ("word", "position")]
        states = self._weights[tables[0]][ids] + self._weights[tables[1]][: len(ids)]
        states = states + self._weights["embeddings.token_type_embeddings.weight"][0]
        states = self._normed(states, "embeddings.LayerNorm")
        for number in range(self._layers):
            states = self._layer(states, f"encoder.layer.{number}")
        found: NDArray[np.float32] = states.mean(axis=0)
        return found

    def _layer(self, states: NDArray[np.float32], at: str) -> NDArray[np.float32]:
        """Return what one layer makes of states, [tokens, width]."""
        tokens, width = states.shape
        split = (tokens, self._heads, width // self._heads)
        query, key, value = (
            self._linear(states, f"{at}.attention.self.{name}").reshape(split).transpose(1, 0, 2)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.float32(split[2] ** 0.5)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        mixed = (shares @ value).transpose(1, 0, 2).reshape(tokens, width)
        mixed = self._linear(mixed, f"{at}.attention.output.dense")
        states = self._normed(states + mixed, f"{at}.attention.output.LayerNorm")
        inner = _gelu(self._linear(states, f"{at}.intermediate.dense"))
        return self._normed(
            states + self._linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm"
        )

    def _linear(self, states: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        found: NDArray[np.float32] = states @ self._weights[f"{name}.weight"].T
        return found + self._weights[f"{name}.bias"]

    def _normed(self, states: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        centred = states - states.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self._epsilon)
        found: NDArray[np.float32] = centred / spread * self._weights[f"{name}.weight"]
        return found + self._weights[f"{name}.bias"]


def _gelu(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return x times the share of a normal distribution below it.

    Source: Abramowitz and Stegun 1964, 7.1.26; off by less than 2e-7.
    """
    z = np.abs(x) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = np.zeros_like(t)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = (series + np.float32(factor)) * t
    erf = np.copysign(1 - series * np.exp(-z * z), x)
    found: NDArray[np.float32] = np.float32(0.5) * x * (1 + erf)
    return found


def _read(path: Path) -> Any:
    with suppress(FileNotFoundError):
        return json.loads(path.read_text(encoding="utf-8"))
    return {}
