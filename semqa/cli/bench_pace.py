"""How fast a run of a benchmark is: what is told of it, in a terminal and elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from semqa.bench.run import Progress

__all__ = ["Lines", "Pace", "Reasons", "duration"]

EVERY_SECONDS = 30.0
"""How long a run is silent where no terminal shows a bar."""

SHOWN_REASONS = 3
"""How many different failures are told while a run goes on; the rows have all of them."""


class Pace:
    """Tells from what a run reports how fast it is and how long it will take.

    Time counts from the first example's beginning: loading a model is not answering.

    Args:
        clock: seconds that only grow.

    Attributes:
        left: seconds until all is answered; None while that is not known.
        tokens_per_second: what a model writes; None where it does not tell.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._reported = clock()
        self._begun: float | None = None
        self.left: float | None = None
        self.tokens_per_second: float | None = None

    def take(self, progress: Progress) -> None:
        """Take in how far the run is."""
        answered = progress.done - progress.resumed
        if not answered:
            return
        now = self._clock()
        whole = now - self._reported
        if self._begun is None:
            self._begun = now - min(progress.seconds, whole)
        # Of examples answered together the first is reported when all are done, so the sum of their
        # shares is nearer to the truth; where several machines answer at once, the clock is.
        elapsed = min(whole, max(progress.seconds, now - self._begun))
        self.left = elapsed / answered * (progress.total - progress.done)
        if progress.new_tokens and elapsed:
            self.tokens_per_second = progress.new_tokens / elapsed

    def told(self, progress: Progress) -> list[str]:
        """Return speed and failures, in words."""
        told = []
        if self.tokens_per_second is not None:
            told.append(f"{self.tokens_per_second:.0f} tokens/s")
        if progress.failed:
            told.append(f"{progress.failed} failed")
        return told


class Lines:
    """Says how far something is, a line every so often; nothing where it takes no time.

    Args:
        say: prints a line.
        clock: seconds that only grow.
    """

    def __init__(
        self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._say = say
        self._clock = clock
        self.begin()

    def begin(self) -> None:
        """Start anew, with another thing."""
        self._begun = self._said = self._clock()
        self._spoken = False

    def tell(self, done: int, total: int | None, what: str, told: Callable[[], list[str]]) -> None:
        """Say it if it is time, and at the end if anything was said.

        Args:
            done: how much is done.
            total: of how much; None where that is not known.
            what: is done.
            told: gives what else there is to say; called when it is said.
        """
        now = self._clock()
        ended = done == total and self._spoken
        if now - self._said < EVERY_SECONDS and not ended:
            return
        self._said, self._spoken = now, not ended
        counted = f"{done:,}" if total is None else f"{done:,} of {total:,}"
        after = [f"in {duration(now - self._begun)}"] if ended else []
        self._say(", ".join([f"{counted} {what}", *told(), *after]))


class Reasons:
    """Remembers why examples failed, to tell each reason once, and only the first few."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def new(self, progress: Progress) -> str | None:
        """Return the last failure as a line, if there is one that was not told yet."""
        last = progress.last
        if last is None or last.error is None or last.error in self._seen:
            return None
        if len(self._seen) >= SHOWN_REASONS:
            return None
        self._seen.add(last.error)
        return f"failed: {last.id}: {last.error}"


def duration(seconds: float) -> str:
    """Return a time as people write it.

    Example:
        >>> duration(61.7), duration(3_725)
        ('1:02', '1:02:05')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
