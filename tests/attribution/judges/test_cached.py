"""Judges that wrap another: results cached on disk, and inputs that are too long."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from semqa.attribution.judges import (
    CachedJudge,
    Entailment,
    Judge,
    Pair,
    Reading,
    Span,
    TolerantJudge,
    create_judge,
)
from semqa.errors import InputError
from tests.attribution.fake_judge import FakeJudge

PAIRS = [Pair(f"premise {number}", "hypothesis") for number in range(10)]


class Counting(Judge):
    """A judge that tells how often it was asked what."""

    def __init__(self, identity: str = "counting", fail_at: int | None = None) -> None:
        self.name, self.identity = "counting", identity
        self.seen: list[Pair] = []
        self._fail_at = fail_at

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        if self._fail_at is not None and len(self.seen) >= self._fail_at:
            raise KeyboardInterrupt
        self.seen += pairs
        return [Entailment(0.1, 0.7, 0.2) for _ in pairs]


def test_what_was_asked_once_is_not_asked_again(tmp_path: Path) -> None:
    judge = Counting()
    file = tmp_path / "new" / "kept.sqlite3"
    first = CachedJudge(judge, file)
    expected = first.entailment(PAIRS[:4])
    assert expected == [Entailment(0.1, 0.7, 0.2)] * 4
    first.close()
    again = CachedJudge(judge, file)
    assert again.entailment([*PAIRS[2:6], PAIRS[2]]) == [Entailment(0.1, 0.7, 0.2)] * 5
    assert judge.seen == PAIRS[:6]
    assert (again.asked, again.kept) == (2, 3)
    again.close()


def test_an_interrupted_call_keeps_its_finished_chunks(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        CachedJudge(Counting(fail_at=6), tmp_path, chunk=3).entailment(PAIRS)
    judge = Counting()
    CachedJudge(judge, tmp_path).entailment(PAIRS)
    assert judge.seen == PAIRS[6:]


def test_all_questions_are_kept_as_they_were_answered(tmp_path: Path) -> None:
    text = "Ann Lee built the bridge in 1932."
    plain = create_judge("lexical")
    for _ in range(2):
        cached = CachedJudge(plain, tmp_path)
        assert cached.answer([Reading("Who built the bridge?", text), Reading("Why?", text)]) == [
            Span("Ann Lee", 0, 7, 1.0),
            None,
        ]
        assert cached.ask([("1932", text)], count=1) == [
            ["Ann Lee built the bridge in which year?"]
        ]
        assert len(cached.ask([("1932", text)], count=2)[0]) == 2
        cached.close()
    assert (cached.asked, cached.kept) == (0, 4)


def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "kept.sqlite3"
    damage = b"SQLite format 3\0" + b"x" * 8000
    file.write_bytes(damage)
    with pytest.raises(InputError, match=r"kept\.sqlite3 is"):
        CachedJudge(Counting(), file)
    assert file.read_bytes() == damage


SLOW = """
import sys, time
from pathlib import Path
from semqa.attribution.judges import CachedJudge, Entailment, Judge, Pair

class Slow(Judge):
    name = identity = "slow"
    def entailment(self, pairs):
        time.sleep(0.01)
        return [Entailment(0.0, 1.0, 0.0) for _ in pairs]

cached = CachedJudge(Slow(), Path(sys.argv[1]), chunk=1)
cached.entailment([Pair(str(n), "h") for n in range(int(sys.argv[2]), int(sys.argv[3]))])
"""


def _start(file: Path, begin: int, end: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-P", "-c", SLOW, file, str(begin), str(end)])


def _count(file: Path) -> int:
    connection = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=30)
    try:
        (count,) = connection.execute("SELECT count(*) FROM judgements").fetchone()
        return int(count)
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


def test_a_killed_process_leaves_what_it_had_finished_and_others_go_on(tmp_path: Path) -> None:
    """Three processes write one file; two finish, one is killed, and a new one resumes."""
    file = tmp_path / "kept.sqlite3"
    killed, *others = (_start(file, *span) for span in ((0, 3000), (3000, 3050), (4000, 4050)))
    assert [process.wait(timeout=60) for process in others] == [0, 0]
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and _count(file) <= 100:
        time.sleep(0.05)
    killed.kill()
    assert killed.wait() == -signal.SIGKILL
    kept = _count(file)
    assert 100 < kept < 3100
    cached = CachedJudge(Counting("slow"), file)
    cached.entailment([Pair(str(number), "h") for number in range(3000)])
    assert cached.asked == 3100 - kept
    assert sqlite3.connect(file).execute("PRAGMA integrity_check").fetchone() == ("ok",)
    cached.close()


def test_what_is_too_long_says_nothing_and_is_counted() -> None:
    short = FakeJudge(
        entailment=lambda _: Entailment(1.0, 0.0, 0.0),
        answer=lambda reading: Span(reading.passage, 0, len(reading.passage), 1.0),
        too_long=lambda each: "abcd" in each,
    )
    judge = TolerantJudge(short)
    texts = ["ab", "abcd", "c"]
    assert [each.entailed for each in judge.entailment([Pair("p", t) for t in texts])] == [
        True, False, True,
    ]  # fmt: skip
    assert judge.entailment([Pair("p", "abcd")]) == [Entailment(0.0, 1.0, 0.0)]
    found = judge.answer([Reading(t, "p") for t in texts])
    assert found == [Span("p", 0, 1, 1.0), None, Span("p", 0, 1, 1.0)]
    assert judge.too_long == 3
