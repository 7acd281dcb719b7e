"""`semqa index` and `semqa collections`: resuming, owners, sharing and deletion."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.attribution.commands import Command, command_in
from tests.documents import makers
from tests.terminal import talking


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Call as `semqa`; runs in this process with its own data folder."""
    monkeypatch.setenv("SEMQA_DATA", str(tmp_path / "data"))
    for module in ("encoder", "passages.library"):  # words only, which is faster
        monkeypatch.setattr(f"semqa.retrieval.{module}.packaged_encoder", lambda: None)
    return command_in(tmp_path, monkeypatch, capsys)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "My papers"
    folder.mkdir()
    (folder / "harbour.txt").write_text("The harbour of Oslo was built in 1890. It burnt twice.")
    (folder / "report.pdf").write_bytes(makers.pdf([["One."], ["Zebras eat grass."]]))
    for path in folder.iterdir():
        os.utime(path, (1e9, 1e9))
    return folder


def test_collections_are_listed_shown_and_deleted(run: Command, docs: Path) -> None:
    assert run("collections", "list").err.startswith("No collections.")
    assert run("collections", "list", "--json").json == []
    run("index", docs)
    run("index", docs, "--collection", "other")
    told = run("collections", "list", "--json").json
    assert [(c["name"], c["documents"], c["passages"]) for c in told] == [
        ("My papers", 2, 3), ("other", 2, 3),
    ]  # fmt: skip
    headers, _, *rows = run("collections", "list").out.splitlines()
    assert headers.split() == ["collection", "documents", "passages", "created", "access"]
    assert [row.split() for row in rows] == [
        ["My", "papers", "2", "3", told[0]["created"][:10], "own"],
        ["other", "2", "3", told[1]["created"][:10], "own"],
    ]
    shown = run("collections", "show", "other").out
    assert told[1]["created"][:11] not in shown
    assert all(name in shown for name in ("harbour.txt", "report.pdf", "pdf"))
    record = run("collections", "show", "other", "--json").json
    assert [each["name"] for each in record["items"]] == ["harbour.txt", "report.pdf"]
    unasked = run("collections", "delete", "other")
    assert (unasked.code, len(run("collections", "list", "--json").json)) == (2, 2)
    assert "--yes" in unasked.err
    gone = run("collections", "delete", "other", "--yes")
    assert (gone.code, gone.err) == (0, "other: 2 documents, 3 passages: deleted\n")
    assert [c["name"] for c in run("collections", "list", "--json").json] == ["My papers"]
    assert len(list(docs.iterdir())) == 2


