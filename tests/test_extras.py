"""What a missing package is told by: what it is for, what brings it, and a command that works."""

from __future__ import annotations

import importlib.metadata

import pytest

from semqa.errors import MissingExtraError
from semqa.extras import require

STATED = [
    "numpy>=1.26",
    'numba>=0.61; extra == "decoding"',
    'semqa-quotes[decoding]; extra == "local"',
    'torch>=2.4; python_version >= "3.11" and extra == "local"',
    'semqa-quotes[local]; extra == "test"',
    "pytest>=8; extra == 'test'",
]


def said(extra: str) -> str:
    with pytest.raises(MissingExtraError) as caught:
        require("no_such_module", extra=extra, purpose="this test")
    return str(caught.value)


def test_the_packages_are_those_that_the_metadata_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: STATED)
    assert "(numba>=0.61, torch>=2.4)" in said("local")
    assert said("local").endswith("pip install '.[local]'")
    assert "(numba>=0.61, pytest>=8, torch>=2.4)" in said("test")


def test_without_metadata_there_still_is_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(importlib.metadata, "requires", missing)
    assert said("local").endswith("pip install '.[local]'")


def test_the_extra_local_runs_a_model() -> None:
    for package in ("numba", "sentence-transformers", "torch", "transformers"):
        assert package in said("local")
