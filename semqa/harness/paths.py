"""Where a harness finds semqa's task."""

from __future__ import annotations

from pathlib import Path

from semqa.errors import InputError

__all__ = ["HARNESSES", "harness_path"]

HARNESSES = {"lm_eval": "lm_eval", "inspect_ai": "inspect_ai/task.py"}
"""What each harness is given, below this folder: a folder of tasks, or a file with one."""


def harness_path(name: str) -> Path:
    """Return what to give a harness: for ``lm_eval --include_path``, or ``inspect eval``.

    Args:
        name: the harness, by the name of its package; `HARNESSES` lists them.

    Raises:
        InputError: there is no task for such a harness.

    Example:
        >>> harness_path("lm_eval").name
        'lm_eval'
    """
    if name not in HARNESSES:
        raise InputError(
            f"harness: unknown name: got {name!r}, expected {' or '.join(HARNESSES)}; choose one of "
            "them"
        )
    return Path(__file__).resolve().parent / HARNESSES[name]
