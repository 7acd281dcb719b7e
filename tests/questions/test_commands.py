"""The `semqa questions` commands: collect, kill and resume, sample, split, check."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from semqa.__main__ import main
from semqa.data.quotesum import read_quotesum
from tests.cli.conftest import Command, Outcome, semqa
from tests.questions.released import write_ambigqa, write_paq
from tests.terminal import talking

__all__ = ["semqa"]

LINES = 2_000
PATIENCE_SECONDS = 120.0


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_paq(tmp_path_factory.mktemp("released"), LINES)


@pytest.fixture(scope="module")
def collected(released: tuple[Path, Path]) -> Path:
    """The folder of an uninterrupted collection."""
    out = released[0].parent / "whole"
    run_here(command(released, out))
    return out


def run_here(arguments: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["semqa", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
    assert not end.value.code


def command(released: tuple[Path, Path], out: Path, *more: str) -> list[str]:
    questions, passages = map(str, released)
    return ["questions", "paq", questions, "--passages", passages, "--out", str(out), *more]


def start(arguments: list[str], **more: Any) -> subprocess.Popen[str]:
    program = [sys.executable, "-P", "-m", "semqa", *arguments]
    return subprocess.Popen(program, stdout=subprocess.DEVNULL, text=True, **more)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_what_is_collected_is_a_quotesum_file(collected: Path) -> None:
    questions = read_quotesum(collected / "questions.jsonl")
    assert len(questions) > 60
    for question in questions:
        assert question.origin == "PAQ"
        assert question.question.endswith("?")
        (reference,) = question.references
        assert reference.text == ""
        titles = [source.title.casefold() for source in question.sources]
        assert 2 <= len(set(titles)) == len(titles) <= 8
        for source, answer in zip(question.sources, reference.source_answers, strict=True):
            assert answer.casefold() in source.text.casefold()
            assert 80 <= len(source.text.split()) <= 200
    steps = json.loads((collected / "counts.json").read_text())["steps"]
    assert steps[0]["questions"] == LINES
    assert steps[-1]["questions"] == len(questions)
    assert steps[-1]["answers"] == sum(len(question.sources) for question in questions)


@pytest.mark.slow
def test_a_killed_collection_resumes(
    released: tuple[Path, Path], collected: Path, tmp_path: Path
) -> None:
    out = tmp_path / "killed"
    with start(command(released, out)) as process:
        wait_for(out / "steps.sqlite")
        time.sleep(0.5)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    run_here(command(released, out))
    for name in ("questions.jsonl", "counts.json"):
        assert (out / name).read_bytes() == (collected / name).read_bytes()


def wait_for(path: Path) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not path.exists():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def test_a_finished_collection_is_shown_again_and_refused_to_others(
    semqa: Command, released: tuple[Path, Path], collected: Path
) -> None:
    before = (collected / "questions.jsonl").stat()
    # The device is not part of the identity of a collection.
    again = semqa(*command(released, collected, "--json", "--device", "cpu"))
    assert again.json["steps"] == json.loads((collected / "counts.json").read_text())["steps"]
    assert (collected / "questions.jsonl").stat() == before  # not written again
    outcome = semqa(*command(released, collected, "--least-words", "10"))
    assert outcome.code == 2
    assert "holds another run: its least_words is 80, not 10." in outcome.err


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_says_how_to_resume(released: tuple[Path, Path], tmp_path: Path) -> None:
    with start(command(released, tmp_path / "stopped"), stderr=subprocess.PIPE) as process:
        wait_for(tmp_path / "stopped" / "steps.sqlite")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130
    assert err == "stopped; run the same command again to continue\n"


def test_passages_of_another_release_are_refused(
    semqa: Command, released: tuple[Path, Path], tmp_path: Path
) -> None:
    other = tmp_path / "psgs_w100.tsv"
    other.write_text("id\ttext\ttitle\n1\tnothing\tNo\n")
    outcome = semqa(*command((released[0], other), tmp_path / "out"))
    assert outcome.code == 2
    assert "does not belong to these questions" in outcome.err


def test_ambigqa_is_collected(semqa: Command, tmp_path: Path) -> None:
    path = write_ambigqa(tmp_path, 200)
    outcome = semqa("questions", "ambigqa", path, "--out", tmp_path / "out", "--json")
    assert outcome.code == 0, outcome
    questions = read_quotesum(tmp_path / "out" / "questions.jsonl")
    assert len(questions) == outcome.json["steps"][-1]["questions"] > 20
    assert all(question.origin == "AmbigQA" for question in questions)
    assert all(question.references[0].disambiguation for question in questions)


def test_drawn_and_split(semqa: Command, collected: Path, tmp_path: Path) -> None:
    drawn = tmp_path / "drawn.jsonl"
    outcome = semqa("questions", "sample", collected, "--out", drawn, "-n", "60", "--json")
    assert outcome.json["questions"] == len(read_quotesum(drawn)) == 60
    splits = tmp_path / "splits"
    outcome = semqa("questions", "split", drawn, "--out", splits, "--json")
    assert outcome.code == 0
    found = {name: read_quotesum(splits / f"{name}.jsonl") for name in ("train", "dev", "test")}
    assert {name: len(each) for name, each in found.items()} == {
        name: each["questions"] for name, each in outcome.json["splits"].items()
    }
    assert sum(map(len, found.values())) == 60
    outcome = semqa("questions", "split", drawn, "--out", tmp_path, "--shares", "60/7/30")
    assert outcome.code == 2
    assert "must be three percentages that sum to 100" in outcome.err


def test_questions_on_the_same_pages_are_not_split(semqa: Command, tmp_path: Path) -> None:
    def split(*pages: str) -> Outcome:
        lines = [
            {"qid": name, "question": "Who?", "summary": "", "unique_id": name}
            | {f"title{k}": page for k, page in enumerate(name, 1)}
            | {f"source{k}": f"It is {page}." for k, page in enumerate(name, 1)}
            for name in pages
        ]
        path = tmp_path / "questions.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return semqa("questions", "split", path, "--out", tmp_path / "splits")

    for pages, message in (
        (("abc", "ab", "bc", "ac"), "Any two of the 4 questions share a page"),
        (("abc",), "There is only one question"),
    ):
        outcome = split(*pages)
        assert outcome.code == 2
        assert message in outcome.err
        assert "Collect questions from more documents" in outcome.err
        assert not (tmp_path / "splits").exists()
    # Questions that are only linked by others can be drawn without these.
    outcome = split("ab", "bc", "cd")
    assert outcome.code == 0
    assert "3 of 3 questions share pages" in outcome.err
    assert "Take a smaller sample first" in outcome.err
    assert "No questions are left for dev and test." in outcome.err
    assert split("ab", "cd").err == "No questions are left for dev.\n"


CONTRACTS = {
    "acme.md": "# Acme agreement\n\nThe notice period is 30 days. The account manager is Ann Lee.\n",
    "bolt.md": "# Bolt contract\n\nThe notice period is 90 days. The account manager is Josh Gates.\n",
}


@pytest.fixture(scope="module")
def proposed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    for name, text in CONTRACTS.items():
        (folder / name).write_text(text * 2)
    paths = [str(folder / name) for name in CONTRACTS]
    run_here(["questions", "documents", *paths, "--out", str(folder / "out")])
    return folder / "out"


def test_questions_over_documents_wait_to_be_checked(proposed: Path) -> None:
    found = {row["question"]: row for row in rows(proposed / "questions.jsonl")}
    assert all(row["checked"] is False for row in found.values())
    manager = found["The account manager is who?"]
    assert {manager["short_ans_1"], manager["short_ans_2"]} == {"Ann Lee", "Josh Gates"}
    assert {manager["title1"], manager["title2"]} == {"Acme agreement", "Bolt contract"}


def test_answers_to_proposed_questions_are_scored_by_recall_alone(
    semqa: Command, proposed: Path, tmp_path: Path
) -> None:
    data = ("--data", proposed / "questions.jsonl", "--engine", "extractive")
    outcome = semqa("bench", "quotesum", *data, "--out", tmp_path / "run")
    words = [line.split() for line in outcome.out.splitlines()]
    shown = {each[0]: each[1] for each in words if len(each) > 1}
    assert float(shown["Sem-Rec"]) > 0


def test_a_person_keeps_edits_and_drops(semqa: Command, proposed: Path) -> None:
    questions = rows(proposed / "questions.jsonl")
    assert len(questions) >= 2
    outcome = semqa("questions", "check", proposed)
    assert outcome.code == 2
    assert "edit the file" in outcome.err  # there is no terminal

    def check(keys: str) -> str:
        command = [sys.executable, "-P", "-m", "semqa", "questions", "check", str(proposed)]
        with talking(command, proposed) as talk:
            talk.keys(keys)
            assert talk.end() == 0, talk.screen
            return talk.screen

    shown = check("e\nWho manages the account?\nq\n")
    assert questions[0]["question"] in shown
    assert "1 kept, 0 dropped" in shown
    checked = proposed / "checked.jsonl"
    checked.write_text(checked.read_text("utf-8").rstrip("\n"), "utf-8")  # as some editors do
    assert "1 kept, 1 dropped" in check("d\nq\n")
    kept, dropped = rows(proposed / "checked.jsonl"), rows(proposed / "dropped.jsonl")
    assert [row["question"] for row in kept] == ["Who manages the account?"]
    assert [row["qid"] for row in dropped] == [questions[1]["qid"]]
    assert kept[0]["checked"] is True
    assert len(read_quotesum(proposed / "checked.jsonl")) == 1
