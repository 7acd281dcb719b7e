"""Topics, summaries and verdicts asked of a judge that can be seen through."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from semqa.attribution.judges import Entailment, Pair, TooLongError
from semqa.attribution.prompts import JudgePrompt
from semqa.attribution.tofueval.data import SummaryKey
from semqa.attribution.tofueval.judging import (
    Judged,
    completeness,
    judge_coverage,
    judge_texts,
    mean_completeness,
)

DOCUMENTS = {"d1": "LEE: Rents rose.\nORTIZ: {{ The mill }} closed.", "d2": "HOST: It rained."}
KEY = SummaryKey("a", "d1", "Rent", "m")
TEXTS = [Judged(KEY, 1, "Rents rose."), Judged(KEY, 2, "Rents fell."), Judged(KEY, 3, "Unclear.")]


class Scripted:
    """Says what is written for the first key that a prompt holds; entails what the premise holds."""

    name = identity = "scripted"

    def __init__(self, **said: str) -> None:
        self.said = said
        self.prompts: list[str] = []

    def complete(self, prompts: Sequence[str], **_: object) -> list[str]:
        self.prompts += prompts
        return [next((v for k, v in self.said.items() if k in p), "Hm.") for p in prompts]

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        return [
            Entailment(0.9, 0.1, 0.0) if hypothesis in premise else Entailment(0.2, 0.5, 0.3)
            for premise, hypothesis in pairs
        ]


class Mute:
    """A judge that can do nothing."""

    name = identity = "mute"


def test_verdicts_are_asked_for() -> None:
    judge = Scripted(
        **{"Rents fell": "They rose.\nAnswer: No", "Unclear": "Who knows", "Rents": "Yes"}
    )
    found = judge_texts(TEXTS, DOCUMENTS, judge, "explained")
    assert [each.inconsistent for each in found] == [False, True, None]
    assert [each.to_dict()["label"] for each in found] == ["yes", "no", None]
    # The document is a value: nothing in it is read as a template.
    assert all("{{ The mill }} closed." in prompt for prompt in judge.prompts)
    assert all("sentence" in prompt for prompt in judge.prompts)
    # The verdict comes first, as in the paper.
    assert judge.prompts[0].index("Answer: Yes") < judge.prompts[0].index("explain it")


def test_whole_summaries_and_prompts_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "own.jinja"
    own.write_text("{{ level }}|{{ topic }}|{{ text }}|{{ document }}", encoding="utf-8")
    judge = Scripted(summary="No")
    (found,) = judge_texts(
        [Judged(KEY, None, "All.")], DOCUMENTS, judge, "direct", JudgePrompt.load(own)
    )
    assert judge.prompts == [f"summary|Rent|All.|{DOCUMENTS['d1']}"]
    assert found.inconsistent
    assert "sent_idx" not in found.to_dict()


def test_key_points_are_made_where_they_are_entailed() -> None:
    other, bare = KEY._replace(model="n"), KEY._replace(topic="Tax")
    summaries = [
        Judged(KEY, None, "Rents rose. It rained."),
        Judged(other, None, "It rained."),
        Judged(bare, None, "No."),
    ]
    points = {KEY: ("Rents rose.", "It rained."), other: ("Rents rose.", "It rained."), bare: ()}
    found = judge_coverage(summaries, points, Scripted())
    assert found == [(True, True), (False, True), ()]
    scores = [completeness(made) for made in found]
    assert [score.value for score in scores] == [1, 0.5, None]
    assert mean_completeness(scores).value == 0.75


def test_what_is_too_long_costs_itself_alone() -> None:
    class Narrow(Scripted):
        def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
            if any("Unclear" in pair.hypothesis for pair in pairs):
                raise TooLongError("too long")
            return super().entailment(pairs)

    found = judge_texts(TEXTS, DOCUMENTS, Narrow(), "entailment")
    assert [(each.inconsistent, each.score) for each in found] == [
        (False, 0.9),
        (True, 0.2),
        (None, None),
    ]
