"""The real engine for tests, where vLLM is installed: `make test-vllm` sees to that.

One process tests one model runner, for vLLM decides once which it is: V1, or V2 where
``SEMQA_TEST_RUNNER=2``.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.vllm import tiny

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.vllm.engine import Engine

collect_ignore = ["mrv2_on_cpu"]

HERE = Path(__file__).parent
INSTALLED = find_spec("vllm") is not None
RUNNER = int(os.environ.get("SEMQA_TEST_RUNNER", "1"))

if INSTALLED:
    # Read when vLLM is imported, here and in the processes that it starts.
    os.environ |= {
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # or engines of several processes share one core
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_LOGGING_LEVEL": "ERROR",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_USE_V2_MODEL_RUNNER": str(RUNNER - 1),
    }
    if RUNNER == 2:
        stub = str(HERE / "mrv2_on_cpu")
        sys.path.append(stub)
        os.environ |= {
            "TRITON_INTERPRET": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, [stub, os.environ.get("PYTHONPATH")])),
        }


def _let_vllm_look_around() -> None:
    """Let vLLM start after numba was imported, and more than once in a process.

    On a CPU without Triton it asks everything in every module for a ``__dict__``, and llvmlite's
    library takes that for the name of a function.
    """
    from llvmlite.binding import ffi

    kind: Any = ffi._lib_wrapper
    look_up = kind.__getattr__

    def attribute(self: Any, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return look_up(self, name)

    kind.__getattr__ = attribute


if INSTALLED:
    _let_vllm_look_around()


@pytest.fixture(scope="session")
def runner() -> int:
    """Which model runner this process tests; skips where there is none."""
    if not INSTALLED:
        pytest.skip("vLLM is not installed here: make test-vllm makes an environment that has it")
    return RUNNER


@pytest.fixture(scope="session")
def llama(runner: int, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model of byte-level BPE."""
    return tiny.save_llama(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="session")
def tekken(runner: int, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model of the 131,072 tokens of a real tokenizer."""
    return tiny.save_tekken(tmp_path_factory.mktemp("tekken"))


@pytest.fixture(scope="module")
def engine(llama: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine with the processor, as the module's `OPTIONS` say."""
    from tests.vllm.engine import Engine

    options: dict[str, Any] = getattr(request.module, "OPTIONS", {})
    made = Engine(llama, **options)
    yield made
    made.close()
