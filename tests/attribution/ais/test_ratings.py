"""Ratings, their consensus, and tests between systems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from semqa.attribution.ais.rates import (
    SystemTest,
    agreement_of_ratings,
    compare_designs,
    compare_systems,
    system_rates,
)
from semqa.attribution.ais.ratings import Rating, consensus, read_ratings
from semqa.errors import InputError
from tests.attribution.ais.makers import said, verdicts, write_ratings


@pytest.mark.parametrize(
    ("letters", "expected", "tied"),
    [
        ("yyyyy", (False, True, True), ()),
        ("yynnn", (False, True, False), ()),
        ("yyuuu", (False, False, None), ()),
        ("yynuu", (False, True, True), ()),  # two of the three who were asked
        ("fffyy", (True, None, None), ()),
        ("ffyyu", (False, True, True), ()),
        ("ffuyu", (False, False, None), ()),
        ("yyuu", (False, False, None), ("int",)),  # half against half is no
        ("yynn", (False, True, False), ("ais",)),
        ("fy", (False, True, True), ()),
    ],
)
def test_each_majority_is_among_those_who_were_asked(
    letters: str, expected: Any, tied: tuple[str, ...]
) -> None:
    (unit,) = consensus(said(letters))
    verdict = unit.verdict
    assert (verdict.flagged, verdict.interpretable, verdict.attributable) == expected
    assert unit.tied == tied


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"flagged": True, "interpretable": True, "attributable": True},
        {"interpretable": False, "attributable": False},
        {"interpretable": True},
    ],
)
def test_an_answer_without_its_question_is_no_rating(answers: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Rating("1", "m", "ann", **answers)


def test_files_keep_everything_and_leave_out_what_is_empty(tmp_path: Path) -> None:
    full = Rating(
        "q:1", "m", "ann", False, True, False, "Not in it.", 12.5, "qrecc", "two-step", "It is."
    )
    ratings = [full, *said("fun")]
    write_ratings(tmp_path / "r.jsonl", ratings)
    assert read_ratings(tmp_path / "r.jsonl") == ratings
    lines = (tmp_path / "r.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[1]) == {"item": "1", "system": "m", "annotator": "a0", "flagged": True}
    write_ratings(tmp_path / "again.jsonl", read_ratings(tmp_path / "r.jsonl"))
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "r.jsonl").read_bytes()


BASE: dict[str, Any] = {"item": "1", "system": "m", "annotator": "a", "interpretable": False}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([BASE | {"interpretable": "no"}], "r.jsonl:1: interpretable must"),
        ([BASE | {"seconds": -1}], "r.jsonl:1: seconds must"),
        ([BASE | {"attributable_level": 6}], "r.jsonl:1: attributable_level must"),
        ([BASE | {"justification": 3}], "justification must be a string"),
        ([{"item": "1"}], "system is missing"),
        ([BASE | {"attributable": True}], "r.jsonl:1: Attributable must be true or false if"),
        (
            [BASE, BASE | {"system": "n"}, BASE | {"interpretable": True, "attributable": True}],
            'r.jsonl:3: "a" already rated',
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
    assert [each["question"] for each in (flag, clear, whole)] == ["flag", "int", "ais"]
    assert (flag["items"], flag["dropped"]) == (5, 1)
    # Item 4 is flagged; item 3 is the only one where not all find it clear.
    assert (clear["items"], clear["dropped"]) == (4, 1)
    assert clear["pairwise_agreement"]["value"] == pytest.approx((1 + 1 + 0.4 + 1) / 4)
    assert clear["unanimous"]["value"] == 0.75
    # Items 1, 2 and 5: all, three and four of five agree.
    assert whole["items"] == 3
    assert whole["pairwise_agreement"]["value"] == pytest.approx((1 + 0.4 + 0.6) / 3)
    assert whole["accuracy"]["value"] == pytest.approx((5 + 3 + 4) / 15)
    assert whole["f1_no"]["value"] == pytest.approx(2 * 3 / (4 + 5))


def test_a_tie_is_no_consensus_to_hold_an_annotator_to() -> None:
    ratings = [*said("yynn"), *said("yyyn", item="2"), *said("yyuu", item="3")]
    _, clear, whole = agreement_of_ratings(consensus(ratings))
    assert (whole["items"], whole["accuracy"]) == (2, {"value": 0.75, "n": 4})
    assert (clear["items"], clear["accuracy"]["n"]) == (3, 8)


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
    found = {each["measure"]: each for each in compare_designs(verdicts)}
    names = {(each["first"], each["second"]) for each in found.values()}
    assert names == {("two-step", "one-step")}
    counts = {m: (t["n"], t["only_first"], t["only_second"]) for m, t in found.items()}
    assert counts == {
        "flag": (5, 1, 0),
        "int": (4, 1, 1),
        "ais": (2, 0, 1),
        "int_and_ais": (4, 1, 2),
    }
    assert found["int_and_ais"]["p"] == 1.0
    assert compare_designs([v for v in verdicts if v.design == "one-step"]) == []


BEST = verdicts("best", not_ais=10, ais=90)
CLOSE = verdicts("close", not_ais=20, ais=80)
WORST = verdicts("worst", flagged=4, unclear=30, not_ais=36, ais=30)
ALL = [*CLOSE, *WORST, *BEST]


@pytest.mark.parametrize("test", ["z", "mcnemar"])
def test_what_cannot_be_tested_says_why(test: SystemTest) -> None:
    nothing = verdicts("nothing", unclear=5)
    flagged = verdicts("flagged", flagged=5)
    found = compare_systems([*BEST, *nothing, *flagged], "ais", test=test)
    for each in found:
        assert (each["p"], each["adjusted"], each["difference"]) == (None, None, None)
        assert each["unscored"]
        assert not each["significant"]
    assert compare_systems(flagged, "ais") == []
    rates = system_rates(flagged)[0]
    assert rates["int"] == {
        "count": 0,
        "n": 0,
        "percent": None,
        "unscored": "every output is flagged",
    }
