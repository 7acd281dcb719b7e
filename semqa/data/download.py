"""Downloads over HTTP that end with the pinned content or with a clear error.

A download survives cut connections, overloaded servers and a kill of the process: what has been
received is continued with a range request, and only if the remote content is still the same.
Knows nothing of datasets or cache folders.

Source: RFC 9110, sections 13.1.5 (If-Range), 14 (ranges) and 15.5.17 (416).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from time import sleep as _sleep
from typing import TYPE_CHECKING

from semqa.data.part import Part
from semqa.errors import InputError, UnavailableError

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

    from semqa.data.pin import Pin

__all__ = ["MAX_DOWNLOAD_BYTES", "Patience", "ProgressCallback", "download"]

ProgressCallback = Callable[[int, int | None], None]
"""Called with the bytes received so far and all bytes to come, if known."""

MAX_DOWNLOAD_BYTES = 256 * 2**20
"""Where a pin knows no size, more bytes than this are taken for the wrong file."""

_MAX_CONNECTIONS = 100
_RETRIED = frozenset({408, 425, 429})
_UNSATISFIABLE = 416
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-\d+/(\d{1,18}|\*)")
_UNSATISFIED = re.compile(r"bytes \*/(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a download keeps trying.

    Attributes:
        attempts: connections in a row that bring nothing new before it gives up.
        pause_seconds: before the second of them; doubled before each further one.
        longest_pause_seconds: bound of a pause, also where the server asks for one.
        timeout_seconds: of silence on a connection.
    """

    attempts: int = 5
    pause_seconds: float = 0.5
    longest_pause_seconds: float = 15.0
    timeout_seconds: float = 30.0


class _InterruptedError(Exception):
    """A connection ended early; another try may bring the rest."""

    def __init__(self, reason: str, pause_seconds: float = 0.0) -> None:
        super().__init__(reason)
        self.pause_seconds = pause_seconds


def download(
    url: str,
    target: Path,
    pin: Pin,
    progress: ProgressCallback | None = None,
    patience: Patience | None = None,
) -> None:
    """Download a file to `target`, continuing an earlier try where one was left.

    The file appears under its name only when whole and checked. Until then its bytes are in
    ``NAME.part`` beside it; callers see to it that one process at a time downloads to `target`.

    Args:
        url: an http or https address.
        target: in an existing folder.
        pin: what the content must be.
        progress: called as bytes arrive.
        patience: how long to keep trying.

    Raises:
        InputError: the address is no http or https address.
        UnavailableError: no network, the server refuses, the content is not the pinned one, or the
            disk is full. What was received is kept, unless it is wrong.
    """
    patience = patience or Patience()
    part = Part(target, url)
    with _client(patience) as client:
        transfer = _Transfer(client, part, url, pin, progress or _ignore, patience)
        try:
            # Bytes continued from an earlier try may be damaged (a power cut, a careless server):
            # when the whole is wrong, one try from the beginning tells whether the remote file is.
            if transfer.receive_all() and not pin.matches(part.path):
                part.discard()
                transfer.receive_all()
            if not pin.matches(part.path):
                raise transfer.wrong(f"{pin.algorithm} {pin.digest_of(part.path)}", pin.digest)
            part.finish()
        except OSError as err:
            raise UnavailableError(
                f"{part.path}: could not be written: got {err.strerror or err!r}, expected room on "
                "a working disk; free some space and try again, the download continues"
            ) from err


def _ignore(done: int, total: int | None) -> None:
    """Report progress to nobody."""


def _client(patience: Patience) -> httpx.Client:
    import httpx

    # Identity, because a coding would count other bytes than the file's.
    headers = {"Accept-Encoding": "identity"}
    try:
        return httpx.Client(
            headers=headers, timeout=patience.timeout_seconds, follow_redirects=True
        )
    except (ImportError, OSError, ValueError) as err:
        raise UnavailableError(
            f"network: cannot be used: got {err}, expected working proxy and certificate settings; "
            "check the environment variables HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE"
        ) from err


