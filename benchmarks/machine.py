"""The machine and version record in every benchmark's output."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import semqa

__all__ = ["describe_machine"]


def describe_machine() -> dict[str, str | int]:
    """Return processor, cores, system, Python and semqa versions and commit, for JSON."""
    return {
        "cpu": _processor(),
        "cores": os.cpu_count() or 0,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "semqa": semqa.__version__,
        "commit": _commit(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _commit() -> str:
    here = Path(__file__).parent
    command = ["git", "-C", str(here), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8")
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"
