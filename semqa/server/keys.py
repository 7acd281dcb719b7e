"""Whose request it is: from the key that it carries to its owner."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

from starlette.concurrency import run_in_threadpool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["KeyRing", "KeyStore", "given_owner"]

REMEMBERED = 10.0
"""Seconds for which a key that was found good stays so: a revoked one works no longer than that."""

MAX_REMEMBERED = 10_000


class KeyStore(Protocol):
    """Keeps keys, hashed (`semqa.server.store`)."""

    def keys(self) -> Sequence[object]:
        """Return the keys that there are."""
        ...

    def owner_of(self, secret: str) -> str | None:
        """Return the id of a key, None if there is none such."""
        ...


class KeyRing:
    """Knows the keys of a server: those it was started with, and those in its database.

    Args:
        given: those it was started with; kept as hashes.
        store: where the others are.
        clock: seconds.
    """

    def __init__(
        self,
        given: Sequence[str],
        store: KeyStore | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._given = {_digest(secret): given_owner(secret) for secret in given}
        self._store = store
        self._clock = clock
        self._open_until = 0.0
        self._closed = False
        self._used: OrderedDict[str, None] = OrderedDict()
        self._known: OrderedDict[str, tuple[str, float]] = OrderedDict()

    async def required(self) -> bool:
        """Whether a request needs a key: there are any, or have been since the server started."""
        if self._given or self._closed:
            return True
        if self._store is None or self._clock() < self._open_until:
            return False
        if await run_in_threadpool(self._store.keys):
            # Taking the last key back must not open the server to everybody.
            self._closed = True
            return True
        self._open_until = self._clock() + 1.0
        return False

    async def owner(self, secret: str) -> str | None:
        """Return whose key it is, None for nobody's."""
        digest = _digest(secret)
        if (given := self._given.get(digest)) is not None:
            self._note(digest)
            return given
        if self._store is None:
            return None
        owner, until = self._known.get(digest, ("", 0.0))
        if self._clock() < until:
            return owner
        self._known.pop(digest, None)
        found = await run_in_threadpool(self._store.owner_of, secret)
        if found is not None:
            self._note(digest)
            self._known[digest] = (found, self._clock() + REMEMBERED)
            while len(self._known) > MAX_REMEMBERED:
                self._known.popitem(last=False)
        return found

    def used(self, secret: str) -> bool:
        """Whether a key was found good before, which says nothing of now."""
        return _digest(secret) in self._used

    def _note(self, digest: str) -> None:
        self._used[digest] = None
        while len(self._used) > MAX_REMEMBERED:
            self._used.popitem(last=False)


def given_owner(secret: str) -> str:
    """Return the owner whom a key stands for that a server is started with."""
    return f"key-{_digest(secret)[:16]}"


def _digest(secret: str) -> str:
    # Comparing digests tells nothing about a key by the time it takes.
    return hashlib.sha256(b"semqa key\0" + secret.encode("utf-8", "replace")).hexdigest()
