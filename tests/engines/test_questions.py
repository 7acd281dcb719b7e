"""Questions in two parts, and follow-up questions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.engines.extractive import ExtractiveEngine
from semqa.engines.extractive.question import questions_in, read_inquiry
from semqa.history import Exchange
from semqa.quotes import Source

SOURCES = [
    Source(
        "The light at Hook Point stands 34 metres above the sea. The last keeper, Ada Morrow, left "
        "in 1988, when the light was made automatic.",
        title="Lighthouses",
    ),
    Source(
        "Hook Point was the last light to be changed. The cost of the change was 46,000 pounds, a "
        "third of which came from the county.",
        title="Harbour report",
    ),
]
COST = "[ 2 The cost of the change was 46,000 pounds, a third of which came from the county. ]"
KEEPER = "[ 1 The last keeper, Ada Morrow, left in 1988, when the light was made automatic. ]"


def ask(question: str, *before: str) -> str | None:
    answer = ExtractiveEngine().attempt(question, SOURCES, [Exchange(each) for each in before])
    return None if answer is None else answer.marked


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("Who kept it?", [("Who kept it?", "")]),
        ("Who built the wall, and what did it cost?", [
            ("Who built the wall", ""), ("what did it cost?", "Who built the wall")]),
        ("Who built it and which way?", [
            ("Who built it", ""), ("which way?", "Who built it")]),
        ("Who built it, and what?", [("Who built it, and what?", "")]),
    ],
)  # fmt: skip
def test_a_text_is_split_into_questions(text: str, questions: list[tuple[str, str]]) -> None:
    assert questions_in(text) == questions


@given(st.text())
def test_every_text_has_a_question(text: str) -> None:
    found = questions_in(text)
    assert found
    assert all(asked in text for asked, _ in found)


def test_context_weighs_less_unless_the_question_has_no_content_words() -> None:
    inquiry = read_inquiry("What did it cost?", "Who kept the light?")
    assert inquiry.context == frozenset({"kept", "light"})
    assert read_inquiry("Why?", "Who kept the light?").context == frozenset()


def test_both_parts_are_answered() -> None:
    answer = ask("Who was the last keeper of Hook Point, and what did the change cost?")
    assert answer
    assert answer.startswith(KEEPER)
    assert answer.endswith(COST)


def test_a_follow_up_is_not_answered_like_the_question_before_it() -> None:
    before = "Who was the last keeper of Hook Point?"
    assert ask("And what did the change cost?", before) == COST
    assert str(ask("When did she leave?", before)).startswith(KEEPER)
    assert ask("And what did the pizza weigh?", "Who was the keeper?") is None


def test_a_question_in_parentheses_is_part_of_the_question() -> None:
    text = "What did the change cost? (Who kept the light?)"
    assert questions_in(text) == [(text, "")]


LEASE = Source(
    """# Lease

## Deposit

The deposit is two months' rent. It is returned within six months.

## Rent

The rent is 640 pounds a month.

## Animals

Dogs and cats need the consent of the landlord, Ada Morrow.
""",
    title="Lease",
)


@pytest.mark.parametrize(
    ("before", "question", "wanted"),
    [
        ("Can I keep a dog?", "And the deposit?", "The deposit is two months' rent."),
        ("When is the deposit returned?", "What about a cat?", "Dogs and cats"),
        ("Who is the landlord?", "And the deposit?", "The deposit is two months' rent."),
    ],
)
def test_a_follow_up_is_not_answered_with_the_earlier_answer(
    before: str, question: str, wanted: str
) -> None:
    engine = ExtractiveEngine(encoder="none")
    earlier = engine.answer(before, [LEASE]).quotes[0].text
    answer = engine.attempt(question, [LEASE], [Exchange(before)])
    assert answer is not None
    assert wanted in answer.plain
    assert earlier not in answer.plain


def test_more_is_what_was_not_quoted_before() -> None:
    text = (
        "The deposit is 900 pounds. The deposit is returned within six months.\n\n"
        "The landlord may keep a part of the deposit for repairs.\n\n"
        "The rent is 640 pounds a month."
    )
    history: list[Exchange] = []
    answers = []
    for question in ("How much is the deposit?", "Tell me more.", "thanks", "Anything else?"):
        answer = ExtractiveEngine(encoder="none").attempt(question, [Source(text)], history)
        answers.append(None if answer is None else answer.plain)
        history.append(Exchange(question, answers[-1] or ""))
    assert answers == [
        "The deposit is 900 pounds. The deposit is returned within six months.",
        "The landlord may keep a part of the deposit for repairs.",
        None,
        None,
    ]
