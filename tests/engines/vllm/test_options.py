"""What the vLLM engine does with its settings before and when it starts vLLM."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from semqa import InputError
from semqa.engines import create_engine
from semqa.engines.vllm import VllmOptions, service
from semqa.engines.vllm.service import load_service
from semqa.errors import MissingExtraError


def test_a_folder_without_weights_is_rejected_before_vllm_starts(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"has no weights"):
        load_service(str(tmp_path), VllmOptions())


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed")
def test_a_missing_vllm_is_reported() -> None:
    with pytest.raises(MissingExtraError, match=r"^the engine vllm:x needs .+'\.\[vllm\]'$"):
        create_engine("vllm:x", {"constraint": "off"})


def test_engine_arguments_are_passed_to_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def refuse(**arguments: Any) -> None:
        given.update(arguments)
        raise TypeError("far enough")

    fake = SimpleNamespace(AsyncEngineArgs=refuse)
    monkeypatch.setattr(service, "require", lambda *_, **__: fake)
    more = {"pipeline_parallel_size": 2, "distributed_executor_backend": "ray"}
    with pytest.raises(InputError, match="far enough"):
        service._start("folder", VllmOptions(tensor_parallel_size=4, engine_args=more))
    assert {name: given[name] for name in more} == more
    assert given["tensor_parallel_size"] == 4
