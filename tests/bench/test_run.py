"""Benchmark runs: results, resumption after a kill, and what a folder refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from semqa import InputError, QuotedAnswer, Source
from semqa.bench import Plan, run
from semqa.bench.run import Progress, Watch
from semqa.data.quotesum import Question, Reference, write_quotesum
from semqa.errors import UnavailableError
from semqa.metrics import leave_one_out, summarise
from semqa.quotes import ABSTENTION
from semqa.quotes.repair import repair

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DATA = EXAMPLES / "quotesum.jsonl"


class Seen(Watch):
    """Keeps the progress of runs, and calls a function at each step."""

    def __init__(self, then: Callable[[Progress], None] = lambda _: None) -> None:
        self.seen: list[Progress] = []
        self._then = then

    def progress(self, progress: Progress) -> None:
        self.seen.append(progress)
        self._then(progress)


def rows_of(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "examples.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def without_times(folder: Path) -> tuple[Any, Any]:
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    del results["seconds"], results["throughput"]
    return results, [{k: v for k, v in row.items() if k != "seconds"} for row in rows_of(folder)]


def test_a_run_leaves_a_complete_record(tmp_path: Path) -> None:
    results = run(Plan(DATA, "extractive"), tmp_path / "run")
    assert json.loads((tmp_path / "run" / "results.json").read_text(encoding="utf-8")) == results
    record: Any = results
    assert record["results"]["n"] == 3
    assert record["results"]["semqa"] > 0
    assert record["config"]["engine"] == "extractive"
    about = json.loads((tmp_path / "run" / "about.json").read_text(encoding="utf-8"))
    assert about["data_path"] == str(DATA)
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:]{8}\+00:00", about["started"])
    assert set(record["versions"]) == {"semqa", "numpy", "rapidfuzz"}
    assert record["quoting"]["statuses"]["verified"] > 0
    assert record["quoting"]["statuses"]["fabricated"] == 0
    rows = rows_of(tmp_path / "run")
    assert [row["id"] for row in rows] == ["EXAMPLE_1", "EXAMPLE_2", "EXAMPLE_3"]
    assert all(row["prediction"] and row["scores"]["semqa"] is not None for row in rows)


class Said:
    """Answers the three questions with three texts, of which a repair drops marks."""

    name = "said"

    def __init__(self, texts: list[str]) -> None:
        self._texts = iter(texts)

    def answer(self, _question: str, sources: Any, history: Any = ()) -> QuotedAnswer:
        return repair(next(self._texts), sources)


def test_verdicts_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Plan, "create_engine", lambda *_: Said(["It was X.", ABSTENTION, "[1 no]"]))
    record: Any = run(Plan(DATA, "lead-1"), tmp_path)
    told = {"quoted": 0, "unverified": 1, "unquoted": 1, "abstained": 1}
    assert record["quoting"]["verdicts"] == told
    rows = rows_of(tmp_path)
    assert [row["verdict"] for row in rows] == ["unquoted", "abstained", "unverified"]


def test_the_human_row_is_leave_one_out(tmp_path: Path) -> None:
    from semqa.data.quotesum import read_quotesum

    results: Any = run(Plan(DATA, "human"), tmp_path)
    rows = [
        row
        for q in read_quotesum(DATA)
        for row in leave_one_out(q.qid, q.texts, q.short_answers, q.numbers)
    ]
    expected = summarise(rows, resamples=0)
    assert results["results"]["n"] == len(rows)
    for metric in ("rougeLsum", "sem_f1", "sem_recall", "semqa"):
        assert results["results"][metric] == pytest.approx(expected.value(metric), abs=1e-9)


def many_questions(path: Path, count: int) -> Path:
    questions = []
    for number in range(count):
        sources = tuple(
            Source(
                " ".join(f"In {1900 + (number * k + s) % 100} person {s} of town {k} sang." for s in range(12)),
                title=f"Town {k}",
            )
            for k in range(1, 5)
        )  # fmt: skip
        reference = Reference(f"q{number}_0", "By [ 1 person 3 ] .", "[ 1 person 3 ]")
        questions.append(
            Question(f"q{number}", f"who sang in town {number}?", sources, (reference,))
        )
    write_quotesum(path, questions)
    return path


@pytest.mark.slow
def test_killed_and_started_again_ends_the_same(tmp_path: Path) -> None:
    data = many_questions(tmp_path / "many.jsonl", 40)
    run(Plan(data, "extractive"), tmp_path / "whole")
    arguments = ["bench", "quotesum", "--data", str(data), "--out", str(tmp_path / "killed")]
    command = [sys.executable, "-m", "semqa", *arguments]
    journal = tmp_path / "killed" / "examples.jsonl"
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        if journal.exists() and journal.read_bytes().count(b"\n") >= 3:
            os.kill(process.pid, signal.SIGKILL)
            break
        time.sleep(0.002)
    assert process.wait() == -signal.SIGKILL
    done = journal.read_bytes().count(b"\n")
    assert 3 <= done < 40
    with journal.open("ab") as stream:
        stream.write(b'{"id": "q39", "predic')  # a line torn by the kill
    watch = Seen()
    run(Plan(data, "extractive"), tmp_path / "killed", watch)
    assert watch.seen[0].resumed == done
    assert without_times(tmp_path / "killed") == without_times(tmp_path / "whole")


def test_a_folder_holds_one_run(tmp_path: Path) -> None:
    run(Plan(DATA, "lead-1"), tmp_path)
    with pytest.raises(InputError, match=r"another run: its engine is 'lead-1', not 'lead-2'"):
        run(Plan(DATA, "lead-2"), tmp_path)
    with pytest.raises(InputError, match=r"its limit is None, not 1"):
        run(Plan(DATA, "lead-1", limit=1), tmp_path)
    changed = tmp_path / "quotesum.jsonl"
    changed.write_text(
        DATA.read_text(encoding="utf-8").replace("alone?", "alone"), encoding="utf-8"
    )
    with pytest.raises(InputError, match="another run: its data_sha256"):
        run(Plan(changed, "lead-1"), tmp_path)


def test_a_folder_with_foreign_rows_is_refused(tmp_path: Path) -> None:
    run(Plan(DATA, "lead-1"), tmp_path)
    journal = tmp_path / "examples.jsonl"
    first = journal.read_bytes().splitlines(keepends=True)[0]
    journal.write_bytes(journal.read_bytes() + first)
    with pytest.raises(InputError, match=r"examples.jsonl:4: .*'EXAMPLE_1' occurs twice"):  # fmt: skip
        run(Plan(DATA, "lead-1"), tmp_path)
    (tmp_path / "run.json").unlink()
    with pytest.raises(InputError, match="examples of an unknown run"):
        run(Plan(DATA, "lead-1"), tmp_path)


def test_one_folder_one_process(tmp_path: Path) -> None:
    from filelock import FileLock

    with (
        FileLock(tmp_path / ".lock"),
        pytest.raises(UnavailableError, match="is locked by another semqa"),
    ):
        run(Plan(DATA, "lead-1"), tmp_path)


class Moody:
    """Fails, without delay, on what it is told to; else it takes its time to say three words."""

    name = "moody"

    def __init__(self, *wrong: str) -> None:
        self.wrong = wrong
        self.asked: list[str] = []

    def answer(self, question: str, sources: Any, history: Any = ()) -> QuotedAnswer:
        self.asked.append(question)
        for word in self.wrong:
            if word in question:
                raise InputError(f"no {word} today")
        time.sleep(0.02)
        return QuotedAnswer.parse("[ 1 a ] b c", sources)


def test_what_failed_counts_in_scores_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = many_questions(tmp_path / "many.jsonl", 6)
    moody = Moody("town 1", "town 2", "town 3", "town 5")
    monkeypatch.setattr(Plan, "create_engine", lambda *_: moody)
    results: Any = run(Plan(data, "lead-1"), tmp_path / "run")
    assert (results["failed"], results["answered"], results["results"]["n"]) == (4, 2, 6)
    assert results["seconds"]["p50"] >= 0.02
    assert results["quoting"]["words_per_answer"] == 3
    assert results["quoting"]["quotes_per_answer"] == 1
    assert results["failures"] == [
        {"id": f"q{k}", "error": f"no town {k} today"} for k in (1, 2, 3)
    ]


def test_what_failed_is_tried_again_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines = [Moody("bridge", "spices"), Moody("spices"), Moody(), Moody()]
    made = iter(engines)
    monkeypatch.setattr(Plan, "create_engine", lambda *_: next(made))
    watch = Seen()
    for left in (2, 1, 0, 0):
        results: Any = run(Plan(DATA, "lead-1"), tmp_path, watch, retry_failed=True)
        assert (results["failed"], results["answered"]) == (left, 3 - left)
        rows = rows_of(tmp_path)
        assert [row["id"] for row in rows] == ["EXAMPLE_1", "EXAMPLE_2", "EXAMPLE_3"]
        assert sum(row["error"] is not None for row in rows) == left
    assert [len(engine.asked) for engine in engines] == [3, 2, 1, 0]
    starts = [(each.resumed, each.again) for each in watch.seen if each.done == each.resumed]
    assert starts == [(0, 0), (1, 2), (2, 1), (3, 0)]


def test_what_failed_stays_failed_unless_it_is_to_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Plan, "create_engine", lambda *_: Moody("bridge"))
    run(Plan(DATA, "lead-1"), tmp_path)
    before = without_times(tmp_path)
    journal = tmp_path / "examples.jsonl"
    first, failed, last = journal.read_bytes().splitlines(keepends=True)

    def no_engine(*_: object) -> None:
        raise AssertionError("there is nothing to ask")

    monkeypatch.setattr(Plan, "create_engine", no_engine)
    watch = Seen()
    run(Plan(DATA, "lead-1"), tmp_path, watch)
    assert [(each.resumed, each.again) for each in watch.seen] == [(3, 0)]
    assert without_times(tmp_path) == before
    # Killed after the failure: the rest is asked, what failed is not.
    journal.write_bytes(first + failed + last[:30])
    (tmp_path / "results.json").unlink()
    engine = Moody()
    monkeypatch.setattr(Plan, "create_engine", lambda *_: engine)
    run(Plan(DATA, "lead-1"), tmp_path)
    assert len(engine.asked) == 1
    assert without_times(tmp_path) == before


def test_trouble_from_outside_ends_the_run_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    class Flaky:
        name = "flaky"

        def answer(self, question: str, sources: Any, history: Any = ()) -> QuotedAnswer:
            calls.append(question)
            if len(calls) == 2:
                raise UnavailableError("the server is down")
            return QuotedAnswer.parse("[ 1 a ]", sources)

    monkeypatch.setattr(Plan, "create_engine", lambda *_: Flaky())
    with pytest.raises(UnavailableError, match="the server is down"):
        run(Plan(DATA, "lead-1"), tmp_path)
    results: Any = run(Plan(DATA, "lead-1"), tmp_path)
    assert (results["failed"], len(calls)) == (0, 4)


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ({"id": "EXAMPLE_1"}, "qid is missing"),
        ({"quotes": {"verified": None}}, "quotes.verified must be a whole number, got null"),
    ],
)
def test_damaged_rows_are_named(tmp_path: Path, row: dict[str, Any], wrong: str) -> None:
    run(Plan(DATA, "lead-1"), tmp_path)
    first = rows_of(tmp_path)[0]
    damaged = row if "id" in row else {**first, **row}
    (tmp_path / "examples.jsonl").write_text(json.dumps(damaged) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(wrong)):
        run(Plan(DATA, "lead-1"), tmp_path)


def test_mistakes_are_found_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Unknown engine"):
        run(Plan(DATA, "gpt"), tmp_path / "run")
    with pytest.raises(InputError, match="coverage is not an option of the human row"):
        run(Plan(DATA, "human", {"coverage": 0.5}), tmp_path / "run")
    with pytest.raises(InputError, match="cannot be read"):
        run(Plan(tmp_path / "none.jsonl", "lead-1"), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="Cannot create the folder"):
        run(Plan(DATA, "lead-1"), tmp_path / "file")
