"""Memory as the system counts it: what Rust, C++ and numba take is not seen by tracemalloc."""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return 0


def memory_of(work: Callable[[], object]) -> tuple[float, float] | None:
    """Return the megabytes that work keeps, and those it needed at its peak; None off Linux."""
    try:
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # else it may use what was freed before, for nothing
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
        before = _status("VmRSS")
        kept = work()
        after, peak = _status("VmRSS"), _status("VmHWM")
    except (OSError, AttributeError):
        return None
    del kept
    return round(max(after - before, 0) / 1e6, 2), round(max(peak - before, 0) / 1e6, 2)
