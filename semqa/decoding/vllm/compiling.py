"""Constraints of requests, compiled in the background and kept for those that come again.

A request is compiled while the engine reads its prompt. The samples of one request, and a request
that was preempted, find it compiled.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING

from semqa.decoding.constraint import CopyConstraint
from semqa.decoding.vllm.request import without_stops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa.decoding.vllm.request import ConstraintRequest
    from semqa.decoding.vocabulary import Vocabulary

_MOST_BYTES = 1 << 29
"""What is kept for later, as estimated: 0.5 GB."""
_BYTES_A_CHARACTER = 64


class ConstraintCache:
    """Compiles constraints, each once.

    Args:
        most_bytes: how much memory constraints may take that nobody is using at the moment.
    """

    def __init__(self, vocabulary: Vocabulary, *, most_bytes: int = _MOST_BYTES) -> None:
        self._vocabulary = vocabulary
        self._most = most_bytes
        self._kept: OrderedDict[bytes, tuple[Future[CopyConstraint], int]] = OrderedDict()
        self._size = 0
        self._lock = Lock()
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="semqa-compile")

    def get(self, request: ConstraintRequest, stops: Sequence[str]) -> Future[CopyConstraint]:
        """Return the constraint of a request, which may still be at work; its result may raise."""
        key = _digest(request, stops)
        with self._lock:
            if key in self._kept:
                future, size = self._kept.pop(key)
                if not (future.done() and future.exception() is not None):  # else once more
                    self._kept[key] = future, size
                    return future
                self._size -= size
            future = self._pool.submit(self._compile, request, tuple(stops))
            size = 100_000 + _BYTES_A_CHARACTER * sum(
                len(source.text) + len(source.title) for source in request.sources
            )
            self._kept[key] = future, size
            self._size += size
            while self._size > self._most and len(self._kept) > 1:
                _, (_, freed) = self._kept.popitem(last=False)
                self._size -= freed
        return future

    def later(self, work: Callable[[], object]) -> None:
        """Do some work behind what is being compiled."""
        self._pool.submit(work)

    def __len__(self) -> int:
        return len(self._kept)

    def _compile(self, request: ConstraintRequest, stops: tuple[str, ...]) -> CopyConstraint:
        policy, sources = request.policy, request.sources
        if stops:
            sources = tuple(without_stops(sources, stops))
        return CopyConstraint(self._vocabulary, sources, policy, question=request.question)


def _digest(request: ConstraintRequest, stops: Sequence[str]) -> bytes:
    digest = hashlib.blake2b(repr((request.policy, tuple(stops))).encode("utf-8", "surrogatepass"))
    texts = [request.question]
    for source in request.sources:
        texts += (source.text, source.title)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.digest()
