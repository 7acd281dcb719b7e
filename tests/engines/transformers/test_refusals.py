"""Invalid requests, prompts and budgets are rejected before any work is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from semqa import InputError, Source
from semqa.engines import Request, create_engine
from semqa.engines.transformers import TransformersEngine, TransformersOptions
from semqa.engines.transformers.loading import LoadedModel
from semqa.prompting import PromptBuilder
from tests.engines.transformers.tiny_engine import RAIN, REQUESTS, engine
from tests.models import tiny

if TYPE_CHECKING:
    from pathlib import Path


def test_an_overlong_prompt_reports_its_length() -> None:
    made = engine("gpt2", context=1100)
    long = [Source("word for word " * 400)]
    with pytest.raises(InputError, match=r"at most 1,068 fit"):
        made.answer("Who?", long)
    assert made.prompt("Who?", RAIN).text


def test_a_budget_beyond_the_context_is_rejected() -> None:
    with pytest.raises(InputError, match=r"^max_new_tokens "):
        engine("gpt2", max_new_tokens=2048)
    with pytest.raises(InputError, match=r"^max_new_tokens "):
        engine("bart", max_new_tokens=2048)
    assert engine("t5", max_new_tokens=5000).prompt(*REQUESTS[2]).text


def test_a_context_beyond_the_models_positions_is_rejected() -> None:
    for family in ("gpt2", "bart", "bert", "llama-chat"):
        with pytest.raises(InputError, match=r"^context "):
            engine(family, context=5000)
    assert engine("t5", context=5000).prompt(*REQUESTS[2]).text


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
    calls: list[object] = []
    hook = tiny("gpt2").model.register_forward_pre_hook(lambda *_: calls.append(0))
    try:
        with pytest.raises(InputError, match=r"^max_new_tokens must be at least \d+ for these"):
            made.answer_batch([REQUESTS[2], long])
    finally:
        hook.remove()
    assert not calls


def test_a_forced_token_counts_towards_the_budget() -> None:
    with pytest.raises(InputError, match=r"^max_new_tokens must be at least .+ forces 1 more"):
        engine("bart", max_new_tokens=4).answer(*REQUESTS[2])


def test_nothing_is_compiled_for_a_prompt_that_is_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr("semqa.engines.transformers.engine.warm_up", fail)
    made = tiny("gpt2")
    cold = TransformersEngine(
        LoadedModel(made.model, made.tokenizer), TransformersOptions(context=300), warm=False
    )
    monkeypatch.setattr(cold, "_constrain", fail)
    with pytest.raises(InputError, match=r"tokens without exemplars"):
        cold.answer("Who?", [Source("word for word " * 400)])
    with pytest.raises(AssertionError, match="compiled"):
        cold.warm_up()


@pytest.mark.parametrize(
    ("question", "sources", "message"),
    [
        ("Who?", "a string", r"^sources "),
        ("Who?", Source("Rain."), r"^sources "),
        ("Who?", ["a string"], r"^Source 1 must be a Source, got 'a string'"),
        (None, RAIN, r"^question "),
    ],
)
def test_an_invalid_request_is_rejected(question: Any, sources: Any, message: str) -> None:
    for made in (engine("gpt2"), create_engine("extractive"), create_engine("lead-1")):
        with pytest.raises(InputError, match=message):
            made.answer(question, sources)


@pytest.mark.parametrize(("question", "sources"), [(" ", RAIN), ("Who?", ())])
def test_an_empty_request_is_rejected(question: str, sources: tuple[Source, ...]) -> None:
    made = engine("gpt2")
    with pytest.raises(InputError, match=r"blank|At least one source"):
        made.answer_batch([REQUESTS[0], Request(question, sources)])
    with pytest.raises(InputError, match=r"blank|At least one source"):
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
