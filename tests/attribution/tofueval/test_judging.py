"""Topics, summaries and verdicts asked of a judge that can be seen through."""

from __future__ import annotations

from pathlib import Path

from semqa.attribution.judges import Entailment, Pair
from semqa.attribution.prompts import JudgePrompt
from semqa.attribution.tofueval.data import SummaryKey
from semqa.attribution.tofueval.judging import Judged, judge_texts
from tests.attribution.fake_judge import FakeJudge

DOCUMENTS = {"d1": "LEE: Rents rose.\nORTIZ: {{ The mill }} closed.", "d2": "HOST: It rained."}
KEY = SummaryKey("a", "d1", "Rent", "m")
TEXTS = [Judged(KEY, 1, "Rents rose."), Judged(KEY, 2, "Rents fell."), Judged(KEY, 3, "Unclear.")]


def test_whole_summaries_and_prompts_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "own.jinja"
    own.write_text("{{ level }}|{{ topic }}|{{ text }}|{{ document }}", encoding="utf-8")
    judge = FakeJudge(complete=lambda _: "No")
    (found,) = judge_texts(
        [Judged(KEY, None, "All.")], DOCUMENTS, judge, "direct", JudgePrompt.load(own)
    )
    assert judge.asked == [f"summary|Rent|All.|{DOCUMENTS['d1']}"]
    assert found.inconsistent
    assert "sent_idx" not in found.to_dict()


def test_what_is_too_long_costs_itself_alone() -> None:
    def entailment(pair: Pair) -> Entailment:
        inside = pair.hypothesis in pair.premise
        return Entailment(0.9, 0.1, 0.0) if inside else Entailment(0.2, 0.5, 0.3)

    judge = FakeJudge(entailment=entailment, too_long=lambda pair: "Unclear" in pair.hypothesis)
    found = judge_texts(TEXTS, DOCUMENTS, judge, "entailment")
    assert [(each.inconsistent, each.score) for each in found] == [
        (False, 0.9),
        (True, 0.2),
        (None, None),
    ]
