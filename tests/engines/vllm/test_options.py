"""Settings of the engine for vLLM: what is refused, before anything is loaded."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from semqa import InputError
from semqa.engines import accepted_options, create_engine
from semqa.engines.vllm import VllmOptions, loading
from semqa.engines.vllm.loading import load_service
from semqa.errors import MissingExtraError

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"dtype": "int3"}, r"^dtype: got 'int3', expected auto, float32, float16, bfloat16; choose"),
    ({"constraint": "maybe"}, r"^constraint: got 'maybe', expected on or off; choose one of them$"),
    ({"context": 1}, r"^context: got 1, expected a whole number from 2"),
    ({"tensor_parallel_size": 0}, r"^tensor_parallel_size: got 0, expected a whole number from 1"),
    ({"pipeline_parallel_size": True}, r"^pipeline_parallel_size: got True, expected a whole"),
    ({"data_parallel_size": 0}, r"^data_parallel_size: got 0, expected a whole number from 1"),
    (
        {"distributed_executor_backend": "mpi"},
        r"^distributed_executor_backend: got 'mpi', expected mp, ray; choose one of them, or",
    ),
    (
        {"engine_args": {"data_parallel_size": 2}},
        r"^engine_args: got data_parallel_size, .+ setting data_parallel_size$",
    ),
    (
        {"gpu_memory_utilization": 0.0},
        r"^gpu_memory_utilization: got 0.0, expected .+ above 0 to 1",
    ),
    ({"engine_args": [1]}, r"^engine_args: got \[1\], expected arguments of vLLM by name, such as"),
    ({"engine_args": {"model": "x"}}, r"^engine_args: got model, .+ set itself; leave it out$"),
    (
        {"engine_args": {"max_model_len": 9}},
        r"^engine_args: got max_model_len, .+ setting context$",
    ),
    ({"engine_args": {"logits_processors": []}}, r"^engine_args: got logits_processors, expected"),
    ({"temperature": -1}, r"^temperature: got -1, expected a number from 0 to 100"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_a_setting_out_of_range_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        create_engine("vllm:no/model", settings)


def test_beams_are_no_option_for_vllm_drops_what_a_request_brings_there() -> None:
    accepted = accepted_options("vllm:no/model")
    assert accepted is not None
    assert {"constraint", "prompts", "tensor_parallel_size", "quote_from"} <= set(accepted)
    assert "num_beams" not in accepted
    with pytest.raises(InputError, match=r"^engine vllm:x does not take the option num_beams"):
        create_engine("vllm:x", {"num_beams": 4})


def test_a_folder_without_weights_is_refused_before_vllm_starts(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"^model .+: no weights in this folder: got no file "):
        load_service(str(tmp_path), VllmOptions())


def test_settings_are_a_value() -> None:
    made = VllmOptions(engine_args={"max_num_seqs": 4}, free="any")
    assert made == VllmOptions(engine_args={"max_num_seqs": 4}, free="any")
    assert made.policy.free == "any"
    assert made.batch_size == 64


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed")
def test_a_missing_vllm_is_named() -> None:
    with pytest.raises(MissingExtraError, match=r"^the engine vllm:x needs .+ -e '\.\[vllm\]'$"):
        create_engine("vllm:x", {"constraint": "off"})


def test_importing_the_engine_loads_nothing_heavy() -> None:
    code = (
        "import sys, semqa.engines.vllm, semqa.engines.registry\n"
        "sys.exit(bool({'torch', 'transformers', 'numba', 'vllm'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], check=False)
    assert done.returncode == 0


def test_what_vllm_is_given_for_several_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def refuse(**arguments: Any) -> None:
        given.update(arguments)
        raise TypeError("far enough")

    fake = SimpleNamespace(AsyncEngineArgs=refuse)
    monkeypatch.setattr(loading, "require", lambda *_, **__: fake)
    spread = {
        "tensor_parallel_size": 4,
        "pipeline_parallel_size": 2,
        "data_parallel_size": 3,
        "distributed_executor_backend": "ray",
    }
    with pytest.raises(InputError, match="far enough"):
        loading._start("folder", VllmOptions(**spread))  # type: ignore[arg-type]  # mixed values
    assert {name: given[name] for name in spread} == spread
    given.clear()
    with pytest.raises(InputError, match="far enough"):
        loading._start("folder", VllmOptions())
    assert "distributed_executor_backend" not in given  # vLLM chooses
    assert given["data_parallel_size"] == 1
