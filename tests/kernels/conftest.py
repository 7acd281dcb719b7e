"""Fixtures of the kernel tests."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def no_garbage_collection() -> Iterator[None]:
    """Collect garbage before these tests, and disable the collector while they run.

    Triton's interpreter parses each kernel. CPython 3.11 fails ("recursion depth mismatch") if the
    collector runs meanwhile and logs a traceback, which also parses code.
    """
    gc.collect()
    gc.disable()
    yield
    gc.enable()
