"""Settings of the engine: invalid ones are rejected before anything is loaded."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from semqa import InputError
from semqa.engines import create_engine

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
    ({"device": "cpu", "device_map": "auto"}, r"^device "),
    ({"load_in_8bit": True, "load_in_4bit": True}, r"^load_in_8bit "),
    ({"boundary": "line"}, r"^boundary must be word or char, got 'line'"),
    ({"quote_from": 5}, r"^quote_from must be source numbers such as 1,3, got 5"),
    ({"quote_bias": 1e39}, r"^quote_bias must be a number from -60,000 to 60,000, got 1e\+39"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_a_setting_out_of_range_is_rejected(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        create_engine("transformers:no/model", settings)


def test_an_unknown_setting_is_rejected_with_a_suggestion() -> None:
    with pytest.raises(InputError, match=r"^fre is not an option of .* Did you mean free"):
        create_engine("transformers:no/model", {"fre": "any"})


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        ("transfomers:My/Model-7B", "transformers:My/Model-7B"),
        ("transformers", "transformers:MODEL"),
        ("Lead-3", "lead-3"),
    ],
)
def test_a_misspelt_name_gets_a_suggestion(spec: str, meant: str) -> None:
    with pytest.raises(InputError, match=rf"Unknown engine .+ Did you mean {meant}\?$"):
        create_engine(spec)


@pytest.mark.parametrize("spec", ["transformers", "transformers:", "transformers-3", "vlm:"])
def test_a_name_without_a_model_is_unknown(spec: str) -> None:
    with pytest.raises(InputError, match=r"^Unknown engine .+(transformers|vllm):MODEL"):
        create_engine(spec)


def test_an_unsupported_option_is_reported() -> None:
    with pytest.raises(InputError, match=r"coverage is not an option") as info:
        create_engine("transformers:x", {"coverage": 0.5})
    assert "quote_from" in str(info.value)
    assert "say" not in str(info.value), "what commands set is nobody's option"
    with pytest.raises(InputError, match=r"max_new_tokens is not an option"):
        create_engine("lead-2", {"max_new_tokens": 5})


def test_importing_engines_and_requests_loads_nothing_heavy() -> None:
    code = (
        "import sys, semqa.engines.transformers, semqa.engines.vllm, semqa.engines.registry\n"
        "import semqa.decoding.vllm.request, semqa.decoding.vocabulary, semqa.decoding.tokenizers\n"
        "heavy = {'torch', 'transformers', 'numba', 'vllm', 'tokenizers', 'tiktoken'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True)
