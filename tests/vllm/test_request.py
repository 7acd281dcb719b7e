"""The form of requests, without vLLM: what is read is what was written, and what is wrong is said."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa import InputError, Source
from semqa.decoding import QuotePolicy
from semqa.decoding.vllm import ConstraintRequest, to_extra_args
from semqa.decoding.vllm.admission import check_params

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)


@st.composite
def requests(draw: st.DrawFn) -> ConstraintRequest:
    sources = draw(st.lists(st.builds(Source, TEXTS, TEXTS), min_size=1, max_size=4))
    policy = QuotePolicy(
        boundary=draw(st.sampled_from(["word", "char"])),
        free=draw(st.sampled_from(["glue", "any"])),
        sources=draw(st.none() | st.just((1, len(sources)))),
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
    ({"semqa_sources": []}, "semqa_sources: got 0, expected 1 to 10,000"),
    ({"semqa_sources": "In 1943."}, "semqa_sources: got str 'In 1943.', expected a list of texts"),
    ({"semqa_sources": [1]}, r"semqa_sources\[0\]: got int 1, expected a text"),
    ({"semqa_sources": [None]}, r"semqa_sources\[0\]: got NoneType None, expected a text"),
    ({"semqa_sources": {"a": 1}}, "semqa_sources: got dict, expected a list"),
    ({"semqa_sources": ["a\ud800"]}, r"semqa_sources\[0\]: got half of a surrogate pair at char"),
    ({"semqa_sources": ["a"] * 10_001}, "semqa_sources: got 10,001, expected 1 to 10,000"),
    ({"semqa_sources": ["a" * 4_000_001]}, "got 4,000,001 bytes .+ raise SEMQA_VLLM_MAX_SOURCE"),
    (S | {"semqa_titles": []}, "semqa_titles: got 0, expected 1, one for each source"),
    (S | {"semqa_titles": "t"}, "semqa_titles: got str 't', expected a list of texts"),
    (S | {"semqa_question": 3}, "semqa_question: got int 3, expected a text"),
    (S | {"semqa_boundary": "line"}, "semqa_boundary must be 'word' or 'char', got 'line'"),
    (S | {"semqa_free": 1}, "semqa_free: got int 1, expected a text"),
    (S | {"semqa_quote_bias": True}, "semqa_quote_bias: got bool True, expected a number"),
    (S | {"semqa_quote_from": [1.0]}, "semqa_quote_from must be whole numbers from 1 on, got 1.0"),
    (S | {"semqa_quote_bias": "3"}, "semqa_quote_bias: got str '3', expected a number"),
    (S | {"semqa_quote_bias": float("nan")}, "semqa_quote_bias must be a number .+ got nan"),
    (S | {"semqa_quote_bias": 10**400}, "semqa_quote_bias must be a number .+ got 1000"),
    (S | {"semqa_quote_from": 1}, "semqa_quote_from: got int 1, expected a list of numbers"),
    (S | {"semqa_quote_from": []}, "semqa_quote_from: got an empty list"),
    (S | {"semqa_quote_from": ["1"]}, "semqa_quote_from must be whole numbers from 1 on, got '1'"),
    (S | {"semqa_quote_from": [2]}, "semqa_quote_from: got 2, expected numbers from 1 to 1"),
    (S | {"semqa_quote_from": [0]}, "semqa_quote_from must be whole numbers from 1 on, got 0"),
    (S | {"semqa_source": ["a"]}, "got 'semqa_source', .+; write semqa_sources"),
    (S | {"semqa_zzz": 1}, "got 'semqa_zzz', expected one of .+; leave it out"),
    (S | {"SemQA_free": 1}, "got 'SemQA_free', .+; write semqa_free"),
    ({"semqa_question": "Who?"}, "semqa_sources: got none with semqa_question, expected a list"),
]


@pytest.mark.parametrize(("extra", "message"), WRONG)
def test_what_is_wrong_is_told(extra: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ConstraintRequest.from_extra_args(extra)


def test_messages_are_short_whatever_was_sent() -> None:
    with pytest.raises(InputError) as caught:
        ConstraintRequest.from_extra_args({"semqa_sources": "x" * 100_000})
    assert len(str(caught.value)) < 300


def test_the_size_that_is_allowed_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMQA_VLLM_MAX_SOURCE_BYTES", "6")
    assert ConstraintRequest.from_extra_args({"semqa_sources": ["äöü"]}) is not None
    with pytest.raises(InputError, match="got 7 bytes of text in all, expected at most 6"):
        ConstraintRequest.from_extra_args({"semqa_sources": ["äöü"], "semqa_titles": ["t"]})
    monkeypatch.setenv("SEMQA_VLLM_MAX_SOURCE_BYTES", "4MB")
    with pytest.raises(
        InputError, match="SEMQA_VLLM_MAX_SOURCE_BYTES: got '4MB', expected a whole"
    ):
        ConstraintRequest.from_extra_args(S)


DEFAULTS = SimpleNamespace(extra_args=S, stop=[], logit_bias=None, min_tokens=0)


def sampling(**options: Any) -> SimpleNamespace:
    return SimpleNamespace(**(vars(DEFAULTS) | options))


def test_checking_changes_nothing() -> None:
    extra = to_extra_args([Source("In 1943.", "Title")], QuotePolicy(sources=(1,)), "When?")
    before = json.dumps(extra)
    first, second = (
        check_params(sampling(extra_args=extra)),
        check_params(sampling(extra_args=extra)),
    )
    assert first == second
    assert json.dumps(extra) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"thinking_token_budget": 5}, "thinking_token_budget: got 5 with semqa_sources"),
        ({"repetition_detection": object()}, "repetition_detection: got"),
        ({"trace_decode_token_ids": [4]}, r"trace_decode_token_ids: got \[4\]"),
        ({"allowed_token_ids": list(range(1000))}, "allowed_token_ids: got list with"),
        ({"logit_bias": {7: -1e39}}, "logit_bias: got -1e\\+39 for token 7"),
        ({"logit_bias": {7: float("nan")}}, "logit_bias: got nan for token 7"),
        ({"repetition_penalty": 1e38}, "repetition_penalty: got 1e\\+38 with"),
        ({"repetition_penalty": 1e-38}, "repetition_penalty: got 1e-38 with"),
        ({"extra_args": ["semqa_sources"]}, "extra_args: got list, expected keys and values"),
        ({"stop": ["ok", "x]"]}, "stop: got 'x]' with"),
        ({"stop": [" 1 "]}, "stop: got ' 1 ' with"),
        ({"stop": ["x" * 1001]}, "stop: got a text of 1,001 characters"),
        ({"stop": [f"s{n}" for n in range(17)]}, "stop: got 17 texts"),
    ],
)
def test_other_parameters(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_params(sampling(**options))


@pytest.mark.parametrize("stop", ["2", "7 ", "12", "\n", "2023", ". ", "  "])
def test_stops_that_no_frame_completes(stop: str) -> None:
    assert check_params(sampling(stop=[stop])) is not None


def test_a_number_of_two_digits_needs_ten_sources() -> None:
    ten = sampling(stop=["0"], extra_args={"semqa_sources": ["a"] * 10})
    with pytest.raises(InputError, match="stop: got '0'"):
        check_params(ten)
    assert check_params(replace_sources(ten, 9)) is not None


def replace_sources(params: SimpleNamespace, count: int) -> SimpleNamespace:
    return SimpleNamespace(**(vars(params) | {"extra_args": {"semqa_sources": ["a"] * count}}))


def test_the_form_loads_nothing_heavy() -> None:
    program = (
        "import sys, semqa.decoding.vllm as v, semqa.decoding.vllm.admission\n"
        "print([m for m in ('vllm', 'torch', 'numba', 'transformers') if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, check=True, encoding="utf-8"
    )
    assert done.stdout.strip() == "[]"


def test_policies_have_a_key_for_each_setting() -> None:
    policy = QuotePolicy(free="any", boundary="char", sources=(1,), quote_bias=2.0)
    written = to_extra_args([Source("a")], policy)
    assert written["semqa_quote_from"] == [1]
    read = ConstraintRequest.from_extra_args(written)
    assert read is not None
    assert read.policy == policy
