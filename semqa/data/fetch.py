"""Public datasets: which files there are, what they must contain, and where they are kept.

Knows no file's format; nothing of the data itself is part of semqa.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from semqa.data.download import download
from semqa.data.lock import locked
from semqa.data.pin import Pin
from semqa.errors import InputError, UnavailableError

if TYPE_CHECKING:
    from semqa.data.download import Patience, ProgressCallback

__all__ = [
    "CACHE_SETTING",
    "REMOTE_FILES",
    "RemoteFile",
    "cache_folder",
    "fetch",
    "remote_file",
]

CACHE_SETTING = "SEMQA_CACHE"
"""The environment variable that names the cache folder."""

_QUOTESUM_COMMIT = "f0f555dd4ef0898ae4ca0bf4bf0013f8eb9cd05a"


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One downloadable file of a public dataset.

    Attributes:
        dataset: the name of the dataset.
        split: the part of it.
        base_url: the address of the file's folder.
        base_setting: the environment variable that names a mirror of that folder.
        name: the file's name in the folder.
        pin: what its content must be.
        licence: under which it is released.
    """

    dataset: str
    split: str
    base_url: str
    base_setting: str
    name: str
    pin: Pin
    licence: str

    @property
    def url(self) -> str:
        """Where the file is downloaded from: the mirror where one is set, else the release."""
        base = os.environ.get(self.base_setting, "").strip() or self.base_url
        return f"{base.rstrip('/')}/{self.name}"

    def path(self, cache_dir: Path | str | None = None) -> Path:
        """Return where the file is kept, whether it is there or not.

        Args:
            cache_dir: the cache folder; by default `cache_folder()`.
        """
        folder = cache_folder() if cache_dir is None else Path(cache_dir)
        return folder / self.dataset / self.name

    def state(self, cache_dir: Path | str | None = None) -> str:
        """Tell how the cache holds the file: ``cached``, ``partial``, ``damaged`` or ``absent``.

        Raises:
            UnavailableError: the cache cannot be read.
        """
        path = self.path(cache_dir)
        try:
            if self.pin.matches(path):
                return "cached"
            if path.exists():
                return "damaged"
            return "partial" if path.with_name(f"{path.name}.part").exists() else "absent"
        except OSError as err:
            raise _cache_error(path, err) from err


def _quotesum(split: str, pin: Pin) -> RemoteFile:
    base = (
        f"https://raw.githubusercontent.com/google-research-datasets/QuoteSum/{_QUOTESUM_COMMIT}/v1"
    )
    licence = "CC BY-SA 4.0"
    return RemoteFile("quotesum", split, base, "SEMQA_QUOTESUM_URL", f"{split}.jsonl", pin, licence)


REMOTE_FILES: tuple[RemoteFile, ...] = (
    _quotesum("train", Pin("git-blob", "e9870b2123f25fd9879c5cec66d74c8f11bf6fbf")),
    _quotesum(
        "dev",
        Pin("sha256", "9db3cc7588c9c6ce3f2bdfb6fa3df599255274ea1a5e5c565689b5068bf51e89", 773_939),
    ),
    _quotesum("test", Pin("git-blob", "6181bf02d98f95dd12ff837fd9f4be2bed24bdae")),
)
"""All files that can be fetched."""


def remote_file(name: str, split: str) -> RemoteFile:
    """Return the file of a dataset's split.

    Raises:
        InputError: there is none.

    Example:
        >>> remote_file("quotesum", "dev").name
        'dev.jsonl'
    """
    names = sorted({file.dataset for file in REMOTE_FILES})
    if name not in names:
        raise InputError(
            f"dataset: unknown name: got {name!r}, expected {', '.join(names)}; choose one of them"
        )
    splits = {file.split: file for file in REMOTE_FILES if file.dataset == name}
    if split not in splits:
        raise InputError(
            f"dataset {name}: unknown split: got {split!r}, expected {', '.join(splits)}; "
            "choose one of them"
        )
    return splits[split]


def cache_folder() -> Path:
    """Return the folder that downloads are kept in.

    It is ``$SEMQA_CACHE``, else ``semqa`` in the system's cache folder: ``$XDG_CACHE_HOME`` or
    ``~/.cache``; on macOS ``~/Library/Caches``; on Windows ``%LOCALAPPDATA%``.

    Raises:
        InputError: no variable is set and the home folder cannot be found.
    """
    try:
        if named := os.environ.get(CACHE_SETTING, ""):
            return Path(named).expanduser()
        xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
        if xdg.is_absolute():  # the specification says to ignore any other
            return xdg / "semqa"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "semqa"
        if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
            return Path(local) / "semqa" / "cache"
        return Path.home() / ".cache" / "semqa"
    except RuntimeError as err:
        raise InputError(
            f"cache folder: not found: got {err}, expected a home folder; set {CACHE_SETTING}"
        ) from err


def fetch(
    name: str = "quotesum",
    split: str = "dev",
    cache_dir: Path | str | None = None,
    progress: ProgressCallback | None = None,
    patience: Patience | None = None,
) -> Path:
    """Return a public file's path in the cache, downloading it first where it is not there whole.

    What is there is checked each time; a damaged file is downloaded again. Of several processes that
    want the same file one downloads it and the others wait.

    Args:
        name: the dataset.
        split: the part of it.
        cache_dir: the cache folder; by default `cache_folder()`.
        progress: called with the bytes received and all bytes, as they arrive; never if cached.
        patience: how long to keep trying.

    Raises:
        InputError: there is no such file, or the address of the mirror is none.
        UnavailableError: the download failed (see `download`) or the cache cannot be written.
    """
    file = remote_file(name, split)
    target = file.path(cache_dir)
    try:
        if file.pin.matches(target):
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked(target.with_name(f".{target.name}.lock")):
            if not file.pin.matches(target):
                download(file.url, target, file.pin, progress, patience)
    except OSError as err:
        raise _cache_error(target, err) from err
    return target


def _cache_error(path: Path, err: OSError) -> UnavailableError:
    return UnavailableError(
        f"{path}: cache cannot be used: got {err.strerror or err!r}, expected a folder with read and "
        f"write permission; set {CACHE_SETTING} to another folder"
    )
