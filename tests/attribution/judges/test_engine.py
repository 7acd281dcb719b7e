"""Language models as judges, and what is made of what they say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from semqa.attribution.judges import (
    CachedJudge,
    Entailment,
    Pair,
    Reading,
    Span,
    TooLongError,
    create_judge,
    unless_too_long,
)
from semqa.attribution.judges.engine import EngineJudge


class Scripted:
    """An engine whose model says what it is told to."""

    name = "scripted"

    def __init__(self, replies: Sequence[str]) -> None:
        self.replies = list(replies)
        self.prompts: list[str] = []

    def answer(self, question: str, sources: Any, history: Any = ()) -> Any:
        raise NotImplementedError

    def complete(
        self, prompts: Sequence[str], *, max_new_tokens: int = 256, sample: bool = False
    ) -> list[str]:
        self.prompts += prompts
        return [self.replies.pop(0) for _ in prompts]


def test_what_cannot_be_read_is_neutral_and_counted_again_each_time(tmp_path: Path) -> None:
    """The replies are what is kept: they are read anew, and counted, when a run is resumed."""
    pairs = [Pair("It is red.", f"It is {colour}.") for colour in ("red", "blue", "so")]
    for replies in (["Entailment", "Contradiction", "Who knows"], []):
        cached = CachedJudge(EngineJudge(Scripted(replies), "scripted"), tmp_path)
        judge: Any = cached
        found = judge.entailment(pairs)
        assert found[:2] == [Entailment(1, 0, 0), Entailment(0, 0, 1)]
        assert max(found[2]) == found[2].neutral
        assert cached.unparsed == 1
        cached.close()
    assert (cached.asked, cached.kept) == (0, 3)


def test_prompts_hold_the_texts_as_they_are_and_may_be_ones_own(tmp_path: Path) -> None:
    engine = Scripted(["Ann", "1. Who?\n2. When?\n3. Why?", "Neutral"])
    own = tmp_path / "own.jinja"
    own.write_text("P={{ premise }} H={{ hypothesis }}", encoding="utf-8")
    judge = EngineJudge(engine, "scripted", {"entailment": str(own)})
    text = "{{ 7 * 7 }} Ann </s>"
    assert judge.answer([Reading("Who?", text)]) == [Span("Ann", 12, 15, 1.0)]
    assert judge.ask([("Ann", text)], count=2) == [["Who?", "When?"]]
    judge.entailment([Pair(text, "h")])
    assert all(text in prompt for prompt in engine.prompts)
    assert engine.prompts[2] == f"P={text} H=h"
    assert judge.identity != EngineJudge(engine, "scripted").identity


def test_models_of_one_name_at_two_endpoints_are_two_judges(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = set()
    for number in (1, 2):
        url = f"http://127.0.0.1:{number}/v1"
        monkeypatch.delenv("SEMQA_BASE_URL", raising=False)
        seen.add(create_judge("engine:openai:tiny", {"base_url": url}).identity)
        monkeypatch.setenv("SEMQA_BASE_URL", url)
        seen.add(create_judge("engine:openai:tiny").identity)
    assert len(seen) == 2


def test_a_prompt_that_is_too_long_costs_itself_alone(models: Path, tmp_path: Path) -> None:
    judge = create_judge(f"engine:transformers:{models / 'lm'}", {"device": "cpu"})
    cached: Any = CachedJudge(judge, tmp_path)
    pairs = [Pair("a", "b"), Pair("word " * 3000, "b"), Pair("c", "d")]
    found = unless_too_long(cached.entailment, pairs)
    assert [isinstance(each, TooLongError) for each in found] == [False, True, False]
    cached.close()
