"""Snapshot of the command line's error messages, in `errors.txt`.

Each block is a command and its output. To accept new wording, run
``SEMQA_UPDATE_ERRORS=1 pytest tests/cli/test_errors.py`` and read the difference.
"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import EXAMPLES, Command

SNAPSHOT = Path(__file__).with_name("errors.txt")
FILES = {
    "empty.txt": b" \n",
    "binary.txt": b"a\0b",
    "latin.txt": b"caf\xe9",
    "fact.txt": b"The bridge opened in 1932.",
    "wrong.jsonl": b'{"text": "a"}\n{"text": 3}\n',
    "broken.jsonl": b'{"text": "a"}\n{"text": \n',
    "half.jsonl": b'{"text": "\\ud800"}\n',
    "marks.txt": b"[1 a]" * 10_001,
    "predictions.jsonl": b'{"qid": "EXAMPLE_1", "prediction": "[ 1 x ]"}\n',
    "questions.jsonl": b'{"id": "a", "question": "Who?", "documents": ["fact.txt"]}\n',
}


def blocks() -> list[tuple[str, str]]:
    """Return the commands in the snapshot and their output."""
    parts = SNAPSHOT.read_text(encoding="utf-8").split("$ semqa ")[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2].strip()) for part in parts]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("antarctica.jsonl", "attrscore.csv", "quotesum.jsonl"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "folder").mkdir()
    return tmp_path


def run(command: str, semqa: Command, folder: Path) -> str:
    line, _, stdin = command.partition(" <<< ")
    outcome = semqa(*shlex.split(line), stdin=stdin.encode())
    assert outcome.code == 2, outcome
    assert outcome.out == ""
    lines = [line for line in outcome.err.splitlines() if not line.startswith("{")]  # no log
    return "\n".join(lines).replace(str(folder), ".").strip()


@pytest.mark.parametrize(("command", "printed"), blocks())
def test_an_error_reads_as_it_should(
    command: str, printed: str, semqa: Command, folder: Path
) -> None:
    if "SEMQA_UPDATE_ERRORS" not in os.environ:
        assert run(command, semqa, folder) == printed
        return
    text = SNAPSHOT.read_text(encoding="utf-8")
    head, _, rest = text.partition(f"$ semqa {command}\n")
    _, mark, rest = rest.partition("$ semqa ")
    new = f"{head}$ semqa {command}\n{run(command, semqa, folder)}\n\n{mark}{rest}"
    SNAPSHOT.write_text(new.rstrip() + "\n", encoding="utf-8")
