"""Optional packages: their versions, and an error that says how to install a missing one."""

from __future__ import annotations

from functools import cache
from importlib import import_module, metadata
from types import ModuleType

from semqa.errors import MissingExtraError

__all__ = ["installed", "require"]


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional module.

    Args:
        module: full name of the module, such as ``transformers``.
        extra: the extra of semqa that installs the module, such as ``local``.
        purpose: the feature that needs it, as the subject of a sentence, such as ``the engine
            transformers:gpt2``.

    Raises:
        MissingExtraError: the module or one of its dependencies is not installed.

    Example:
        >>> require("json", extra="local", purpose="this example").__name__
        'json'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{purpose} needs the extra {extra}: {error.name} is not installed. In a clone of semqa, "
            f"run: pip install '.[{extra}]'"
        ) from error


def installed(*packages: str) -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    found = {package: _version(package) for package in packages}
    return {package: version for package, version in found.items() if version is not None}


@cache
def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
