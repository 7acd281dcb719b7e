"""Triton's switch between code for a GPU and its interpreter."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["import_triton", "interpreting"]

_GPU = any(Path(device).exists() for device in ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd"))


@contextmanager
def interpreting() -> Iterator[None]:
    """Have what is imported in the block run in the interpreter, where there is no GPU."""
    before = os.environ.get("TRITON_INTERPRET")
    if not _GPU:
        os.environ["TRITON_INTERPRET"] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("TRITON_INTERPRET", None)
        else:
            os.environ["TRITON_INTERPRET"] = before


def import_triton() -> None:
    """Import Triton before anything else does: its own functions are one or the other, too."""
    with interpreting(), suppress(ImportError):
        import triton  # noqa: F401
