"""Replies of language models, as they come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.attribution.tofueval.verdicts import (
    parse_points,
    parse_rating,
    parse_topics,
    parse_verdict,
)


@pytest.mark.parametrize(
    "reply",
    [
        "Yes", "yes.", "**Yes**", "Yes, the document says so.", "True", "1", "Consistent",
        "The sentence is consistent with the document.",
        "Explanation: the document says no such thing elsewhere.\nAnswer: Yes",
        "Reasoning: He said 'no'.\nYes", "Final answer: **Yes**", "<label>1</label>",
        '{"explanation": "No doubt.", "answer": "Yes"}', '```json\n{"consistent": true}\n```',
        "There are no inconsistencies.", "It does not contradict the document.",
        "No issues found. The sentence is consistent.", "The document supports the sentence.",
        "Everything in it is mentioned in the document. So it's consistent.",
        "It is not inconsistent with the document.", "Inconsistent: No", '{"inconsistent": false}',
        '{"consistency_label": 1}', "Based on the document, I would say yes.",
        "The sentence accurately reflects the document.", "There are no errors in the sentence.",
        "The document states it. Therefore, the sentence is factually consistent. Yes.",
    ],
)  # fmt: skip
def test_consistent(reply: str) -> None:
    assert parse_verdict(reply) is True


@pytest.mark.parametrize(
    "reply",
    [
        "No", "no.", "*No*", "No, it adds a date.", "FALSE", "0", "Inconsistent", "Not consistent",
        "not factually consistent", "Answer:\nNo", "**Verdict:** Not Supported", "Label: 0",
        "The sentence is not consistent with the document.", "The sentence isn't supported.",
        "Yes, the vote is mentioned, but not its date.\nAnswer: No", "The answer is no.",
        "The document does not mention a vote. Therefore, the sentence is inconsistent.",
        "<answer>no</answer>", '{"answer": "no", "explanation": "yes it does"}',
        "The sentence is partly supported but not consistent with the tone.",
        "Yes/No: No", "### Answer\nNo", "**No** — it adds a date.", '{"inconsistent": true}',
        "Inconsistent: yes", '{"is_consistent": "no"}', '{"hallucination": "yes"}',
        "Based on the document, I would say no.", "Verdict: The sentence contains an error.",
        "Answer - The sentence is not consistent with the document.", "This is a hallucination.",
        "The document does not say that nine attend.", "The sentence misrepresents what Lee said.",
        "None of it is supported.", "The sentence is only partially supported.", "Consistency: mostly consistent", "There is no mention of a vote.", "Is it consistent? No",
        "The sentence cannot be verified from the document.", "It contradicts the document.",
        "Final Answer: The sentence is not consistent.", "Output: (No)", "No evidence of this.",
    ],
)  # fmt: skip
def test_inconsistent(reply: str) -> None:
    assert parse_verdict(reply) is False


@pytest.mark.parametrize(
    "reply",
    ["", "   ", "I cannot tell.", "Noticeably good", "Yesterday it rained.", "?", "[]", "{}"],
)
def test_neither(reply: str) -> None:
    assert parse_verdict(reply) is None


@given(st.text(max_size=80) | st.lists(st.sampled_from(
    ["Answer", ":", " ", "yes", "No", "not", "consistent", "{", "}", "[", '"', "\n", "1", "<answer>", "is", "."]
), max_size=20).map("".join))  # fmt: skip
def test_any_reply_is_read(reply: str) -> None:
    assert parse_verdict(reply) in (True, False, None)
    assert len(parse_points(reply, 3)) == 3
    assert parse_rating(reply) in (None, 1, 2, 3, 4, 5)
    assert len(parse_topics(reply, 2)) <= 2


@pytest.mark.parametrize(
    ("reply", "count", "made"),
    [
        ("1: Yes\n2: No", 2, [True, False]),
        ("1. The vote is on Monday: yes\n2. Nine attend: no", 2, [True, False]),
        ("**1.** Yes\n**3.** No", 3, [True, None, False]),
        ('{"1": "Yes", "2": "No"}', 2, [True, False]),
        ("Point 1 - No, though it says yes later\nPoint 7: Yes", 1, [False]),
        ("Yes", 1, [True]),
        ("Yes to all", 2, [None, None]),
        ("1. Yes 2. No 3. Yes", 3, [True, False, True]),
        ("1. The vote, on Monday at 10: Yes\n2. Nobody said no - no", 2, [True, False]),
        ("1. It is late (yes)\n2. It is not.", 2, [True, None]),
        ("1: Yes, 2: No", 2, [True, False]),
    ],
)
def test_points(reply: str, count: int, made: list[bool | None]) -> None:
    assert parse_points(reply, count) == made


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ("4", 4), ("**5**", 5), ("Score: 3/5", 3), ("2 out of 5", 2), ("Rating: 4. It has 2 parts.", 4),
        ("Relevance is 1", 1), ("", None), ("0", None), ("10", None), ("4.5", None), ("7/10", None),
        ("3 or 4", None), ("4/10", None),
    ],
)  # fmt: skip
def test_ratings(reply: str, rating: int | None) -> None:
    assert parse_rating(reply) == rating


@pytest.mark.parametrize(
    ("reply", "topics"),
    [
        ("1. Rent\n2. Tax\n3. Roads\n4. Schools", ("Rent", "Tax", "Roads")),
        ('Sure:\n- "Rent"\n- **Tax**\n- rent', ("Rent", "Tax")),
        ('["Rent", "Tax"]', ("Rent", "Tax")),
        ('```json\n{"topics": ["Rent", "Tax"]}\n```', ("Rent", "Tax")),
        ("Topic 1: Rent\nTopic 2: Tax", ("Rent", "Tax")),
        ("Rent\n\nTax", ("Rent", "Tax")),
        ("", ()),
    ],
)
def test_topics(reply: str, topics: tuple[str, ...]) -> None:
    assert parse_topics(reply, 3) == topics
