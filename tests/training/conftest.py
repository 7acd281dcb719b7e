"""Fixtures of the training tests: questions, a prompt template and base models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from semqa.data.quotesum import Question, read_quotesum, write_quotesum
from semqa.training.train import train
from tests.training.toy import BRIEF, TEMPLATE, options, save_decoder, save_t5, toy_questions

# Doctest's collection would import it, which takes seconds.
collect_ignore = ["preload.py"]


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with questions, a template and base models."""
    path = tmp_path_factory.mktemp("training")
    write_quotesum(path / "train.jsonl", toy_questions())
    write_quotesum(path / "dev.jsonl", toy_questions()[:4])
    (path / "short.jinja").write_text(TEMPLATE)
    save_t5(path / "t5")
    save_decoder(path / "chat")
    return path


@pytest.fixture(scope="package")
def questions(folder: Path) -> list[Question]:
    return read_quotesum(folder / "train.jsonl")


@pytest.fixture(scope="package")
def brief(folder: Path, questions: list[Question]) -> tuple[Path, dict[str, Any]]:
    """A short training run without interruptions."""
    out = folder / "brief"
    return out, train(questions, questions[:4], out, options(folder, "t5", **BRIEF))
