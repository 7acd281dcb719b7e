"""Batches: padding, packing, and splitting to fit into memory."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    MistralConfig,
    MistralForCausalLM,
)

from semqa.data.quotesum import Question
from semqa.errors import InputError
from semqa.training import trainer
from semqa.training.examples import IGNORED, pack, unpack
from semqa.training.folder import Fit, Progress
from semqa.training.train import train
from semqa.training.trainer import Padding
from tests.training.toy import BRIEF, DECODER, options


def examples() -> list[dict[str, list[int]]]:
    """Prompts and answers of different lengths."""
    draws = torch.Generator().manual_seed(0)
    found = []
    for prompt, answer in ((9, 4), (3, 7), (20, 2), (5, 1)):
        ids = torch.randint(10, 200, (prompt + answer,), generator=draws).tolist()
        found.append({"input_ids": ids, "labels": [IGNORED] * prompt + ids[prompt:]})
    return found


def with_other_answers(example: dict[str, list[int]]) -> list[dict[str, list[int]]]:
    """The same prompt with the answer reversed, and with only its first token."""
    size = example["labels"].count(IGNORED)
    prompt, answer = example["input_ids"][:size], example["input_ids"][size:]
    return [
        {"input_ids": prompt + other, "labels": [IGNORED] * size + other}
        for other in (answer[::-1], answer[:1])
    ]


@pytest.mark.parametrize("kind", ["chat", "gpt2"])
def test_padding_and_packing_do_not_change_the_loss(kind: str, folder: Path) -> None:
    """GPT-2 has learned positions, so padding must not shift the position of a token."""
    torch.manual_seed(0)
    small = GPT2Config(vocab_size=300, n_positions=64, n_embd=32, n_layer=2, n_head=2)
    model: Any = GPT2LMHeadModel(small)
    if kind == "chat":
        model = AutoModelForCausalLM.from_pretrained(folder / "chat")
    model.eval()
    total, count = torch.zeros(()), 0
    for each in examples():
        logits = model(input_ids=torch.tensor([each["input_ids"]])).logits[0, :-1]
        labels = torch.tensor(each["labels"][1:])
        total += torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
        count += int((labels != IGNORED).sum())
    names = signature(model.forward).parameters
    rows = examples()
    several = [other for each in rows for other in (each, *with_other_answers(each))]
    packed = pack(several, 25)
    assert [len(unpack(each)) for each in packed] == [3, 3, 2, 1, 3]
    assert [row for each in packed for row in unpack(each)] == several
    padding = Padding(0, names, is_encoder_decoder=False)
    torch.testing.assert_close(model(**padding(packed)).loss, model(**padding(several)).loss)
    for known in (names, set(names) - {"logits_to_keep"}):
        batch = Padding(0, known, is_encoder_decoder=False)(examples())
        found = model(**batch)
        assert found.logits.shape[1] == (8 if known is names else 22)
        torch.testing.assert_close(found.loss, total / count)


def test_the_micro_batch_fits_into_memory(
    folder: Path, tmp_path: Path, questions: list[Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Fit] = []
    wanted = options(folder, "t5", **{**BRIEF, "max_steps": 1})
    progress = Progress(on_fit=lambda each, _: found.append(each))

    def run(free: int) -> Fit:
        monkeypatch.setattr(trainer, "free_memory", lambda _: free)
        train(questions, questions[:1], tmp_path / str(free), wanted, progress=progress)
        return found[-1]

    much = run(10**10)
    assert much.micro_batch == 10
    less = run(much.needed)
    assert less.micro_batch in (1, 2, 5)
    assert less.needed < 0.8 * much.needed
    with pytest.raises(InputError, match="does not fit into memory"):
        run(much.needed // 100)
    assert not (tmp_path / str(much.needed // 100) / "plan.json").exists()


def test_packing_is_rejected_for_models_that_ignore_the_mask(
    folder: Path, tmp_path: Path, questions: list[Question]
) -> None:
    twice = [replace(each, references=each.references * 2) for each in questions]
    brief = {**DECODER, "max_steps": 1, "pack": True, "constraint": "off", "bf16": True}
    record = train(twice, questions[:1], tmp_path / "chat", options(folder, "chat", **brief))
    assert record["examples"] == len(questions)
    config = MistralConfig(
        vocab_size=500,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        sliding_window=4,
    )
    MistralForCausalLM(config).save_pretrained(tmp_path / "window")
    AutoTokenizer.from_pretrained(folder / "chat").save_pretrained(tmp_path / "window")
    for model in (folder / "t5", tmp_path / "window"):
        wanted = replace(options(folder, "chat", **brief), model=str(model))
        with pytest.raises(InputError, match="pack"):
            train(twice, questions[:1], tmp_path / "out", wanted)
