"""Q² with real models of transformers, end to end, and BERTScore with one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from semqa.attribution.q2 import Response
from semqa.attribution.q2.baselines import BertScore
from semqa.cli.main import app
from semqa.errors import InputError
from tests.judge_models import save_asker, save_classifier, save_reader


def test_the_command_with_models_that_know_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nli, qa, qg = (tmp_path / part for part in ("nli", "qa", "qg"))
    save_classifier(nli)
    save_reader(qa)
    save_asker(qg)
    data = tmp_path / "responses.csv"
    data.write_text(
        "response,knowledge,label\nAnn built the bridge,The bridge was opened in 1932,1\n"
        "It opened in March 1932,The bridge was opened in 1932,0\n",
        encoding="utf-8",
    )
    arguments = ["eval", "q2", str(data), "--judge", f"transformers:nli={nli},qa={qa},qg={qg}"]
    arguments += ["--judge-cache", str(tmp_path / "kept"), "--judge-device", "cpu", "--json"]
    app([*arguments, "--baseline", "nli"], standalone_mode=False)
    first = json.loads(capsys.readouterr().out)
    assert first["scores"]["nli"]["n"] == 2
    assert first["scores"]["q2"]["n"] in (1, 2)  # a model with random weights may ask nothing valid


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_reader(tmp_path_factory.mktemp("encoder"))


def test_bertscore_of_an_unknown_model_needs_a_layer(encoder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--bertscore-layer"):
        BertScore(str(encoder))
    with pytest.raises(InputError, match=r"config\.json is missing"):
        BertScore(str(tmp_path), layers=1).scores([Response("1", "a", "b")])
    assert BertScore().rescale
