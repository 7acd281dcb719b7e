"""Topics, summaries and verdicts asked of a judge that can be seen through."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from semqa.attribution.judges import Entailment, Pair, TooLongError
from semqa.attribution.prompts import JudgePrompt
from semqa.attribution.tofueval.data import SummaryKey
from semqa.attribution.tofueval.judging import (
    Judged,
    judge_texts,
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
