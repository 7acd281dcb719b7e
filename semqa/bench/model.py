"""Which model answered, and with which versions of what ran it: for the record of a run."""

from __future__ import annotations

import hashlib
import importlib.metadata
from contextlib import suppress
from pathlib import Path

__all__ = ["model_identity", "model_versions"]

_PACKAGES = ("numba", "sentence-transformers", "tokenizers", "torch", "transformers")
_WHOLE = 16 * 2**20
_SAMPLE = 2**20


def model_identity(engine: str, revision: object = None) -> str | None:
    """Return a digest of a model's folder, or the commit of a model of the Hub.

    Of files above 16 MB, the digest takes in name, size, and the first and the last mebibyte:
    enough to tell one training from another, without reading gigabytes.

    Args:
        engine: the specification, such as ``transformers:MODEL``.
        revision: branch, tag or commit, for a model of the Hub.

    Returns:
        None for a model that is not on this machine yet.
    """
    name = engine.partition(":")[2]
    folder = Path(name)
    if folder.is_dir():
        return f"sha256:{_digest(folder)}"
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


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.name.startswith(".") or path.suffix.lower() == ".md":
            continue
        size = path.stat().st_size
        digest.update(f"{path.relative_to(folder).as_posix()}\0{size}\0".encode())
        with path.open("rb") as stream:
            if size <= _WHOLE:
                digest.update(stream.read())
            else:
                digest.update(stream.read(_SAMPLE))
                stream.seek(-_SAMPLE, 2)
                digest.update(stream.read())
    return digest.hexdigest()
