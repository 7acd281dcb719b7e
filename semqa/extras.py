"""Optional packages, imported where they are used, and named when they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from semqa.errors import MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["require"]


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional module.

    Args:
        module: its full name, such as ``transformers``.
        extra: the extra of semqa that installs it, such as ``local``.
        purpose: what needs it, as the subject of a sentence: ``the engine transformers:gpt2``.

    Raises:
        MissingExtraError: it is not installed, or a package that it needs is not.

    Example:
        >>> require("json", extra="local", purpose="this example").__name__
        'json'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{purpose} needs packages that are not installed: got no module {error.name}, expected "
            f"those of the extra {extra}; run: pip install 'semqa[{extra}]'"
        ) from error
