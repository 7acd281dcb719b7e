"""Ctrl-C and SIGTERM during a training: the step is finished, and what was learned is kept."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from types import FrameType, TracebackType

__all__ = ["Interrupt", "Terminated"]

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Terminated(KeyboardInterrupt):
    """The process was told to end by SIGTERM, as clusters do before they take a machine away."""


class Interrupt:
    """While its block runs, the first Ctrl-C or SIGTERM is noted; the second raises at once.

    Outside the main thread, where no signal arrives, it does nothing.

    Attributes:
        wanted: whether an end is wanted.
    """

    def __init__(self) -> None:
        self.wanted = False
        self._kind: type[KeyboardInterrupt] = KeyboardInterrupt
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def error(self) -> KeyboardInterrupt:
        """Return what is to be raised when the step is finished: `Terminated` after SIGTERM."""
        return self._kind()

    def _note(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._kind = Terminated if number == signal.SIGTERM else KeyboardInterrupt
        if self.wanted:
            raise self._kind
        self.wanted = True
