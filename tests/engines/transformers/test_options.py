"""Settings of the engines with a local model: invalid ones are rejected before anything is loaded."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from semqa import InputError
from semqa.engines import create_engine

TRANSFORMERS: list[dict[str, Any]] = [
    {"dtype": "int3"},
    {"max_new_tokens": 0},
    {"temperature": float("nan")},
    {"repetition_penalty": "2"},
    {"num_beams": 2, "temperature": 1.0},
    {"top_k": 5},
    {"device": "cpu", "device_map": "auto"},
    {"load_in_8bit": True, "load_in_4bit": True},
    {"boundary": "line"},
    {"quote_from": 5},
]
VLLM: list[dict[str, Any]] = [
    {"constraint": "maybe"},
    {"context": 1},
    {"tensor_parallel_size": 0},
    {"engine_args": [1]},
    {"engine_args": {"model": "x"}},
    {"engine_args": {"max_model_len": 9}},
    {"engine_args": {"tensor_parallel_size": 2}},
]


@pytest.mark.parametrize(
    ("engine", "settings"),
    [*(("transformers", each) for each in TRANSFORMERS), *(("vllm", each) for each in VLLM)],
    ids=str,
)
def test_a_setting_out_of_range_is_rejected(engine: str, settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"^{next(iter(settings))} "):
        create_engine(f"{engine}:no/model", settings)


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


def test_importing_engines_and_requests_loads_nothing_heavy() -> None:
    code = (
        "import sys, semqa.engines.transformers, semqa.engines.vllm, semqa.engines.registry\n"
        "import semqa.decoding.vllm.request, semqa.decoding.vocabulary, semqa.decoding.tokenizers\n"
        "heavy = {'torch', 'transformers', 'numba', 'vllm', 'tokenizers', 'tiktoken'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True)
