"""Answers of a real model, from `semqa answer`, `semqa bench` and `semqa serve`, as readers see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.real.reading import Answered

pytestmark = pytest.mark.timeout(600)  # a model is loaded, and writes


def test_quotes_or_the_abstention(answers: list[Answered]) -> None:
    for each in answers:
        assert each.abstains or each.answer.quotes, each.answer.marked
        assert all(quote.verified for quote in each.answer.quotes), each.answer.marked


def test_quotes_say_something(answers: list[Answered]) -> None:
    for each in answers:
        assert not each.empty, each.answer.marked


def test_nothing_is_quoted_twice(answers: list[Answered]) -> None:
    for each in answers:
        assert not each.twice, each.answer.marked


def test_no_loops_outside_quotes(answers: list[Answered], engine: list[str]) -> None:
    if "--base-url" in engine:
        pytest.skip("not promised: a grammar does not remember what was written")
    for each in answers:
        assert not each.loops, each.answer.marked


def test_no_claims_outside_quotes(answers: list[Answered]) -> None:
    for each in answers:
        assert not each.claims, (each.claims, each.answer.marked)


def test_the_end(answers: list[Answered]) -> None:
    for each in answers:
        assert each.record["finished"] is True, each.answer.marked


def test_an_honest_verdict(answers: list[Answered]) -> None:
    for each in answers:
        assert each.record["verdict"] == each.verdict, each.answer.marked
        assert each.record.get("verified", each.verdict == "quoted") is (each.verdict == "quoted")
