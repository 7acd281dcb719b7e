"""Fixtures shared by all tests."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.main
import typer.testing
from _pytest.doctest import DoctestModule
from hypothesis import settings

from tests.effort import effort
from tests.kernels.interpreting import import_triton
from tests.offline import asked_hosts
from tests.terminal import terminal

__all__ = ["asked_hosts", "own_cache", "shared", "terminal"]

# A shell's background jobs ignore these, and so would every process that a test starts.
for _ignored, _handler in (("SIGINT", signal.default_int_handler), ("SIGQUIT", signal.SIG_DFL)):
    if hasattr(signal, _ignored):
        signal.signal(getattr(signal, _ignored), _handler)

# The engine that the user saved as default is none of the tests' business.
_config = tempfile.mkdtemp(prefix="semqa-tests-")
os.environ["XDG_CONFIG_HOME"] = _config
atexit.register(shutil.rmtree, _config, ignore_errors=True)

# Models as small as those of the tests are slower on several threads, and add up in another order.
if "SEMQA_TEST_RUNNER" not in os.environ:
    os.environ["OMP_NUM_THREADS"] = "1"

# Inside vLLM it is tests/vllm that prepares Triton, which looks for backends once: when imported.
if "SEMQA_TEST_RUNNER" not in os.environ:
    import_triton()

# Typer builds all commands again for each call, which takes longer than most commands.
typer.main.get_command = cache(typer.main.get_command)
vars(typer.testing)["_get_command"] = typer.main.get_command

# How long an example takes says more about the machine than about the code.
settings.register_profile("semqa", deadline=None, max_examples=effort(60))
settings.load_profile("semqa")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while modules are imported, nor what they leave before the process ends: it is a lot."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for doctests only in the package, not in the files of tests, which have none."""
    return [each for each in (yield) if not isinstance(each, DoctestModule)]


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The cache folder of a test session: what tests leave there is not the user's business.

    What numba compiles stays where it is kept, for that takes long and is the same for everybody.
    """
    folder = tmp_path_factory.mktemp("semqa-cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEMQA_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with the released data and golden figures; without it tests skip, but not in CI."""
    default = Path(__file__).resolve().parents[2] / "shared"
    folder = Path(os.environ.get("SEMQA_TEST_DATA", default))
    if not (folder / "golden").is_dir():
        missing = f"needs the released data: no folder {folder}/golden (set SEMQA_TEST_DATA)"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return folder
