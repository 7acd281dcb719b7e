"""The judge without a model answers every prompt of semqa in the prompt's own form."""

from __future__ import annotations

import pytest

from semqa.attribution.attrscore.family import FAMILIES
from semqa.attribution.judges.lexical import LexicalJudge
from semqa.attribution.prompts import JudgePrompt
from semqa.attribution.tofueval.taxonomy import ERROR_TYPES

DOCUMENT = (
    "LEE: The bridge plan is ready. The bridge plan costs two million.\n"
    "ORTIZ: I think the water tax is too high.\n\n"
    "LEE: The water tax pays for schools, and the bridge plan does not."
)
JUDGE = LexicalJudge()


def reply(prompt: str, **values: object) -> str:
    (text,) = JUDGE.complete([JudgePrompt.load(prompt).fill(document=DOCUMENT, **values)])
    return text


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("shots", [0, 1])
def test_attrscore(name: str, shots: int) -> None:
    family = FAMILIES[name]
    words = {
        "attributable": family.word("Attributable"),
        "extrapolatory": family.word("Extrapolatory"),
        "contradictory": family.word("Contradictory"),
    }
    exemplar = {"claim": "It is red.", "reference": "It is blue.", "word": "x", "why": ""}
    for claim, label in (
        ("The bridge plan costs two million.", "attributable"),
        ("The bridge plan costs three million.", "contradictory"),
        ("Whales sing in winter.", "extrapolatory"),
    ):
        values = {"words": words, "exemplars": [exemplar] * shots, "claim": claim}
        assert reply(family.prompt, **values, reference=DOCUMENT) == words[label]


@pytest.mark.parametrize("name", ["tofueval-judge", "tofueval-judge-explained"])
@pytest.mark.parametrize("level", ["sentence", "summary"])
def test_tofueval_verdicts(name: str, level: str) -> None:
    for text, verdict in (
        ("The water tax pays for schools.", "Yes"),
        ("The water tax pays for roads and hospitals.", "No"),
    ):
        assert reply(name, topic="water tax", text=text, level=level) == verdict


def test_topics_and_summaries_are_the_documents_own_words() -> None:
    topics = reply("tofueval-topics", count=2).splitlines()
    assert topics == ["1. bridge plan", "2. water tax"]
    for words in (12, 40):
        text = reply("tofueval-summary", topic="water tax", words=words)
        assert 0 < len(text.split()) < words
        assert "water tax" in text
        assert "Write the summary" not in text


def test_key_points_relevance_and_error_types() -> None:
    summary = "The water tax pays for schools. Bob left."
    points = ["The water tax pays for schools", "The bridge is red"]
    assert reply("tofueval-key-points", topic="tax", text=summary, points=points) == "1: Yes\n2: No"
    assert reply("tofueval-relevance", topic="water tax", text=summary) == "3"
    for text, expected in (
        ("The water tax does not pay for schools.", "Contradiction"),
        ("Nine members attended.", "Extrinsic Information"),
    ):
        assert reply("tofueval-error-types", text=text, types=ERROR_TYPES) == expected


def test_a_clause_that_is_about_something_else_denies_nothing() -> None:
    from semqa.attribution.judges import Pair

    premise = "The water tax pays for schools, and the bridge plan does not."
    claims = (
        "The water tax pays for schools.",
        "The bridge plan does not pay for schools.",
        "I am not sure, but the water tax pays for schools.",
        "The water tax does not pay for schools.",
    )
    found = JUDGE.entailment([Pair(premise, claim) for claim in claims])
    assert [each.entailed for each in found] == [True, True, True, False]
    assert found[3].contradiction > 0.5
