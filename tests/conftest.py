"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.terminal import terminal

__all__ = ["shared", "terminal"]

# How long an example takes says more about the machine than about the code.
settings.register_profile("semqa", deadline=None)
settings.load_profile("semqa")


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
