"""Settings of the engine: what is refused, before anything is loaded."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from semqa import InputError
from semqa.decoding import QuotePolicy
from semqa.engines import create_engine
from semqa.engines.transformers import TransformersOptions

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"dtype": "int3"}, r"^dtype: got 'int3', expected auto, float32, float16, bfloat16; choose"),
    ({"constraint": "maybe"}, r"^constraint: got 'maybe', expected on or off; choose one of them$"),
    ({"max_new_tokens": 0}, r"^max_new_tokens: got 0, expected a whole number from 1; change"),
    ({"batch_size": True}, r"^batch_size: got True, expected a whole number from 1"),
    ({"seed": -1}, r"^seed: got -1, expected a whole number from 0"),
    ({"temperature": -0.1}, r"^temperature: got -0.1, expected a number from 0 to 100; 0 takes"),
    ({"temperature": float("nan")}, r"^temperature: got nan, expected a number from 0"),
    ({"temperature": 1.0, "top_p": 0.0}, r"^top_p: got 0.0, expected a number above 0 to 1"),
    ({"repetition_penalty": "2"}, r"^repetition_penalty: got '2', expected a number from 0.1"),
    ({"num_beams": 2, "temperature": 1.0}, r"^num_beams: got 2 with temperature=1, expected beams"),
    ({"top_k": 5}, r"^top_k: got 5 with temperature=0, expected draws to choose from"),
    ({"top_p": 0.5}, r"^top_p: got 0.5 with temperature=0, expected draws to choose from"),
    (
        {"device": "cpu", "device_map": "auto"},
        r"^device: got 'cpu' with device_map='auto', expected",
    ),
    ({"load_in_8bit": True, "load_in_4bit": True}, r"^load_in_8bit: got it with load_in_4bit"),
    ({"max_words": 0}, r"^max_words: got 0, expected a whole number from 1"),
    ({"boundary": "line"}, r"^boundary: got 'line', expected word or char"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_a_setting_out_of_range_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        create_engine("transformers:no/model", settings)


def test_policy_settings_make_a_policy() -> None:
    options = TransformersOptions(numbers="quoted", max_words=9, quote_bias=1.5)
    assert options.policy == QuotePolicy(numbers="quoted", max_words=9, quote_bias=1.5)
    assert TransformersOptions().policy == QuotePolicy()


@pytest.mark.parametrize("spec", ["transformers", "transformers:", "transformers-3", "vllm:x"])
def test_a_name_without_a_model_is_unknown(spec: str) -> None:
    with pytest.raises(InputError, match=r"^unknown engine: got '.+, transformers:MODEL; "):
        create_engine(spec)


def test_an_option_that_it_does_not_take_is_named() -> None:
    with pytest.raises(
        InputError, match=r"^engine transformers:x does not take the option coverage"
    ):
        create_engine("transformers:x", {"coverage": 0.5})
    with pytest.raises(InputError, match=r"^engine lead-2 does not take the option max-new-tokens"):
        create_engine("lead-2", {"max_new_tokens": 5})


def test_importing_the_engine_loads_no_torch() -> None:
    code = (
        "import sys, semqa.engines.transformers, semqa.engines.registry\n"
        "sys.exit(bool({'torch', 'transformers', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], check=False)
    assert done.returncode == 0
