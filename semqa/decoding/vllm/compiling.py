"""Compile the constraints of requests in the background and cache them.

A constraint is compiled while the engine processes the prompt. Further samples of a request, and
requests that were preempted, reuse it.
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

_MAX_BYTES = 1 << 29
"""Estimated size limit of the cache: 0.5 GB."""
_BYTES_PER_CHARACTER = 64


class ConstraintCache:
    """Compiles constraints and caches them.

    Args:
        max_bytes: estimated size limit of the cache.
    """

    def __init__(self, vocabulary: Vocabulary, *, max_bytes: int = _MAX_BYTES) -> None:
        self._vocabulary = vocabulary
        self._max_bytes = max_bytes
        self._cached: OrderedDict[bytes, tuple[Future[CopyConstraint], int]] = OrderedDict()
        self._size = 0
        self._lock = Lock()
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="semqa-compile")

    def get(self, request: ConstraintRequest, stops: Sequence[str]) -> Future[CopyConstraint]:
        """Return the future of a request's constraint; its result may raise."""
        key = _digest(request, stops)
        with self._lock:
            if key in self._cached:
                future, size = self._cached.pop(key)
                if not (future.done() and future.exception() is not None):  # retry failures
                    self._cached[key] = future, size
                    return future
                self._size -= size
            future = self._pool.submit(self._compile, request, tuple(stops))
            size = 100_000 + _BYTES_PER_CHARACTER * sum(
                len(source.text) + len(source.title) for source in request.sources
            )
            self._cached[key] = future, size
            self._size += size
            while self._size > self._max_bytes and len(self._cached) > 1:
                _, (_, freed) = self._cached.popitem(last=False)
                self._size -= freed
        return future

    def later(self, work: Callable[[], object]) -> None:
        """Run some work in the background, after the constraints in the queue."""
        self._pool.submit(work)

    def __len__(self) -> int:
        return len(self._cached)

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
