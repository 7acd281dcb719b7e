"""Getting ready in the background what the first search or upload would else wait for."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Literal

from semqa.errors import SemqaError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa.quotes import Source

__all__ = ["Warming", "one_after_the_other"]

PAUSE = 1.0
"""Seconds before it begins: a server that is only looked at, or tried out, need not load a model."""

State = Literal["none", "loading", "ready", "failed"]

_log = logging.getLogger("semqa.server")


class Warming:
    """Loads the encoder of a library, which takes seconds, while requests are served already.

    Attributes:
        state: ``none`` where there is no encoder or nobody asked for it yet, ``loading``, ``ready``,
            or ``failed``: then the first search tells why to who asks.

    Args:
        library: the collections (`semqa.retrieval.passages.Library`).
    """

    def __init__(self, library: Any) -> None:
        self._library = library
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self.state: State = "none"

    def begin(self) -> None:
        """Load it in a thread of its own."""
        if getattr(self._library, "encoder", None) is None or self._thread is not None:
            return
        self.state = "loading"
        # No daemon: packages that are being loaded do not bear that the interpreter ends.
        self._thread = threading.Thread(target=self._load, name="semqa-warming")
        self._thread.start()

    def end(self, leave: Callable[[], object]) -> None:
        """Come to an end: what is being loaded cannot be stopped, and is not worth waiting for.

        Args:
            leave: ends the process; is called where a model is being loaded.
        """
        self._over.set()
        if self._thread is not None:
            self._thread.join(0.2)
            if self._thread.is_alive():
                leave()

    def _load(self) -> None:
        if self._over.wait(PAUSE):
            return
        try:
            self._library.warm()
            self.state = "ready"
        except SemqaError as error:
            _log.warning(f"the encoder cannot be loaded: {error}")
            self.state = "failed"
        except Exception:  # noqa: BLE001  (whoever searches first is told)
            _log.exception("the encoder cannot be loaded")
            self.state = "failed"


def one_after_the_other(
    read: Callable[[Sequence[Source]], object],
) -> Callable[[Sequence[Source]], None]:
    """Return a function that reads passages in the background, for an upload does not wait for it."""
    turn = threading.Lock()

    def work(sources: Sequence[Source]) -> None:
        with turn:
            read(sources)

    def begin(sources: Sequence[Source]) -> None:
        # What is not read when the server ends, a question reads.
        threading.Thread(target=work, args=(sources,), name="semqa-ahead", daemon=True).start()

    return begin
