"""Q² with real models of transformers, end to end, and BERTScore with one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from semqa.attribution.judges import CachedJudge, create_judge
from semqa.attribution.q2 import Q2, Response, Settings
from semqa.attribution.q2.baselines import BertScore, baseline_scores
from semqa.attribution.q2.spans import RuleSpans
from semqa.cli.main import app
from semqa.errors import InputError
from tests.attribution.q2 import taught_models as known
from tests.judge_models import save_asker, save_classifier, save_reader

RESPONSES = [
    Response("opened", known.BRIDGE, known.OLD_BRIDGE),
    Response("built", known.TOWER, known.OTHER_TOWER),
    Response("arches", known.ARCHES, known.NO_ARCHES),
    Response("yes", "oh yes", "it rained"),
]


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    parts = known.teach(tmp_path_factory.mktemp("taught"))
    return "transformers:" + ",".join(f"{part}={path}" for part, path in parts.items())


def test_taught_models_say_what_they_were_taught(spec: str, tmp_path: Path) -> None:
    judge = CachedJudge(create_judge(spec, {"device": "cpu"}), tmp_path / "judgements")
    scores = Q2(judge, RuleSpans(), Settings()).score(RESPONSES)
    assert [score.response.id for score in scores] == ["opened", "built", "arches", "yes"]
    found = {
        score.response.id: {
            question.span: (question.text, question.answer and question.answer.text)
            for question in score.valid
        }
        for score in scores
    }
    assert found == {
        "opened": {
            "1932": (known.WHEN, "1932"),
            "the bridge": (known.WHAT, "the old bridge"),
        },
        "built": {"ann": (known.WHO, "bob"), "the tower": (known.BUILT, None)},
        "arches": {"three arches": (known.HAS, None)},
        "yes": {},
    }
    # 1932 is 1932; the old bridge entails the bridge. Bob is not Ann, and nobody answers the rest.
    assert [score.q2 for score in scores] == [1.0, 0.0, 0.0, 0.5]
    assert [score.q2_no_nli for score in scores] == [pytest.approx((1 + 2 / 3) / 2), 0, 0, None]

    asked = judge.asked
    again = CachedJudge(create_judge(spec, {"device": "cpu"}), tmp_path / "judgements")
    assert Q2(again, RuleSpans(), Settings()).score(RESPONSES) == scores
    assert (again.asked, again.kept) == (0, asked + judge.kept)


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
    record = tmp_path / "record.json"
    arguments = ["eval", "q2", str(data), "--judge", f"transformers:nli={nli},qa={qa},qg={qg}"]
    arguments += ["--judge-cache", str(tmp_path / "kept"), "--judge-device", "cpu", "--json"]
    app([*arguments, "--baseline", "nli", "-o", str(record)], standalone_mode=False)
    first = json.loads(capsys.readouterr().out)
    assert first["scores"]["nli"]["n"] == first["scores"]["q2"]["n"] == 2
    app(["eval", "q2", "--rescore", str(record), "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out) == first


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_reader(tmp_path_factory.mktemp("encoder"))


def test_bertscore_is_the_cosine_of_matched_tokens(encoder: Path) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    scorer = BertScore(str(encoder), layers=2)
    response, knowledge = "ann built the bridge", "The Bridge was opened by Ann"
    responses = [Response("1", response, knowledge), Response("2", response, response)]
    found = baseline_scores("bertscore", responses, bertscore=scorer)

    tokenizer, model = AutoTokenizer.from_pretrained(encoder), AutoModel.from_pretrained(encoder)
    with torch.inference_mode():
        sides = []
        for text in (response, knowledge.lower()):
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
            sides.append(torch.nn.functional.normalize(states, dim=-1))
    similarity = sides[0] @ sides[1].T
    # The special tokens at both ends do not count, but can be matched.
    precision, recall = similarity[1:-1].amax(1).mean(), similarity[:, 1:-1].amax(0).mean()
    assert found[0] == pytest.approx(float(2 * precision * recall / (precision + recall)), abs=1e-5)
    assert found[1] == pytest.approx(1.0, abs=1e-5)
    assert not scorer.rescale


def test_bertscore_of_an_unknown_model_needs_a_layer(encoder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--bertscore-layer"):
        BertScore(str(encoder))
    with pytest.raises(InputError, match=r"config\.json is missing"):
        BertScore(str(tmp_path), layers=1).scores(["a"], ["b"])
    assert BertScore().rescale
