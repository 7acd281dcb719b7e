"""`semqa chat`: a conversation in a terminal, and in a pipe."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.cli.conftest import EXAMPLES, Command
from tests.engines.openai.server import Answer, serving
from tests.terminal import Talk
from tests.terminal import talking as in_terminal

LETTING = """# Letting of the mill

The notice period is three months. The rent is 640 pounds a month.

The landlord, Ada Morrow, keeps a key. She may enter after giving a day's notice.
"""


@pytest.fixture
def letting(tmp_path: Path) -> Path:
    path = tmp_path / "letting.md"
    path.write_text(LETTING, "utf-8")
    return path


def talking(folder: Path, *args: str | Path) -> AbstractContextManager[Talk]:
    command = [sys.executable, "-m", "semqa", "chat", *map(str, args)]
    return in_terminal(command, folder, {"XDG_DATA_HOME": str(folder / "data")})


def test_a_pipe_asks_one_question_per_line_with_history(
    semqa: Command, letting: Path, tmp_path: Path
) -> None:
    lines = b"Who keeps a key?\n\nthanks!\nAnd the rent?\nok\n/sources\n/save talk.md\n/new\n"
    code, out, err = semqa("chat", letting, stdin=lines)
    assert code == 0, err
    assert "> Who keeps a key?\n[ 1 The landlord, Ada Morrow, keeps a key. ]" in out
    assert "> And the rent?\n[ 1 The rent is 640 pounds a month. ]" in out
    assert "> thanks!\nThis is not a question. Ask about the sources.\n" in out
    assert "line 3: “The rent is 640 pounds a month.”" in out
    assert "\x1b" not in out
    saved = (tmp_path / "talk.md").read_text("utf-8")
    assert "## Who keeps a key?" in saved
    assert "[^2-1]: Letting of the mill" in saved


def test_an_error_in_a_pipe_does_not_stop_the_chat(semqa: Command, letting: Path) -> None:
    lines = b"/nope\n/open 1\n/save letting.md\nWho keeps a key?\n"
    code, out, err = semqa("chat", letting, stdin=lines)
    assert code == 1
    assert err.count("error: ") == 3
    assert "Ada Morrow, keeps a key." in out
    assert letting.read_text("utf-8") == LETTING


def test_sources_do_not_come_from_standard_input(semqa: Command) -> None:
    assert "No sources" in semqa("chat", stdin=b"Who?\n").err
    assert "Sources cannot be standard input" in semqa("chat", "-", stdin=b"Who?\n").err


def test_colours_links_and_commands_in_a_terminal(letting: Path, tmp_path: Path) -> None:
    with talking(tmp_path, letting) as talk:
        talk.until("> ")
        talk.keys("half a ques")
        talk.until("half a ques")
        talk.keys("\x03")  # clears the line
        talk.until("> ")
        talk.keys("Who keeps a key?\r")
        shown = talk.until("verified character for character")
        assert "\x1b[1;32mThe landlord, Ada Morrow, keeps a key." in shown
        assert f"{letting.as_uri()}\x1b\\" in shown  # the address of a link
        talk.keys("/open 1\r")
        talk.until("She may enter")
        talk.keys("\x04")
        assert talk.end() == 0
    assert "/open 1" in (tmp_path / "data/semqa/chat-history").read_text("utf-8")


def test_answers_are_streamed_and_ctrl_c_stops_them(tmp_path: Path) -> None:
    pieces = ("By [ 1 Børge Ousland ]", " and" * 500)
    slow = Answer("".join(pieces), pieces=pieces, stall_after=1_000)
    quick = Answer("It was [ 2 Felicity Aston ].")
    with serving(slow, quick) as server:
        given = ("--sources", EXAMPLES / "antarctica.jsonl", "--engine", "openai:tiny")
        more = ("--base-url", server.url, "--constraint", "repair")
        with talking(tmp_path, *given, *more) as talk:
            talk.until("> ")
            talk.keys("Who crossed it?\r")
            talk.until("Børge Ousland")
            talk.keys("\x03")
            talk.until("stopped")
            talk.until("> ")
            talk.keys("Who was the woman?\r")
            talk.until("Felicity Aston")
            talk.until("verified character for character")
            talk.keys("/quit\r")
            assert talk.end() == 0
        said = [m["content"] for m in server.asked[-1].body["messages"]]
    assert "Question: Who crossed it?" in said
