"""The Hub: whether a model can be had from it, and what its errors mean for the user."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from semqa.engines.model.quiet import quiet_hub
from semqa.errors import InputError, MissingExtraError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from semqa.errors import SemqaError

__all__ = ["explained", "first_line", "for_weights", "is_on_disk_only"]

_SECONDS = 5.0
"""How long the Hub may take to answer the first question."""

_CLIENTS = ("httpx", "httpx2", "requests", "urllib3")
"""Packages whose errors, of whatever class, mean that the Hub was not reached."""


def is_on_disk_only(name: str, revision: str | None) -> bool:
    """Ask the Hub for a model, once: its loaders ask for each file, and go on asking for a minute.

    Returns:
        Whether the Hub does not give the model, and a copy on this machine has to do.

    Raises:
        InputError: there is no such model or revision, or no permission, and no copy here.
        UnavailableError: the Hub was not reached, and there is no copy here.
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

    Args:
        shared: the options that configuration and tokenizer are loaded with.
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
    """Say in one line what a library's error means for the user.

    Args:
        name: of the model.
        revision: that was asked for.
        error: of the library.
        wanted: what kind of model was expected.
    """
    from huggingface_hub import errors

    causes = _chain(error)

    def caused_by(*kinds: type[BaseException]) -> bool:
        return any(isinstance(cause, kinds) for cause in causes)

    if isinstance(error, ImportError):
        return MissingExtraError(
            f"model {name}: a package is missing: got {first_line(error)!r}, expected what it "
            "needs; install it with pip"
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
