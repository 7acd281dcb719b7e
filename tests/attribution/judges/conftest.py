"""Tiny models that judge, saved once a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.judge_models import save_classifier, save_reader, save_writer
from tests.models import save


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one model of each part: nli, qa, qg, lm."""
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("judges")
    save_classifier(folder / "nli")
    save_reader(folder / "qa")
    save_writer(folder / "qg")
    save("llama-chat", folder / "lm")
    return folder
