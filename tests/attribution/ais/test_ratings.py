"""Single ratings: files, consensus, agreement, times, designs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.attribution.ais import (
    Rating,
    agreement_of_ratings,
    compare_designs,
    completion_times,
    consensus,
    read_ratings,
    system_rates,
    write_ratings,
)
from semqa.attribution.ais.ratings import Ties
from semqa.errors import InputError
from tests.attribution.ais.makers import said

LETTERS = st.text("funy", min_size=1, max_size=7)


def outcome(letters: str, ties: Ties = "no") -> tuple[bool, bool | None, bool | None]:
    (unit,) = consensus(said(letters), ties=ties)
    verdict = unit.verdict
    return verdict.flagged, verdict.interpretable, verdict.attributable


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("yyyyy", (False, True, True)),
        ("yyynn", (False, True, True)),
        ("yynnn", (False, True, False)),
        ("yyuuu", (False, False, None)),
        ("yynuu", (False, True, True)),  # two of the three who were asked
        ("fffyy", (True, None, None)),
        ("ffyyu", (False, True, True)),
        ("ffuyu", (False, False, None)),
    ],
)
def test_each_majority_is_among_those_who_were_asked(letters: str, expected: Any) -> None:
    assert outcome(letters) == expected


@pytest.mark.parametrize(
    ("letters", "no", "yes", "left_open"),
    [
        ("yyuu", (False, False, None), (False, True, True), (False, None, None)),
        ("yynn", (False, True, False), (False, True, True), (False, True, None)),
        ("ynuu", (False, False, None), (False, True, True), (False, None, None)),
        ("fy", (False, True, True), (False, True, True), (False, True, True)),
    ],
)
def test_half_against_half(letters: str, no: Any, yes: Any, left_open: Any) -> None:
    assert [outcome(letters, ties) for ties in ("no", "yes", "open")] == [no, yes, left_open]
    assert bool(consensus(said(letters))[0].tied) is (no != left_open)


def test_what_is_left_open_is_in_no_rate_that_it_would_decide() -> None:
    ratings = [*said("yynn"), *said("yyuu", item="2"), *said("yyy", item="3")]
    verdicts = [unit.verdict for unit in consensus(ratings, ties="open")]
    rates = system_rates(verdicts)[0].rates
    counts = {measure: (rate.count, rate.n) for measure, rate in rates.items()}
    assert counts == {"flag": (0, 3), "int": (2, 2), "ais": (1, 1), "int_and_ais": (1, 1)}


@given(LETTERS, st.randoms())
def test_the_order_of_annotators_does_not_matter(letters: str, random: Any) -> None:
    shuffled = list(letters)
    random.shuffle(shuffled)
    assert outcome(letters) == outcome("".join(shuffled))


@given(LETTERS)
def test_agreeing_annotators_are_counted(letters: str) -> None:
    verdict = consensus(said(letters))[0].verdict
    clear = Counter(rating.interpretable for rating in said(letters))
    whole = Counter(rating.attributable for rating in said(letters))
    if verdict.interpretable is not None:
        assert verdict.agree_int == clear[verdict.interpretable] >= clear[True] - clear[False]
    if verdict.attributable is not None:
        assert verdict.agree_ais == whole[verdict.attributable]


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"flagged": True, "interpretable": True, "attributable": True},
        {"flagged": True, "attributable": False},
        {"interpretable": False, "attributable": False},
        {"interpretable": True},
    ],
)
def test_an_answer_without_its_question_is_no_rating(answers: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="exactly where"):
        Rating("1", "m", "ann", **answers)


def test_files_keep_everything_and_leave_out_what_is_empty(tmp_path: Path) -> None:
    full = Rating(
        "q:1", "m", "ann", False, True, False, "Not in it.", 12.5, "qrecc", "two-step", 2, "It is."
    )
    ratings = [full, *said("fun")]
    write_ratings(tmp_path / "r.jsonl", ratings)
    assert read_ratings(tmp_path / "r.jsonl") == ratings
    lines = (tmp_path / "r.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[1]) == {
        "item": "1",
        "system": "m",
        "annotator": "a0",
        "flagged": True,
    }
    write_ratings(tmp_path / "again.jsonl", read_ratings(tmp_path / "r.jsonl"))
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "r.jsonl").read_bytes()


BASE: dict[str, Any] = {"item": "1", "system": "m", "annotator": "a", "interpretable": False}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([BASE | {"interpretable": "no"}], "r.jsonl:1: interpretable must"),
        ([BASE | {"interpretable": 0}], "r.jsonl:1: interpretable must"),
        ([BASE | {"seconds": -1}], "r.jsonl:1: seconds must"),
        ([BASE | {"seconds": True}], "r.jsonl:1: seconds must"),
        ([BASE | {"sentence": 0}], "r.jsonl:1: sentence must"),
        ([BASE | {"sentence": 1.5}], "r.jsonl:1: sentence must"),
        ([BASE | {"justification": 3}], "wrong type in field 'justification'"),
        ([{"item": "1"}], "missing field 'system'"),
        (
            [BASE | {"attributable": True}],
            "r.jsonl:1: These answers",
        ),
        (
            [BASE, BASE | {"system": "n"}, BASE | {"interpretable": True, "attributable": True}],
            'r.jsonl:3: "a" rated',
        ),
    ],
)
def test_lines_that_cannot_be_read_are_named(
    lines: list[dict[str, Any]], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_ratings(path)
    assert message in str(caught.value)


def test_agreement_on_each_question_is_among_those_who_were_asked() -> None:
    answers = {"1": "yyyyy", "2": "yynnn", "3": "uuuyy", "4": "fffyy", "5": "yyyyn", "6": "y"}
    ratings = [r for item, letters in answers.items() for r in said(letters, item=item)]
    flag, clear, whole = agreement_of_ratings(consensus(ratings))
    assert [each.question for each in (flag, clear, whole)] == ["flag", "int", "ais"]
    assert (flag.items, flag.dropped) == (5, 1)
    # Item 4 is flagged; item 3 is the only one where not all find it clear.
    assert (clear.items, clear.dropped) == (4, 1)
    assert clear.pairs.value == pytest.approx((1 + 1 + 0.4 + 1) / 4)
    assert clear.unanimous.value == 0.75
    # Items 1, 2 and 5: all, three and four of five agree.
    assert whole.items == 3
    assert whole.pairs.value == pytest.approx((1 + 0.4 + 0.6) / 3)
    assert whole.fit.accuracy.value == pytest.approx((5 + 3 + 4) / 15)
    assert whole.to_dict()["f1_no"]["value"] == pytest.approx(2 * 3 / (4 + 5))


def test_a_tie_is_no_consensus_to_hold_an_annotator_to() -> None:
    ratings = [*said("yynn"), *said("yyyn", item="2"), *said("yyuu", item="3")]
    _, clear, whole = agreement_of_ratings(consensus(ratings))
    assert (whole.items, whole.fit.accuracy.n) == (2, 4)
    assert (clear.items, clear.fit.accuracy.n) == (3, 8)
    assert whole.fit.accuracy.value == 0.75


def test_agreement_of_one_opinion_is_unscored() -> None:
    flag, clear, whole = agreement_of_ratings(consensus(said("yyyyy")))
    assert all(each.alpha.value is None for each in (flag, clear, whole))
    assert whole.pairs.value == 1.0
    assert whole.to_dict()["f1_no"] is None


def test_times() -> None:
    ratings = [
        *said("yy", task="wow", seconds=10.0),
        *said("n", task="wow", item="2", seconds=70.0),
        *said("yu", task="wow", design="one-step", seconds=4.0),
        *said("u", task="qrecc"),
    ]
    found = {(t.group["task"], t.group["design"]): t for t in completion_times(ratings)}
    assert (found["wow", ""].median, found["wow", ""].mean) == (10.0, 30.0)
    assert (found["wow", ""].n, found["wow", ""].total) == (3, 90.0)
    assert found["wow", "one-step"].median == 4.0
    assert found["qrecc", ""].to_dict() == {
        "task": "qrecc",
        "design": "",
        "n": 0,
        "untimed": 1,
        "median_seconds": None,
        "mean_seconds": None,
        "total_seconds": 0,
    }
    (together,) = completion_times(ratings, ())
    assert (together.n, together.untimed) == (5, 1)
    assert [t.group["annotator"] for t in completion_times(ratings, ("annotator",))] == ["a0", "a1"]


def test_designs_are_compared_output_by_output() -> None:
    answers = {
        "two-step": ["yyy", "nnn", "uuu", "yyy", "fff", "yyn"],
        "one-step": ["yyy", "yyy", "yyy", "uuu", "yyy"],
    }
    ratings = [
        rating
        for design, outputs in answers.items()
        for item, letters in enumerate(outputs)
        for rating in said(letters, item=str(item), design=design)
    ]
    verdicts = [unit.verdict for unit in consensus(ratings)]
    found = {each.measure: each for each in compare_designs(verdicts)}
    assert {(each.first, each.second) for each in found.values()} == {("two-step", "one-step")}
    counts = {m: (t.pairs.n, t.pairs.only_first, t.pairs.only_second) for m, t in found.items()}
    assert counts == {
        "flag": (5, 1, 0),
        "int": (4, 1, 1),
        "ais": (2, 0, 1),
        "int_and_ais": (4, 1, 2),
    }
    assert found["int_and_ais"].pairs.p == 1.0
    assert compare_designs([v for v in verdicts if v.design == "one-step"]) == []
