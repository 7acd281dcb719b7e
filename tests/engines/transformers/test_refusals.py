"""Invalid requests, prompts and budgets are rejected before any work is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from semqa import InputError, Source
from semqa.engines import Request
from semqa.prompting import PromptBuilder
from tests.engines.transformers.tiny_engine import RAIN, REQUESTS, engine, passes_of
from tests.models import tiny

if TYPE_CHECKING:
    from pathlib import Path


def test_an_overlong_prompt_reports_its_length() -> None:
    made = engine("gpt2", context=1100)
    long = [Source("word for word " * 400)]
    with pytest.raises(InputError, match=r"at most 1,068 fit"):
        made.answer("Who?", long)
    assert made.prompt("Who?", RAIN).text


def test_prompt_and_budget_fit_into_the_models_positions() -> None:
    for family, option in (
        ("gpt2", "max_new_tokens"),
        ("bart", "max_new_tokens"),
        ("bert", "context"),
    ):
        given: dict[str, Any] = {option: 5000}
        with pytest.raises(InputError, match=f"^{option} "):
            engine(family, **given)
        assert engine("t5", **given).prompt(*REQUESTS[2]).text  # has relative positions


def test_scaled_positions_have_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny("llama-chat").model.config
    for given in (
        {"rope_type": "dynamic", "factor": 4.0},
        {"full_attention": {"rope_type": "yarn"}, "sliding_attention": {"rope_type": "default"}},
    ):
        monkeypatch.setattr(config, "rope_parameters", given)
        assert engine("llama-chat", context=5000).prompt(*REQUESTS[2]).text


def test_a_budget_too_small_for_one_request_raises_before_any_answer() -> None:
    made = engine("gpt2", max_new_tokens=12, batch_size=1)
    assert made.answer(*REQUESTS[2]).quotes
    long = Request("Who?", (Source("Rainandthunderstorms."),))
    with (
        passes_of(tiny("gpt2").model) as passes,
        pytest.raises(InputError, match=r"^max_new_tokens must be at least \d+ for these"),
    ):
        made.answer_batch([REQUESTS[2], long])
    assert not passes


def test_a_forced_token_counts_towards_the_budget() -> None:
    with pytest.raises(InputError, match=r"^max_new_tokens must be at least .+ forces 1 more"):
        engine("bart", max_new_tokens=4).answer(*REQUESTS[2])


@pytest.mark.parametrize(
    ("question", "sources", "message"),
    [(" ", RAIN, "blank"), ("Who?", (), "At least one"), ("Who?", ["text"], "must be Source")],
)
def test_an_invalid_request_is_rejected(question: str, sources: Any, message: str) -> None:
    made = engine("gpt2")
    with pytest.raises(InputError, match=message):
        made.answer_batch([REQUESTS[0], Request(question, sources)])
    with pytest.raises(InputError, match=message):
        next(made.stream(question, sources))


def test_a_prompt_for_citations_needs_the_constraint_off() -> None:
    with pytest.raises(InputError, match=r"alce asks for citations"):
        engine("gpt2", PromptBuilder("alce"))
    made = engine("gpt2", PromptBuilder("alce"), constraint="off")
    assert made.generate(REQUESTS[:1])[0].new_tokens


def test_no_stop_cuts_a_quote_open(tmp_path: Path) -> None:
    template = tmp_path / "own.jinja"
    template.write_text(
        '{#\nsemqa prompt\nstop: [" ]"]\n#}\n{{ question }}{% for s in sources %}{{ s.title }}{{ s.text }}{% endfor %}',
        encoding="utf-8",
    )
    with pytest.raises(InputError, match=r"brackets"):
        engine("gpt2", PromptBuilder(str(template)))
    assert engine("gpt2", PromptBuilder(str(template)), constraint="off").generate(REQUESTS[:1])


def test_a_chat_form_needs_a_template() -> None:
    with pytest.raises(InputError, match=r"^form "):
        engine("gpt2", PromptBuilder(form="chat"))
    assert not engine("llama-chat", PromptBuilder(form="completion")).chat
