"""The two forms of each kernel, so that the same tests run over both.

Triton decides what it makes of a kernel when the kernel is defined: code for a GPU, or a program for
its interpreter. So without a GPU the kernels are imported here with the interpreter switched on, and
the switch is put back: nothing else in the process sees it.
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

import pytest
import torch

from tests.kernels.interpreting import interpreting

__all__ = ["DTYPES", "FORMS", "Form", "forms"]

DTYPES = [torch.float32, torch.bfloat16, torch.float16]


class Form(NamedTuple):
    """One form of the kernels.

    Attributes:
        name: of the form.
        fast: what the kernels' functions take.
        device: where its tensors are.
    """

    name: str
    fast: bool
    device: torch.device


def _import_triton() -> str | None:
    """Import the kernels in Triton; return why that cannot be."""
    try:
        with interpreting():
            import_module("triton")
            if not torch.cuda.is_available():
                import_module("triton.experimental.gluon")  # loaded at the first launch otherwise
            import_module("semqa.kernels.bitmask.kernel")
    except ImportError as error:
        return f"needs Triton: {error}"
    return None


_MISSING = _import_triton()
_DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

FORMS = [
    pytest.param(Form("naive", False, torch.device("cpu")), id="naive"),
    pytest.param(
        Form("triton", True, _DEVICE),
        id="triton" if _DEVICE.type == "cuda" else "interpreted",
        marks=pytest.mark.skipif(_MISSING is not None, reason=_MISSING or ""),
    ),
]
forms = pytest.mark.parametrize("form", FORMS)
