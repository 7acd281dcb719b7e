"""The kernels compile for a GPU if Triton is installed, and use wide stores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("compile_offline.py")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None, reason="needs Triton")
def test_kernels_compile_for_a_gpu(tmp_path: Path) -> None:
    environment = {name: text for name, text in os.environ.items() if name != "TRITON_INTERPRET"}
    environment |= {"TRITON_CACHE_DIR": str(tmp_path), "TRITON_DEFAULT_FP_FUSION": "1"}
    done = subprocess.run(
        [sys.executable, "-P", PROGRAM],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    stores = json.loads(done.stdout)
    assert set(stores) == {"bitmask *fp32", "bitmask *bf16", "bitmask *fp16"}
    for name in stores:
        assert stores[name]["st.global.v4.b32"] > 0
