"""What a run ran on: for the record, not for its identity."""

from __future__ import annotations

import os
import platform
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["describe_machine"]


def describe_machine() -> dict[str, object]:
    """Return system, Python, processor, memory and the GPUs of this machine, ready for JSON.

    GPUs are told where a model was loaded that could use them: torch is not loaded for this.
    """
    found: dict[str, object] = {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "processor": _processor(),
        "cpus": os.cpu_count(),
    }
    with suppress(AttributeError, OSError, ValueError):  # not on every system
        found["memory_bytes"] = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        found["gpus"] = [
            torch.cuda.get_device_name(place) for place in range(torch.cuda.device_count())
        ]
        found["cuda"] = torch.version.cuda
    return found


def _processor() -> str:
    with suppress(OSError, UnicodeDecodeError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
