"""The form of requests, without vLLM: what is read is what was written, and what is wrong is said."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa import InputError, Source
from semqa.decoding import QuotePolicy
from semqa.decoding.vllm import ConstraintRequest, to_extra_args
from semqa.decoding.vllm.request import check_params

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)


@st.composite
def requests(draw: st.DrawFn) -> ConstraintRequest:
    sources = draw(st.lists(st.builds(Source, TEXTS, TEXTS), min_size=1, max_size=4))
    policy = QuotePolicy(
        boundary=draw(st.sampled_from(["word", "char"])),
        free=draw(st.sampled_from(["glue", "any"])),
        quote_from=draw(st.none() | st.just((1, len(sources)))),
        quote_bias=draw(st.floats(-100, 100)),
    )
    return ConstraintRequest(tuple(sources), policy, draw(TEXTS))


@given(requests())
def test_what_is_written_is_read(request: ConstraintRequest) -> None:
    """And travels as JSON of the types that vLLM lets through."""
    written = to_extra_args(request.sources, request.policy, request.question)
    for value in written.values():
        parts = value if isinstance(value, list) else [value]
        assert all(type(part) in (str, int, float) for part in parts)
    travelled = json.loads(json.dumps(written))
    assert ConstraintRequest.from_extra_args(travelled) == request


@pytest.mark.parametrize("given", [None, {}, {"other": 1, "temperature": "x"}])
def test_requests_of_others(given: dict[str, Any] | None) -> None:
    assert ConstraintRequest.from_extra_args(given) is None


S = {"semqa_sources": ["In 1943."]}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"semqa_sources": []}, "semqa_sources"),
    ({"semqa_sources": "In 1943."}, "semqa_sources"),
    ({"semqa_sources": [1]}, "semqa_sources[0]"),
    ({"semqa_sources": ["a\ud800"]}, "semqa_sources[0]"),
    ({"semqa_sources": ["a"] * 10_001}, "semqa_sources"),
    ({"semqa_sources": ["a" * 4_000_001]}, "semqa_sources"),
    (S | {"semqa_titles": []}, "semqa_titles"),
    (S | {"semqa_question": 3}, "semqa_question"),
    (S | {"semqa_boundary": "line"}, "semqa_boundary"),
    (S | {"semqa_free": 1}, "semqa_free"),
    (S | {"semqa_quote_bias": True}, "semqa_quote_bias"),
    (S | {"semqa_quote_bias": float("nan")}, "semqa_quote_bias"),
    (S | {"semqa_quote_bias": 10**400}, "semqa_quote_bias"),
    (S | {"semqa_quote_from": 1}, "semqa_quote_from"),
    (S | {"semqa_quote_from": [2]}, "semqa_quote_from"),
    (S | {"semqa_quote_from": [0]}, "semqa_quote_from"),
    (S | {"SemQA_free": 1}, "SemQA_free"),
    ({"semqa_question": "Who?"}, "semqa_sources"),
]


@pytest.mark.parametrize(("extra", "field"), WRONG)
def test_the_invalid_key_is_named(extra: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        ConstraintRequest.from_extra_args(extra)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("key", "meant"), [("semqa_source", "semqa_sources"), ("SemQA_free", "semqa_free")]
)
def test_a_misspelt_key_is_corrected(key: str, meant: str) -> None:
    with pytest.raises(InputError, match=rf"Did you mean {meant}\?"):
        ConstraintRequest.from_extra_args(S | {key: ["a"]})


def test_the_size_that_is_allowed_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMQA_VLLM_MAX_SOURCE_BYTES", "6")
    assert ConstraintRequest.from_extra_args({"semqa_sources": ["äöü"]}) is not None
    with pytest.raises(InputError, match="7 bytes of text; at most 6"):
        ConstraintRequest.from_extra_args({"semqa_sources": ["äöü"], "semqa_titles": ["t"]})
    monkeypatch.setenv("SEMQA_VLLM_MAX_SOURCE_BYTES", "4MB")
    with pytest.raises(InputError, match="SEMQA_VLLM_MAX_SOURCE_BYTES must"):
        ConstraintRequest.from_extra_args(S)


DEFAULTS = SimpleNamespace(extra_args=S, stop=[], logit_bias=None, min_tokens=0)


def sampling(**options: Any) -> SimpleNamespace:
    return SimpleNamespace(**(vars(DEFAULTS) | options))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"thinking_token_budget": 5}, "thinking_token_budget"),
        ({"allowed_token_ids": list(range(1000))}, "allowed_token_ids"),
        ({"logit_bias": {7: -1e39}}, "logit_bias"),
        ({"logit_bias": {7: float("nan")}}, "logit_bias"),
        ({"repetition_penalty": 1e38}, "repetition_penalty"),
        ({"extra_args": ["semqa_sources"]}, "extra_args"),
        ({"stop": ["ok", "x]"]}, "stop"),
        ({"stop": [" 1 "]}, "stop"),
        ({"stop": ["x" * 1001]}, "stop"),
        ({"stop": [f"s{n}" for n in range(17)]}, "stop"),
    ],
)
def test_other_parameters(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        check_params(sampling(**options))
    assert caught.value.field == field


@pytest.mark.parametrize("stop", ["2", "7 ", "12", "\n", "2023", ". ", "  "])
def test_stops_that_no_frame_completes(stop: str) -> None:
    assert check_params(sampling(stop=[stop])) is not None


def test_a_number_of_two_digits_needs_ten_sources() -> None:
    ten = sampling(stop=["0"], extra_args={"semqa_sources": ["a"] * 10})
    with pytest.raises(InputError, match="stop must"):
        check_params(ten)
    assert check_params(replace_sources(ten, 9)) is not None


def replace_sources(params: SimpleNamespace, count: int) -> SimpleNamespace:
    return SimpleNamespace(**(vars(params) | {"extra_args": {"semqa_sources": ["a"] * count}}))
