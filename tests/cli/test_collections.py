"""`semqa collections`: listing, owners, sharing and deletion."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.attribution.commands import Command, command_in
from tests.documents import makers
from tests.terminal import talking

WORDS = ("--encoder", "none")


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Call as `semqa`; runs in this process with its own data folder."""
    monkeypatch.setenv("SEMQA_DATA", str(tmp_path / "data"))
    return command_in(tmp_path, monkeypatch, capsys)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "My papers"
    folder.mkdir()
    (folder / "harbour.txt").write_text("The harbour of Oslo was built in 1890. It burnt twice.")
    (folder / "report.pdf").write_bytes(makers.pdf([["One."], ["Zebras eat grass."]]))
    return folder


def test_collections_are_listed_shown_and_deleted(run: Command, docs: Path) -> None:
    assert run("collections", "list").err.startswith("No collections.")
    assert run("collections", "list", "--json").json == []
    run("index", docs, *WORDS)
    run("index", docs, *WORDS, "--collection", "other")
    told = run("collections", "list", "--json").json
    assert [(c["name"], c["documents"], c["passages"]) for c in told] == [
        ("My papers", 2, 3), ("other", 2, 3),
    ]  # fmt: skip
    assert "My papers" in run("collections", "list").out
    shown = run("collections", "show", "other").out
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


def test_collections_of_a_key_require_the_key(run: Command, docs: Path) -> None:
    run("keys", "create", "ann")
    (key,) = run("keys", "list", "--json").json
    hers = ("--owner", key["id"])
    run("index", docs, *WORDS, *hers)
    assert run("collections", "list", "--json").json == []
    assert len(run("collections", "list", *hers, "--json").json) == 1
    asked = ("answer", "When was the harbour built?", "--collection", "My papers", "--json")
    assert "1890" in run(*asked, *hers).json["plain"]
    for command in (asked, ("collections", "delete", "My papers", "--yes")):
        lost = run(*command)
        assert "Collection 'My papers' not found" in lost.err
    assert run("collections", "delete", "My papers", "--yes", *hers).code == 0


def test_a_collection_is_shared_with_another_key(run: Command, docs: Path) -> None:
    for name in ("ann", "bob"):
        run("keys", "create", name)
    ann, bob = (key["id"] for key in run("keys", "list", "--json").json)
    run("index", docs, *WORDS, "--owner", ann)
    share = ("collections", "share", "My papers", "--owner", ann, "--with", bob)
    assert run(*share, "--as", "harbours").code == 0
    (seen,) = run("collections", "list", "--owner", bob, "--json").json
    assert (seen["name"], seen["access"]) == ("harbours", "read")
    asked = ("answer", "When was the harbour built?", "--collection", "harbours", "--json")
    assert "1890" in run(*asked, "--owner", bob).json["plain"]
    refused = run("collections", "delete", "harbours", "--yes", "--owner", bob)
    assert (refused.code, "belongs to another" in refused.err) == (2, True)
    assert run("index", docs, *WORDS, "--collection", "harbours", "--owner", bob).code == 2
    shown = run("collections", "show", "My papers", "--owner", ann, "--json").json
    assert shown["shared"] == [{"owner": bob, "name": "harbours", "access": "read"}]
    assert run(*share[:-1], "key_nobody").code == 2
    unshare = ("collections", "unshare", "My papers", "--owner", ann, "--with", bob)
    assert run(*unshare).code == 0
    assert run("collections", "list", "--owner", bob, "--json").json == []
    assert run(*unshare).code == 2


def test_collections_of_a_revoked_key_can_be_listed_and_deleted(run: Command, docs: Path) -> None:
    run("keys", "create", "ann")
    (key,) = run("keys", "list", "--json").json
    hers = ("--owner", key["id"])
    run("index", docs, *WORDS, *hers)
    run("keys", "revoke", key["id"])
    assert "must be the id of a valid key" in run("index", docs, *WORDS, *hers).err
    assert len(run("collections", "list", *hers, "--json").json) == 1
    assert run("collections", "delete", "My papers", "--yes", *hers).code == 0
    assert run("collections", "list", *hers, "--json").json == []


def test_a_damaged_one_hides_no_others_and_can_be_deleted(
    run: Command, docs: Path, tmp_path: Path
) -> None:
    run("index", docs, *WORDS, "--collection", "bad")
    for path in (tmp_path / "data" / "library").glob("documents_*/**/*.manifest"):
        path.write_bytes(b"")
    run("index", docs, *WORDS, "--collection", "good")
    listed = run("collections", "list", "--json")
    assert (listed.code, [c["name"] for c in listed.json]) == (1, ["good"])
    assert listed.err.startswith("error: Collection 'bad': ")
    assert run("collections", "delete", "bad", "--yes").code == 0
    assert run("collections", "list").code == 0


@pytest.mark.parametrize(
    ("typed", "code", "left"), [("n\n", 1, 1), ("\x03", 130, 1), ("y\n", 0, 0)]
)
def test_delete_asks_for_confirmation(
    run: Command, docs: Path, typed: str, code: int, left: int
) -> None:
    run("index", docs, *WORDS)
    command = [sys.executable, "-m", "semqa", "collections", "delete", "My papers"]
    with talking(command, docs) as talk:
        talk.until("[y/N]")
        talk.keys(typed)
        with suppress(subprocess.TimeoutExpired):
            talk.end(5)
        if talk.process.poll() is None:
            # Python misses a Ctrl-C right before it starts to read; a person presses it again.
            talk.keys(typed)
        assert talk.end() == code
    assert len(run("collections", "list", "--json").json) == left
