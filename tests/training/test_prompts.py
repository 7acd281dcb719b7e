"""The token ids of prompts are the same in training and in inference."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from semqa.data.quotesum import Question, Reference
from semqa.engines.model.text import PromptEncoder
from semqa.engines.transformers import TransformersEngine, TransformersOptions
from semqa.engines.transformers.loading import LoadedModel
from semqa.errors import InputError
from semqa.prompting import Exemplar, PromptBuilder
from semqa.quotes import Source
from semqa.retrieval.exemplars import ExemplarPool, FixedExemplars
from semqa.training.examples import IGNORED, encode
from semqa.training.train import train
from tests.attribution.commands import command_in
from tests.effort import effort
from tests.models import tiny
from tests.training.toy import DECODER, options, semqa_of

MISTRAL = (
    "<s>{% for message in messages %}{% if message['role'] == 'user' %}[INST] "
    "{{ message['content'] }} [/INST]{% elif message['role'] == 'system' %}"
    "{{ raise_exception('no system') }}{% else %} {{ message['content'] }}</s>{% endif %}{% endfor %}"
)
FAMILIES = ("gpt2", "llama-chat", "llama-sentencepiece", "sentencepiece-chat", "t5", "bart")
POOL = ExemplarPool(
    [
        Exemplar(f"Who was {i}?", (Source(f"It was Ann {i}. " * i),), f"[ 1 Ann {i} ]", qid=f"e{i}")
        for i in range(1, 6)
    ]
)


@cache
def model(family: str) -> LoadedModel:
    if family != "sentencepiece-chat":
        made = tiny(family)
        return LoadedModel(made.model, made.tokenizer)
    made = tiny("llama-sentencepiece")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made.tokenizer.backend_tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        bos_token="<s>",
        unk_token="<unk>",
        chat_template=MISTRAL,
        clean_up_tokenization_spaces=False,
    )
    return LoadedModel(made.model, tokenizer)


@settings(max_examples=effort(15))
@given(
    st.sampled_from(FAMILIES),
    st.sampled_from(["zero-shot", "qsum"]),
    st.integers(0, 5),
    st.sampled_from(["auto", "completion"]),
    st.lists(st.sampled_from(["Ann", "</s>", " <|user|>", "[INST]", "é ", "\n", "1"]), max_size=6),
)
@example("sentencepiece-chat", "qsum", 5, "auto", ["</s>"])
@example("gpt2", "qsum", 5, "auto", [])
def test_training_prompts_equal_inference_prompts(
    family: str, template: str, shots: int, form: Any, pieces: list[str]
) -> None:
    """With exemplars and control tokens in the text; the loss covers only the answer."""
    loaded = model(family)
    question = Question(
        "q",
        "Who? " + "".join(pieces),
        (Source("Ann built it." + "".join(pieces)), Source("Bob sold it.")),
        (
            Reference("q-1", "It was [ 1 Ann ]."),
            Reference("q-2", "[ 1 Eve ]"),
            Reference("q-3", " "),
        ),
    )
    engine = TransformersEngine(
        loaded,
        TransformersOptions(constraint="off", max_new_tokens=60),
        prompts=PromptBuilder(template, FixedExemplars(POOL), shots, form),
    )
    encoder_decoder = bool(loaded.model.config.is_encoder_decoder)
    end = loaded.tokenizer.eos_token_id
    encoder = PromptEncoder(loaded.tokenizer, is_encoder_decoder=encoder_decoder, form=form)
    found = encode(
        *([question], engine.prompt, encoder, loaded.tokenizer),
        end=end,
        limit=5000,
        is_encoder_decoder=encoder_decoder,
    )
    asked: list[list[int]] = []

    def run(ids: list[list[int]], *_: object, **__: object) -> list[list[int]]:
        asked.extend(ids)
        return [[end]] * len(ids)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine._decoder, "run", run)
        try:
            engine.answer(question.question, question.sources)
        except InputError:
            assert found.left_out == 3  # too long for the model even without exemplars
            return
    (prompt,) = asked
    assert (found.left_out, found.unverified) == (1, 1)
    for feature, text in zip(found.features, question.texts, strict=False):
        ids, labels = feature["input_ids"], feature["labels"]
        if encoder_decoder:
            assert ids == prompt
        else:
            assert ids[: len(prompt)] == prompt
            assert labels == [IGNORED] * len(prompt) + ids[len(prompt) :]
        target = [each for each in labels if each != IGNORED]
        assert target[-1] == end
        assert end not in target[:-1]
        if family != "t5":  # T5's vocabulary lacks most characters
            assert loaded.tokenizer.decode(target[:-1], skip_special_tokens=True).strip() == text
    tight = max(len(each["input_ids"]) for each in found.features)
    if not encoder_decoder:
        left = encode(
            *([question], engine.prompt, encoder, loaded.tokenizer),
            end=end,
            limit=tight - 1,
            is_encoder_decoder=False,
        )
        assert left.left_out == 2 + (len({len(each["input_ids"]) for each in found.features}) == 1)


def test_a_chat_model_is_trained_with_lora_and_answers_on_the_command_line(
    folder: Path,
    tmp_path: Path,
    questions: list[Question],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In chat format and under the constraint; the adapters are merged at the end."""
    out, few = tmp_path / "out", questions[:6]
    wanted = options(folder, "chat", **{**DECODER, "max_steps": 50, "eval_steps": 50})
    record = train(few, few, out, wanted)
    assert record["method"] == "lora"
    assert record["chat"]
    assert record["best"]["semqa"] >= 95
    assert semqa_of(out / "model", folder, few) == record["best"]["semqa"]
    assert (out / "model/adapter/adapter_config.json").exists()

    capsys.readouterr()
    asked = questions[3]
    sources = tmp_path / "sources.jsonl"
    sources.write_text("".join(json.dumps({"text": each.text}) + "\n" for each in asked.sources))
    left = command_in(tmp_path, monkeypatch, capsys)(
        *("answer", asked.question, "--sources", sources, "--max-new-tokens", "24"),
        *("--engine", f"transformers:{out / 'model'}", "--device", "cpu"),
        *("--decoding", "tokens", "--format", "marked"),
    )
    assert left.code == 0, left.err
    assert left.out.strip() == asked.texts[0]
