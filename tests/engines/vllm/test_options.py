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
    ({"dtype": "int3"}, r"^dtype "),
    ({"constraint": "maybe"}, r"^constraint "),
    ({"context": 1}, r"^context "),
    ({"tensor_parallel_size": 0}, r"^tensor_parallel_size "),
    ({"pipeline_parallel_size": True}, r"^pipeline_parallel_size "),
    ({"data_parallel_size": 0}, r"^data_parallel_size "),
    (
        {"distributed_executor_backend": "mpi"},
        r"^distributed_executor_backend ",
    ),
    (
        {"engine_args": {"data_parallel_size": 2}},
        r"^engine_args ",
    ),
    (
        {"gpu_memory_utilization": 0.0},
        r"^gpu_memory_utilization ",
    ),
    ({"engine_args": [1]}, r"^engine_args "),
    ({"engine_args": {"model": "x"}}, r"^engine_args "),
    (
        {"engine_args": {"max_model_len": 9}},
        r"^engine_args ",
    ),
    ({"engine_args": {"logits_processors": []}}, r"^engine_args "),
    ({"temperature": -1}, r"^temperature "),
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
    with pytest.raises(InputError, match=r"num_beams is not an option"):
        create_engine("vllm:x", {"num_beams": 4})


def test_a_folder_without_weights_is_refused_before_vllm_starts(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"has no weights"):
        load_service(str(tmp_path), VllmOptions())


def test_settings_are_a_value() -> None:
    made = VllmOptions(engine_args={"max_num_seqs": 4}, free="any")
    assert made == VllmOptions(engine_args={"max_num_seqs": 4}, free="any")
    assert made.policy.free == "any"
    assert made.batch_size == 64


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed")
def test_a_missing_vllm_is_named() -> None:
    with pytest.raises(MissingExtraError, match=r"^the engine vllm:x needs .+'\.\[vllm\]'$"):
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