def test_collections_of_a_key_require_the_key(
    run: Command, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = run("keys", "create", "ann").out.strip()
    (key,) = run("keys", "list", "--json").json
    assert run("keys", "list").out == f"{key['id']}  {key['created'][:10]}  ann\n"
    hers = ("--owner", key["id"])
    run("index", docs, *hers)
    assert run("index", docs, "--json", "--api-key", "a-key-of-serve").json["added"] == 2
    assert run("collections", "list", "--json").json == []
    asked = ("answer", "When was the harbour built?", "--collection", "My papers", "--json")
    assert "1890" in run(*asked, *hers).json["plain"]
    hint = "Run semqa collections list to see what exists, or semqa index DIR to create one."
    named = (
        ("show",),
        ("delete", "--yes"),
        ("share", "--with", key["id"]),
        ("unshare", "--with", key["id"]),
    )
    for command in (asked, *(("collections", *each, "My papers") for each in named)):
        assert f"collection 'My papers' not found. {hint}" in run(*command).err
    monkeypatch.setenv("SEMQA_INDEX_API_KEY", secret)
    assert run("index", docs, "--json").json["unchanged"] == 2
    assert run("collections", "delete", "My papers", "--yes").code == 0


def test_a_collection_is_shared_with_another_key(run: Command, docs: Path) -> None:
    for name in ("ann", "bob"):
        run("keys", "create", name)
    ann, bob = (key["id"] for key in run("keys", "list", "--json").json)
    run("index", docs, "--owner", ann)
    share = ("collections", "share", "My papers", "--owner", ann, "--with", bob)
    assert run(*share, "--as", "harbours").code == 0
    (seen,) = run("collections", "list", "--owner", bob, "--json").json
    assert (seen["name"], seen["access"]) == ("harbours", "read")
    asked = ("answer", "When was the harbour built?", "--collection", "harbours", "--json")
    assert "1890" in run(*asked, "--owner", bob).json["plain"]
    refused = run("collections", "delete", "harbours", "--yes", "--owner", bob)
    assert (refused.code, "belongs to another" in refused.err) == (2, True)
    assert run("index", docs, "--collection", "harbours", "--owner", bob).code == 2
    shown = run("collections", "show", "My papers", "--owner", ann, "--json").json
    assert shown["shared"] == [{"owner": bob, "name": "harbours", "access": "read"}]
    stranger = run(*share[:-1], "key_nobody")
    assert stranger.code == 2
    assert "--with" in stranger.err
    unshare = ("collections", "unshare", "My papers", "--owner", ann, "--with", bob)
    assert run(*unshare).code == 0
    assert run("collections", "list", "--owner", bob, "--json").json == []
    assert run(*unshare).code == 2


def test_collections_of_a_revoked_key_can_be_listed_and_deleted(run: Command, docs: Path) -> None:
    run("keys", "create", "ann")
    (key,) = run("keys", "list", "--json").json
    hers = ("--owner", key["id"])
    run("index", docs, *hers)
    run("keys", "revoke", key["id"])
    assert "must be the id of a valid key" in run("index", docs, *hers).err
    assert len(run("collections", "list", *hers, "--json").json) == 1
    assert run("collections", "delete", "My papers", "--yes", *hers).code == 0
    assert run("collections", "list", *hers, "--json").json == []


def test_a_damaged_one_hides_no_others_and_can_be_deleted(
    run: Command, docs: Path, tmp_path: Path
) -> None:
    run("index", docs, "--collection", "bad")
    for path in (tmp_path / "data" / "library").glob("documents_*/**/*.manifest"):
        path.write_bytes(b"")
    run("index", docs, "--collection", "good")
    listed = run("collections", "list", "--json")
    assert (listed.code, [c["name"] for c in listed.json]) == (1, ["good"])
    assert listed.err.startswith("error: Collection 'bad': ")
    assert run("collections", "delete", "bad", "--yes").code == 0
    assert run("collections", "list").code == 0


def test_delete_asks_for_confirmation(
    run: Command, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("index", docs)
    command = ("collections", "delete", "My papers")
    with talking([sys.executable, "-m", "semqa", *command], docs) as talk:
        talk.until("[y/N]")
        time.sleep(0.3)  # until it reads
        talk.keys("\x03")
        with suppress(subprocess.TimeoutExpired):
            talk.end(5)
        codes = {130}
        if talk.process.poll() is None:
            # Python misses a Ctrl-C right before it starts to read; a person presses it again.
            talk.keys("\x03")
            codes.add(-signal.SIGINT)  # if it was not missed and Python is about to exit
        assert talk.end() in codes
    assert len(run("collections", "list", "--json").json) == 1
    for typed, code, left in (("n\n", 1, 1), ("y\n", 0, 0)):
        keyboard = io.StringIO(typed)
        monkeypatch.setattr(keyboard, "isatty", lambda: True)
        monkeypatch.setattr(sys, "stdin", keyboard)
        assert run(*command).code == code
        assert len(run("collections", "list", "--json").json) == left


def test_an_indexed_folder_answers_questions(run: Command, docs: Path) -> None:
    first = run("index", docs)
    assert (first.code, first.err) == (0, "")
    assert first.out.startswith("My papers: 2 added; 2 documents, 3 passages in ")
    second = run("index", docs, "--json")
    record = second.json
    assert {k: record[k] for k in ("collection", "added", "unchanged", "removed", "failed")} == {
        "collection": "My papers", "added": 0, "unchanged": 2, "removed": 0, "failed": {},
    }  # fmt: skip
    asked = ("When was the harbour built?", "--collection", "My papers", "--json")
    answer = run("answer", *asked).json
    assert answer["quotes"][0]["status"] == "verified"
    assert "1890" in answer["quotes"][0]["text"]
    # Found passages need not answer the question: there is always a nearest one.
    lost = run("answer", "Who painted the Mona Lisa?", *asked[1:]).json
    assert (lost["plain"], lost["quotes"]) == ("The sources do not answer this question.", [])


def test_a_folder_without_documents_leaves_no_collection(run: Command, tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(b"\x89PNG")
    refused = run("index", tmp_path / "pictures")
    assert refused.code == 2
    assert "No documents found" in refused.err
    assert run("collections", "list", "--json").json == []


def test_unreadable_files_are_reported(run: Command, docs: Path) -> None:
    (docs / "bad.pdf").write_text("no pdf")
    (docs / "sheet.xlsx").write_text("a table")
    (docs / "one").mkdir()
    (docs / "one" / "a.txt").write_text("It rained.")
    assert "1 added; 1 document, 1 passage in" in run("index", docs / "one").out
    (docs / "one" / "a.txt").unlink()
    outcome = run("index", docs, "--collection", "mine")
    assert outcome.code == 1
    assert outcome.out.startswith("mine: 2 added, 1 failed, 1 unsupported; 2 documents")
    assert outcome.err.startswith("bad.pdf: The file is not a PDF")
    assert outcome.err.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_ctrl_c_keeps_documents_and_the_next_run_resumes(
    run: Command, docs: Path, tmp_path: Path
) -> None:
    for i in range(60):
        (docs / f"{i}.html").write_text(f"<p>Zebra {i} eats grass.</p>" * 200)
    program = (
        "import semqa.retrieval.encoder as encoder\n"
        "encoder.packaged_encoder = lambda: None\n"  # words only, as above
        "from semqa.cli.main import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", program, "index", str(docs), "--data", "data"]
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
    assert 0 < kept < 62
    for path in docs.iterdir():
        os.utime(path, (1e9, 1e9))
    again = run("index", docs, "--json").json
    assert again["unchanged"] + again["added"] == 62
    assert again["unchanged"] >= kept
