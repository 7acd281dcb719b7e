"""Models of judges that are on disk, as the Hub's client leaves them, and no network."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from semqa.attribution.attrscore.training import TrainingOptions, load
from semqa.attribution.judges import EntailmentJudge, Pair, create_judge
from tests.judge_models import save_classifier


@pytest.fixture
def cached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The name of a classifier that was downloaded once; the Hub is not reached any more."""
    folder = tmp_path / "hub/models--me--cached"
    commit = "0123456789abcdef0123456789abcdef01234567"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs/main").write_text(commit)
    save_classifier(folder / "snapshots" / commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))

    def unreached(*_: object, **__: object) -> None:
        raise httpx.ConnectError("[Errno -2] Name or service not known")

    monkeypatch.setattr("huggingface_hub.HfApi", lambda: SimpleNamespace(model_info=unreached))
    return "me/cached"


def test_a_judge_loads_without_the_network(cached: str, asked_hosts: list[str]) -> None:
    judge = create_judge(f"transformers:nli={cached}", {"device": "cpu"})
    assert isinstance(judge, EntailmentJudge)
    assert len(judge.entailment([Pair("a", "b")])) == 1
    assert asked_hosts == []


def test_a_model_to_be_trained_loads_without_the_network(
    cached: str, asked_hosts: list[str]
) -> None:
    assert load(TrainingOptions(model=cached)).kind == "classifier"
    assert asked_hosts == []
