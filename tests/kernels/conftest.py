"""What the kernels' tests need before they begin."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def no_garbage_of_others() -> Iterator[None]:
    """Collect what other tests left behind, and nothing while these run.

    Triton's interpreter parses each kernel, and CPython 3.11 fails ("recursion depth mismatch") when
    the collector comes by meanwhile and logs a traceback, which parses too.
    """
    gc.collect()
    gc.disable()
    yield
    gc.enable()
