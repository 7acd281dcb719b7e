"""Settings of the engine: what is refused, before anything is loaded."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
from typing import Any

import pytest

from semqa import InputError
from semqa.decoding import QuotePolicy
from semqa.engines import create_engine
from semqa.engines.transformers import TransformersOptions

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"dtype": "int3"}, r"^dtype "),
    ({"constraint": "maybe"}, r"^constraint "),
    ({"max_new_tokens": 0}, r"^max_new_tokens "),
    ({"batch_size": True}, r"^batch_size "),
    ({"seed": -1}, r"^seed "),
    ({"temperature": -0.1}, r"^temperature "),
    ({"temperature": float("nan")}, r"^temperature "),
    ({"temperature": 10**400}, r"^temperature "),
    ({"temperature": 1.0, "top_p": 0.0}, r"^top_p "),
    ({"repetition_penalty": "2"}, r"^repetition_penalty "),
    ({"num_beams": 2, "temperature": 1.0}, r"^num_beams "),
    ({"top_k": 5}, r"^top_k "),
    ({"top_p": 0.5}, r"^top_p "),
    (
        {"device": "cpu", "device_map": "auto"},
        r"^device ",
    ),
    ({"load_in_8bit": True, "load_in_4bit": True}, r"^load_in_8bit "),
    ({"boundary": "line"}, r"^boundary must be word or char, got 'line'"),
    ({"quote_from": 5}, r"^quote_from must be numbers of sources, such as \(1, 3\), got 5"),
    ({"quote_from": "1,3"}, r"^quote_from must be numbers of sources, .+ got '1,3'"),
    ({"quote_from": (0,)}, r"^quote_from must be whole numbers from 1 on, got 0"),
    ({"quote_from": (True,)}, r"^quote_from must be whole numbers from 1 on, got True"),
    ({"quote_bias": "1"}, r"^quote_bias must be a number from -60,000 to 60,000, got '1'"),
    ({"quote_bias": True}, r"^quote_bias must be a number .+ got True"),
    ({"quote_bias": 1e39}, r"^quote_bias must be a number .+ got 1e\+39"),
    ({"quote_bias": float("inf")}, r"^quote_bias must be a number .+ got inf"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_a_setting_out_of_range_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        create_engine("transformers:no/model", settings)


def test_what_is_no_setting_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(InputError, match=r"^fre is not an option of .* Did you mean free"):
        create_engine("transformers:no/model", {"fre": "any"})


def test_settings_are_a_plain_record() -> None:
    options = TransformersOptions(seed=3)
    assert pickle.loads(pickle.dumps(options)) == options
    assert dataclasses.replace(options, seed=4).seed == 4


@pytest.mark.parametrize("given", [5, "1,3", [1, 0]])
def test_a_policy_refuses_what_are_no_numbers_of_sources(given: Any) -> None:
    with pytest.raises(InputError, match=r"^sources must be "):
        QuotePolicy(sources=given)
    assert QuotePolicy(sources=[3, 1, 3]).sources == (1, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        ("transfomers:My/Model-7B", "transformers:My/Model-7B"),
        ("Transformers:/home/me/model", "transformers:/home/me/model"),
        ("transformers", "transformers:MODEL"),
        ("Lead-3", "lead-3"),
        ("extractve", "extractive"),
    ],
)
def test_a_name_with_a_slip_is_corrected(spec: str, meant: str) -> None:
    with pytest.raises(InputError, match=rf"Unknown engine .+ Did you mean {meant}\?$"):
        create_engine(spec)


def test_policy_settings_make_a_policy() -> None:
    options = TransformersOptions(free="any", quote_bias=1.5)
    assert options.policy == QuotePolicy(free="any", quote_bias=1.5)
    assert TransformersOptions(quote_from=(2, 1, 2)).policy == QuotePolicy(sources=(1, 2))
    assert TransformersOptions().policy == QuotePolicy()


@pytest.mark.parametrize("spec", ["transformers", "transformers:", "transformers-3", "vlm:"])
def test_a_name_without_a_model_is_unknown(spec: str) -> None:
    with pytest.raises(InputError, match=r"^Unknown engine .+(transformers|vllm):MODEL"):
        create_engine(spec)


def test_an_option_that_it_does_not_take_is_named() -> None:
    with pytest.raises(InputError, match=r"coverage is not an option") as info:
        create_engine("transformers:x", {"coverage": 0.5})
    assert "quote_from" in str(info.value)
    assert "say" not in str(info.value), "what commands set is nobody's option"
    with pytest.raises(InputError, match=r"max_new_tokens is not an option"):
        create_engine("lead-2", {"max_new_tokens": 5})


def test_importing_the_engine_loads_no_torch() -> None:
    code = (
        "import sys, semqa.engines.transformers, semqa.engines.registry\n"
        "sys.exit(bool({'torch', 'transformers', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], check=False)
    assert done.returncode == 0
