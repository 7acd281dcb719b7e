"""A small encoder without torch: texts are embedded before torch would be imported.

Knows models of sentence-transformers that are a BERT with the mean of its last states, which the
packaged encoder is. For others there is sentence-transformers.
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

_BLOCK = 16384
_FACTORS = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)

BATCH_TOKENS = 1024
"""Tokens of a batch, padding included."""

_WORDS, _PLACES = (f"embeddings.{name}_embeddings.weight" for name in ("word", "position"))
_MODULES = ("Transformer", "Pooling", "Normalize")


class PlainBert:
    """A BERT whose states are averaged.

    Use `of`, which sees whether a model is one.

    Source: Devlin et al. 2019; its arithmetic is that of transformers' ``BertModel``.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        weights: Mapping[str, NDArray[np.float32]],
        tokenizer: Any,
        *,
        normalise: bool,
    ) -> None:
        self._normalise = normalise
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
            made = cls(config, weights, tokenizer, normalise=_MODULES[2] in modules)
            made.encode(["whether all is there"])
        except Exception:  # noqa: BLE001 -- what is wrong with it, sentence-transformers will say
            return None
        return made

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return what the model makes of each text, float32[texts, width]."""
        # sentence-transformers takes the blanks off, too.
        found = self._tokenizer.encode_batch([text.strip() for text in texts])
        tokens = [encoding.ids for encoding in found]
        out = np.empty((len(texts), self._weights[_WORDS].shape[1]), dtype=np.float32)
        batch: list[int] = []
        for i in sorted(range(len(tokens)), key=lambda i: -len(tokens[i])):
            # The longest of a batch comes first; padding costs what tokens do.
            if batch and len(tokens[batch[0]]) * (len(batch) + 1) > BATCH_TOKENS:
                out[batch] = self._encode([tokens[j] for j in batch])
                batch = []
            batch.append(i)
        if batch:
            out[batch] = self._encode([tokens[j] for j in batch])
        if self._normalise:
            out /= np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12)
        return out

    def _encode(self, tokens: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Return the mean state of each row, the longest of which comes first."""
        longest = len(tokens[0])
        ids = np.zeros((len(tokens), longest), dtype=np.int64)
        there = np.zeros((len(tokens), longest), dtype=np.float32)
        for row, given in enumerate(tokens):
            ids[row, : len(given)] = given
            there[row, : len(given)] = 1.0
        states = self._weights[_WORDS][ids] + self._weights[_PLACES][:longest]
        states = states + self._weights["embeddings.token_type_embeddings.weight"][0]
        states = self._normed(states, "embeddings.LayerNorm")
        away = (there[:, None, None, :] - 1.0) * np.float32(1e9)
        for number in range(self._layers):
            states = self._layer(states, away, f"encoder.layer.{number}")
        found: NDArray[np.float32] = (states * there[..., None]).sum(axis=1)
        found /= there.sum(axis=1)[:, None]
        return found

    def _layer(
        self, states: NDArray[np.float32], away: NDArray[np.float32], at: str
    ) -> NDArray[np.float32]:
        """Return what one layer makes of states, [rows, tokens, width]."""
        rows, tokens, width = states.shape
        split = (rows, tokens, self._heads, width // self._heads)
        query, key, value = (
            self._linear(states, f"{at}.attention.self.{name}").reshape(split).swapaxes(1, 2)
            for name in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(2, 3) / np.float32(split[3] ** 0.5) + away
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        mixed = (shares @ value).swapaxes(1, 2).reshape(rows, tokens, width)
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
    """Return x times the share of a normal distribution below it; writes over `x`.

    Source: Abramowitz and Stegun 1964, 7.1.26; off by less than 2e-7.
    """
    flat = x.reshape(-1)
    for start in range(0, len(flat), _BLOCK):
        # A block stays in the processor's cache through all of these steps.
        block = flat[start : start + _BLOCK]
        z = np.abs(block)
        z *= np.float32(0.5**0.5)
        t = np.float32(1) / (np.float32(1) + np.float32(0.3275911) * z)
        series = t * np.float32(_FACTORS[0])
        for factor in _FACTORS[1:]:
            series += np.float32(factor)
            series *= t
        z *= -z
        series *= np.exp(z, out=z)
        erf = np.copysign(np.float32(1) - series, block)
        erf += np.float32(1)
        erf *= np.float32(0.5)
        block *= erf
    return x


def _read(path: Path) -> Any:
    with suppress(FileNotFoundError):
        return json.loads(path.read_text(encoding="utf-8"))
    return {}
