"""Run Triton in its interpreter if there is no GPU."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["import_triton", "interpreting"]

_GPU = any(Path(device).exists() for device in ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd"))


@contextmanager
def interpreting() -> Iterator[None]:
    """Make kernels imported in the block run in the interpreter if there is no GPU."""
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
    """Import Triton before other modules do, because its own functions use the same switch."""
    with interpreting(), suppress(ImportError):
        import triton  # noqa: F401
