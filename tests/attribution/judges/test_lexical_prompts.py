"""The judge without a model answers every prompt of semqa in the prompt's own form."""

from __future__ import annotations

import pytest

from semqa.attribution.attrscore.labels import FAMILIES
from semqa.attribution.judges.lexical import LexicalJudge
from semqa.attribution.prompts import JudgePrompt
from semqa.errors import InputError

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


def test_it_is_no_language_model() -> None:
    for name, values in (
        ("tofueval-topics", {"count": 2}),
        ("tofueval-summary", {"topic": "water tax", "words": 12}),
        ("tofueval-relevance", {"topic": "water tax", "text": "Bob left."}),
    ):
        with pytest.raises(InputError):
            reply(name, **values)


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
