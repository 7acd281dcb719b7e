"""Optional packages, imported where they are used, and named when they are missing."""

from __future__ import annotations

import re
from importlib import import_module, metadata
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
        brings = ", ".join(_requirements(extra))
        raise MissingExtraError(
            f"{purpose} needs the extra {extra}{f' ({brings})' if brings else ''}; {error.name} is "
            f"missing. In a clone of semqa, run: pip install '.[{extra}]'"
        ) from error


def _requirements(extra: str) -> list[str]:
    """Return what an extra installs, as the installed package says; nothing where it does not say."""
    try:
        stated = metadata.requires("semqa-quotes") or []
    except metadata.PackageNotFoundError:
        return []
    found: set[str] = set()
    seen: set[str] = set()
    wanted = [extra]
    while wanted:
        name = wanted.pop()
        seen.add(name)
        for line in stated:
            requirement, _, marker = line.partition(";")
            if re.search(rf"""extra *== *["']{re.escape(name)}["']""", marker) is None:
                continue
            if own := re.match(r"semqa-quotes\[([^\]]+)\]", requirement):
                wanted += [each for each in own[1].replace(" ", "").split(",") if each not in seen]
            else:
                found.add(requirement.strip())
    return sorted(found)
