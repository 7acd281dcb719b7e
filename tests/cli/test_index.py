"""`semqa index`: indexing a folder, stopping and resuming."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from semqa.retrieval.passages import Library
from semqa.server.middleware import given_owner
from tests.cli.conftest import Command
from tests.documents import makers


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "My papers"
    folder.mkdir()
    (folder / "harbour.txt").write_text("The harbour of Oslo was built in 1890. It burnt twice.")
    (folder / "report.pdf").write_bytes(makers.pdf([["One."], ["Zebras eat grass."]]))
    for path in folder.iterdir():
        os.utime(path, (1e9, 1e9))
    return folder


ENV = {"SEMQA_DATA": "data"}
WORDS = ("--encoder", "none")


def test_an_indexed_folder_answers_questions(semqa: Command, docs: Path) -> None:
    first = semqa("index", docs, *WORDS, env=ENV)
    assert (first.code, first.err) == (0, "")
    assert first.out.startswith("My papers: 2 added; 2 documents, 3 passages in ")
    second = semqa("index", docs, *WORDS, "--json", env=ENV)
    record = second.json
    assert {k: record[k] for k in ("collection", "added", "unchanged", "removed", "failed")} == {
        "collection": "My papers", "added": 0, "unchanged": 2, "removed": 0, "failed": {},
    }  # fmt: skip
    asked = ("When was the harbour built?", "--collection", "My papers", "--json")
    answer = semqa("answer", *asked, env=ENV).json
    assert answer["quotes"][0]["status"] == "verified"
    assert "1890" in answer["quotes"][0]["text"]
    # Found passages need not answer the question: there is always a nearest one.
    lost = semqa("answer", "Who painted the Mona Lisa?", *asked[1:], env=ENV).json
    assert (lost["plain"], lost["quotes"]) == ("The sources do not answer this question.", [])


def test_a_folder_without_documents_leaves_no_collection(semqa: Command, tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(b"\x89PNG")
    refused = semqa("index", tmp_path / "pictures", *WORDS, env=ENV)
    assert refused.code == 2
    assert "No documents found" in refused.err
    assert semqa("collections", "list", "--json", env=ENV).json == []


def test_unreadable_files_are_reported(semqa: Command, docs: Path) -> None:
    (docs / "bad.pdf").write_text("no pdf")
    (docs / "sheet.xlsx").write_text("a table")
    (docs / "one").mkdir()
    (docs / "one" / "a.txt").write_text("It rained.")
    assert "1 added; 1 document, 1 passage in" in semqa("index", docs / "one", *WORDS, env=ENV).out
    (docs / "one" / "a.txt").unlink()
    outcome = semqa("index", docs, *WORDS, "--collection", "mine", env=ENV)
    assert outcome.code == 1
    assert outcome.out.startswith("mine: 2 added, 1 failed, 1 unsupported; 2 documents")
    assert outcome.err.startswith("bad.pdf: The file is not a PDF")
    assert outcome.err.count("\n") == 1


def test_a_collection_belongs_to_its_key(semqa: Command, docs: Path, tmp_path: Path) -> None:
    secret = semqa("keys", "create", "ann", env=ENV).out.strip()
    (key,) = semqa("keys", "list", "--json", env=ENV).json
    semqa("index", docs, *WORDS, "--owner", key["id"], env=ENV)
    again = semqa("index", docs, *WORDS, "--json", env={**ENV, "SEMQA_INDEX_API_KEY": secret}).json
    assert (again["added"], again["unchanged"]) == (0, 2)
    given = semqa("index", docs, *WORDS, "--json", "--api-key", "a-key-of-serve", env=ENV).json
    assert given["added"] == 2
    library = Library(tmp_path / "data" / "library", encoder=None)
    owners = {row["owner"] for row in library._rows("true")}
    assert owners == {key["id"], given_owner("a-key-of-serve")}
    lost = semqa("index", docs, *WORDS, "--owner", "nobody", env=ENV)
    assert lost.code == 2
    assert "--owner must be the id of a valid key" in lost.err


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_ctrl_c_keeps_documents_and_the_next_run_resumes(
    semqa: Command, docs: Path, tmp_path: Path
) -> None:
    for i in range(120):
        (docs / f"{i}.html").write_text(f"<p>Zebra {i} eats grass.</p>" * 200)
    command = [sys.executable, "-m", "semqa", "index", str(docs), *WORDS, "--data", "data"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    locks = tmp_path / "data" / "library" / "locks"
    while len(list(locks.glob("*.lock")) if locks.is_dir() else []) < 2:  # the first write began
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped; run the same command again to continue" in err
    assert "Traceback" not in err
    kept = int(out.partition(" added")[0].rpartition(" ")[2])
    assert 0 < kept < 122
    for path in docs.iterdir():
        os.utime(path, (1e9, 1e9))
    again = semqa("index", docs, *WORDS, "--json", env=ENV).json
    assert again["unchanged"] + again["added"] == 122
    assert again["unchanged"] >= kept


@pytest.mark.parametrize(
    "command",
    [("index", "."), ("serve",), ("keys", "list"), ("answer", "Who?", "--collection", "c")],
)
def test_an_unknown_home_folder_is_an_error(
    fails: Callable[..., str], command: tuple[str, ...]
) -> None:
    said = fails(*command, "--data", "~nobody-of-that-name/x")
    assert "No home folder for '~nobody-of-that-name/x'" in said