@dataclass(frozen=True, slots=True)
class _Transfer:
    """One download under way."""

    client: httpx.Client
    part: Part
    url: str
    pin: Pin
    progress: ProgressCallback
    patience: Patience

    def wrong(self, got: str, expected: str) -> UnavailableError:
        """Remove the part, which is wrong, and return the error to raise."""
        self.part.discard()
        return UnavailableError(
            f"{self.url}: wrong content: got {got}, expected {expected}; "
            "the download was removed: try again later, or check the address"
        )

    def receive_all(self) -> bool:
        """Receive until the part is whole; tell whether it came in more than one piece."""
        part, patience = self.part, self.patience
        if self.pin.size and part.size == self.pin.size:
            self.progress(part.size, self.pin.size)
            return True
        continued = False
        furthest, idle = part.size, 0
        for _ in range(_MAX_CONNECTIONS):
            try:
                return self._receive() or continued
            except _InterruptedError as err:
                reason, pause = str(err), err.pause_seconds
            continued = True
            idle = 0 if part.size > furthest else idle + 1
            furthest = max(furthest, part.size)
            if idle >= patience.attempts:
                break
            pause = max(pause, patience.pause_seconds * 2 ** max(idle - 1, 0))
            _sleep(min(pause, patience.longest_pause_seconds))
        raise UnavailableError(
            f"{self.url}: download interrupted: got {reason} after {part.size} bytes, expected the "
            "whole file; check the network and try again, the download continues"
        )

    def _receive(self) -> bool:
        """Make one request and take what it brings; tell whether it continued the part."""
        import httpx

        try:
            with self.client.stream("GET", self.url, headers=self._range_headers()) as response:
                return self._take(response)
        # A host name that cannot be encoded, which a redirection may bring, is a UnicodeError.
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as err:
            raise InputError(
                f"{self.url}: not a web address: got {err}, expected http:// or https://; "
                "correct the address"
            ) from err
        except httpx.TooManyRedirects as err:
            raise UnavailableError(
                f"{self.url}: endless redirection: got {err}, expected a file; check the address"
            ) from err
        except httpx.TransportError as err:
            raise _InterruptedError(f"{type(err).__name__} ({err})") from err

    def _range_headers(self) -> dict[str, str]:
        validator = self.part.validator
        if not self.part.size or validator is None:
            return {}
        headers = {"Range": f"bytes={self.part.size}-"}
        # Only a strong ETag may stand here; a weaker validator is compared in the answer alone.
        if validator.startswith('"') and validator.isascii() and validator.isprintable():
            headers["If-Range"] = validator
        return headers

    def _take(self, response: httpx.Response) -> bool:
        _check_status(response, self.url)
        part, size = self.part, self.pin.size
        continues, total = _place(response, part)
        if size is not None and total is not None and total != size:
            raise self.wrong(f"{total} bytes", f"{size} bytes")
        total = size if size is not None else total
        if not continues:
            part.begin(_validator(response))
        done = part.size
        self.progress(done, total)
        if response.status_code == _UNSATISFIABLE:
            return continues
        most = MAX_DOWNLOAD_BYTES if size is None else size
        for block in response.iter_raw():
            done += len(block)
            if done > most:
                raise self.wrong(f"more than {most} bytes", f"at most {most} bytes")
            part.append(block)
            self.progress(done, total)
        if total is not None and done < total:
            raise _InterruptedError(f"only {done} of {total} bytes")
        return continues


def _check_status(response: httpx.Response, url: str) -> None:
    status = response.status_code
    if status in (200, 206, _UNSATISFIABLE):
        return
    reason = f"HTTP status {status} {response.reason_phrase}".rstrip()
    if status in _RETRIED or status >= 500:
        raise _InterruptedError(reason, float(_whole(response.headers.get("Retry-After")) or 0))
    raise UnavailableError(
        f"{url}: not available: got {reason}, expected a file; check the address, it may have moved"
    )


def _place(response: httpx.Response, part: Part) -> tuple[bool, int | None]:
    """Tell whether a response continues the part, and the size of the whole file if known."""
    coding = response.headers.get("Content-Encoding", "identity")
    if coding != "identity":
        raise UnavailableError(
            f"{response.url}: coded content: got {coding!r}, expected the plain file; "
            "use another mirror"
        )
    if response.status_code == 200:
        return False, _whole(response.headers.get("Content-Length"))
    place = response.headers.get("Content-Range", "")
    if response.status_code == _UNSATISFIABLE:
        # The part may be the whole file already: a kill between its last byte and its renaming.
        found = _UNSATISFIED.fullmatch(place)
        if found and int(found[1]) == part.size and part.validator:
            return True, part.size
    else:
        found = _CONTENT_RANGE.fullmatch(place)
        same = part.validator is not None and _validator(response) == part.validator
        if found and int(found[1]) == part.size and same:
            return True, _whole(found[2])
    part.discard()
    raise _InterruptedError(
        f"HTTP status {response.status_code} for other content or another range"
    )


def _whole(digits: str | None) -> int | None:
    return int(digits) if digits and len(digits) < 19 and digits.isdecimal() else None


def _validator(response: httpx.Response) -> str | None:
    headers = response.headers
    validator: str | None = headers.get("ETag") or headers.get("Last-Modified")
    return validator
