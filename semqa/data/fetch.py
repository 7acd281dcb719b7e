"""Downloads of QuoteSum, with checksums and a cache. semqa contains no data itself."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from semqa.data.files import CACHE_SETTING, cache_folder, locked, write_atomic
from semqa.errors import InputError, UnavailableError

if TYPE_CHECKING:
    import httpx

DATASET = "quotesum"
LICENCE = "CC BY-SA 4.0"

MIRROR_SETTING = "SEMQA_QUOTESUM_URL"
"""The environment variable with the address of a mirror."""

_RELEASE = (
    "https://raw.githubusercontent.com/google-research-datasets/QuoteSum/"
    "f0f555dd4ef0898ae4ca0bf4bf0013f8eb9cd05a/v1"
)

MAX_DOWNLOAD_BYTES = 64 * 2**20
"""Maximum size of a file; the datasets have a few megabytes."""

ATTEMPTS = 5
TIMEOUT_SECONDS = 30.0
_RETRIED = (408, 425, 429)

ProgressCallback = Callable[[int, int | None], None]
"""Called with the number of bytes received and the total, if known."""


@dataclass(frozen=True, slots=True)
class Pin:
    """The expected digest of a file.

    Attributes:
        algorithm: ``sha256`` of the content, or ``git-blob``, git's object id of the content (SHA-1
            of ``blob <size>``, a NUL byte and the content).
    """

    algorithm: Literal["sha256", "git-blob"]
    digest: str
    size: int | None = None

    def accepts(self, content: bytes) -> bool:
        """Return whether content has this digest."""
        if self.size is not None and len(content) != self.size:
            return False
        if self.algorithm == "sha256":
            return hashlib.sha256(content).hexdigest() == self.digest
        header = b"blob %d\0" % len(content)
        return hashlib.sha1(header + content, usedforsecurity=False).hexdigest() == self.digest


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of the dataset: a split, and the digest of its content."""

    split: str
    pin: Pin

    @property
    def url(self) -> str:
        """URL of the file, on the mirror if one is set."""
        base = os.environ.get(MIRROR_SETTING, "").strip() or _RELEASE
        return f"{base.rstrip('/')}/{self.split}.jsonl"

    def path(self) -> Path:
        """Return the file's path in the cache."""
        return cache_folder() / DATASET / f"{self.split}.jsonl"

    def state(self) -> Literal["cached", "damaged", "absent"]:
        """Return the state of the file in the cache."""
        path = self.path()
        try:
            if not path.is_file():
                return "absent"
            return "cached" if self.pin.accepts(path.read_bytes()) else "damaged"
        except OSError as err:
            raise _cache_error(path, err) from err


REMOTE_FILES: tuple[RemoteFile, ...] = (
    RemoteFile("train", Pin("git-blob", "e9870b2123f25fd9879c5cec66d74c8f11bf6fbf")),
    RemoteFile(
        "dev",
        Pin("sha256", "9db3cc7588c9c6ce3f2bdfb6fa3df599255274ea1a5e5c565689b5068bf51e89", 773_939),
    ),
    RemoteFile("test", Pin("git-blob", "6181bf02d98f95dd12ff837fd9f4be2bed24bdae")),
)
"""All files that `fetch` can download."""


def remote_file(name: str, split: str) -> RemoteFile:
    """Return the file of a split of the dataset `name`."""
    if name != DATASET:
        raise InputError(f"Unknown dataset {name!r}.", hint=f"Choose one of: {DATASET}.")
    splits = {file.split: file for file in REMOTE_FILES}
    if split not in splits:
        raise InputError(f"must be one of {', '.join(splits)}, got {split!r}.", field="split")
    return splits[split]


def fetch(
    name: str = "quotesum",
    split: str = "dev",
    progress: ProgressCallback | None = None,
) -> Path:
    """Return the path of a public file in the cache; download it if it is missing or damaged.

    The digest is checked each time. If several processes fetch a file, one downloads it and the
    others wait.
    """
    file = remote_file(name, split)
    target = file.path()
    try:
        if file.state() != "cached":
            target.parent.mkdir(parents=True, exist_ok=True)
            with locked(target.with_name(f".{target.name}.lock")):
                if file.state() != "cached":
                    write_atomic(target, [download(file.url, file.pin, progress)])
    except OSError as err:
        raise _cache_error(target, err) from err
    return target


def download(url: str, pin: Pin, progress: ProgressCallback | None = None) -> bytes:
    """Download a small file; transient failures are retried."""
    import httpx

    try:
        client = httpx.Client(timeout=TIMEOUT_SECONDS, follow_redirects=True)
    except (ImportError, OSError, ValueError) as err:
        raise UnavailableError(
            f"The network settings are invalid: {err}. Check HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE."
        ) from err
    with client:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with client.stream("GET", url) as response:
                    content = _content(response, pin, progress)
                break
            # An invalid host name in a redirect raises UnicodeError.
            except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as err:
                raise InputError(f"{url!r} is not a valid URL: {err}") from err
            except httpx.TooManyRedirects as err:
                raise UnavailableError(f"{url} redirects too many times.") from err
            except httpx.TransportError as err:
                if attempt == ATTEMPTS:
                    raise UnavailableError(
                        f"Cannot download {url}: {type(err).__name__} ({err}). Check the network and "
                        "try again."
                    ) from err
            _sleep(2.0 ** (attempt - 2))
    if not pin.accepts(content):
        raise UnavailableError(
            f"{url} does not have the expected content ({pin.algorithm} {pin.digest}). Try again "
            "later, or check the URL."
        )
    return content


def _content(response: httpx.Response, pin: Pin, progress: ProgressCallback | None) -> bytes:
    import httpx

    status = response.status_code
    if status in _RETRIED or status >= 500:
        raise httpx.TransportError(f"HTTP status {status}")
    if status != 200:
        raise UnavailableError(f"{response.url} is not available: HTTP status {status}.")
    length = response.headers.get("Content-Length", "")
    total = int(length) if length.isdecimal() and len(length) < 19 else pin.size
    content = bytearray()
    for block in response.iter_bytes():
        content += block
        if len(content) > (pin.size or MAX_DOWNLOAD_BYTES):
            break  # too long; the digest will not match
        if progress is not None:
            progress(len(content), total)
    return bytes(content)


def _sleep(seconds: float) -> None:
    time.sleep(seconds)


def _cache_error(path: Path, err: OSError) -> UnavailableError:
    return UnavailableError(
        f"Cannot use the cache {path}: {err.strerror or repr(err)}. Set {CACHE_SETTING} to another folder."
    )
