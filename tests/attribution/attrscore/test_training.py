"""Fine-tuning on a toy task: it is learned, killed, gone on with, and judged by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from semqa.attribution.attrscore.examples import Example
from semqa.attribution.attrscore.judging import AttrPrompt, judge_by_entailment, judge_by_prompt
from semqa.attribution.attrscore.options import TrainingOptions
from semqa.attribution.attrscore.training import split_by_question, train
from semqa.attribution.judges import create_judge
from semqa.data.jsonl import write_jsonl
from semqa.errors import InputError
from tests.attribution.attrscore.toy import save_classifier, save_seq2seq, toy_examples
from tests.attribution.commands import command_in


@pytest.fixture(scope="module")
def data() -> tuple[list[Example], list[Example]]:
    examples = toy_examples()
    return examples[:36], examples[36:]


@pytest.fixture(scope="module")
def classifier(
    tmp_path_factory: pytest.TempPathFactory, data: tuple[list[Example], list[Example]]
) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("classifier")
    options = TrainingOptions(
        model=str(save_classifier(folder / "base")),
        epochs=20,
        learning_rate=0.004,
        batch_size=4,
        accumulate=1,
        device="cpu",
    )
    return folder / "out", train(*data, folder / "out", options)


def test_a_classifier_learns_the_task(classifier: tuple[Path, dict[str, Any]]) -> None:
    out, record = classifier
    assert record["kind"] == "classifier"
    assert record["new_head"] is True
    assert [each["step"] for each in record["history"]] == [9 * k for k in range(1, 21)]
    assert record["history"][0]["micro_f1"] < 0.9
    assert record["best"]["micro_f1"] == 1
    # The best is the first of equals, not the last.
    best = next(each for each in record["history"] if each["micro_f1"] == 1)
    assert record["best"] == best
    assert json.loads((out / "training.json").read_text()) == record
    assert json.loads((out / "model/attrscore.json").read_text()) == best
    assert not (out / "checkpoints").exists()
    names = json.loads((out / "model/config.json").read_text())["id2label"]
    assert set(names.values()) == {"attributable", "contradictory", "extrapolatory"}
    assert {"torch", "transformers", "accelerate", "semqa"} <= set(record["versions"])


def test_the_classifier_is_a_judge(
    classifier: tuple[Path, dict[str, Any]], data: tuple[list[Example], list[Example]]
) -> None:
    judge = create_judge(f"transformers:nli={classifier[0] / 'model'}", {"device": "cpu"})
    judged = judge_by_entailment(judge, data[1])
    assert [each.label for each in judged] == [each.label for each in data[1]]


def test_a_seq2seq_model_learns_the_label_words(
    tmp_path: Path, data: tuple[list[Example], list[Example]]
) -> None:
    options = TrainingOptions(
        model=str(save_seq2seq(tmp_path / "base")),
        family="attribution",
        epochs=20,
        learning_rate=0.02,
        accumulate=1,
        device="cpu",
    )
    record = train(*data, tmp_path / "out", options)
    assert record["kind"] == "seq2seq"
    assert record["best"]["micro_f1"] == 1
    judge = create_judge(f"engine:transformers:{tmp_path / 'out/model'}", {"device": "cpu"})
    judged = judge_by_prompt(judge, data[1], AttrPrompt.create("attribution"))
    assert [each.output for each in judged] == [each.label for each in data[1]]


def test_an_entailment_model_keeps_its_last_layer(
    tmp_path: Path,
    data: tuple[list[Example], list[Example]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    base = save_classifier(tmp_path / "base", {0: "contradiction", 1: "ENTAILMENT", 2: "neutral"})
    for name, some in zip(("train.jsonl", "dev.jsonl"), data, strict=True):
        write_jsonl(tmp_path / name, (each.to_dict() for each in some))
    semqa = command_in(tmp_path, monkeypatch, capsys)
    command: tuple[str | Path, ...] = (
        *("eval", "attrscore", "train", "train.jsonl", "--dev", "dev.jsonl", "--model", base),
        *("--max-steps", "1", "--learning-rate", "1e-9", "--device", "cpu", "--out", "out"),
    )
    record = semqa(*command, "--json").json
    assert semqa(*command).out.split()[:3] == ["epoch", "step", "micro-F1"]  # it is finished
    assert record["labels"] == ["contradictory", "attributable", "extrapolatory"]
    assert record["new_head"] is False
    import torch
    from transformers import AutoModelForSequenceClassification

    def head(folder: Path) -> Any:
        return AutoModelForSequenceClassification.from_pretrained(folder).classifier.weight

    assert torch.allclose(head(base), head(tmp_path / "out/model"), atol=1e-6)
    assert len(record["history"]) == 1
    assert record["history"][0]["step"] == 1


def test_no_question_is_on_both_sides_of_a_split() -> None:
    examples = [
        Example(f"{i}", f"Question {i // 3}?", f"a{i}", "r", "Attributable") for i in range(90)
    ]
    training, dev = split_by_question(examples, 0.2, 1)
    assert len(training) + len(dev) == 90
    assert 18 <= len(dev) <= 20
    assert not {e.query for e in training} & {e.query for e in dev}
    assert split_by_question(examples, 0.2, 1) == (training, dev)
    assert split_by_question(examples, 0.2, 2) != (training, dev)
    with pytest.raises(InputError, match="--dev-share"):
        split_by_question(examples[:3], 0.5, 0)


def test_what_cannot_be_trained_is_refused(
    tmp_path: Path, data: tuple[list[Example], list[Example]]
) -> None:
    with pytest.raises(InputError, match="There are"):
        train([], data[1], tmp_path / "out", TrainingOptions(model="m"))
    with pytest.raises(InputError, match="No such folder"):
        train(*data, tmp_path / "out", TrainingOptions(model="./nowhere"))
    base = str(save_classifier(tmp_path / "base"))
    with pytest.raises(InputError, match="The bert"):
        train(*data, tmp_path / "s", TrainingOptions(model=base, kind="seq2seq"))
    with pytest.raises(InputError, match="example x"):
        train([Example("x", "", "a", "r")], data[1], tmp_path / "u", TrainingOptions(model=base))


def test_the_schedule_is_the_papers() -> None:
    """64 examples a step, a cosine after a warm-up of 3% of the steps."""
    from semqa.attribution.attrscore.trainer import warmup_steps

    options = TrainingOptions(model="m")
    assert options.batch_size * options.accumulate == 64
    assert warmup_steps(64 * 100, options) == 9  # of 300
