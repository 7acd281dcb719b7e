"""What the kernels' tests need before they begin."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True)
def no_garbage_of_others() -> None:
    """Collect what other tests left behind.

    Triton's interpreter parses each kernel, and CPython 3.11 fails ("recursion depth mismatch") when
    the collector comes by meanwhile and logs a traceback, which parses too.
    """
    gc.collect()
