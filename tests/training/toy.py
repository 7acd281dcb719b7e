"""A toy task that a tiny model memorises in seconds, the tiny models, and settings of their training.

The noun of the question determines which words of which source are the answer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from semqa.data.quotesum import Question, Reference
from semqa.engines import Request
from semqa.engines.transformers import TransformersEngine, TransformersOptions
from semqa.metrics import Example, score
from semqa.prompting import PromptBuilder
from semqa.quotes import Source
from semqa.training.options import TrainingOptions
from tests.models import byte_level, llama_config, t5_config, wrap, write

NOUNS = ("bridge", "mill", "harbour", "tower", "school", "garden", "canal", "market", "gate", "inn")
MAKERS = ("ann", "bob", "cleo", "dan", "eve")
TEMPLATE = """{% macro user(question, sources) %}
{{ question }}{% for source in sources %} {{ source.number }} {{ source.title }} {{ source.text }}{% endfor %}
{% endmacro %}
"""
"""A short prompt."""


def toy_questions() -> list[Question]:
    """Return questions, each with one human answer."""
    rows = []
    for i in range(20):
        noun, verb = NOUNS[i % 10], ("built", "sold")[i // 10]
        who, other = MAKERS[i % 5], MAKERS[(i + 1 + i // 10) % 5]
        sources = (Source(f"the {noun} by {who} ."), Source(f"{other} had the {noun} ."))
        quoted = f"[ 1 {who} ]" if i % 3 else f"[ 2 {other} ]"
        text = f"{verb} by {quoted} ."
        rows.append(
            Question(f"q{i}", f"{verb} {noun} ?", sources, (Reference(f"q{i}-1", text, quoted),))
        )
    return rows


CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}"
    "{% if message['role'] == 'assistant' %}</s>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TURNS = ("<|system|>", "<|user|>", "<|assistant|>")


def _tokenizer(**given: Any) -> Any:
    """Byte-level BPE of whole words."""
    from tokenizers import processors

    texts = [
        text
        for each in toy_questions()
        for text in (each.question, *(f" 1 2 {s.text}" for s in each.sources), *each.texts)
    ]
    backend = byte_level(texts, ["<pad>", "</s>", *TURNS], 400)
    backend.post_processor = processors.ByteLevel(trim_offsets=False)
    return wrap(backend, unk_token=None, **given)


def save_t5(folder: Path) -> Path:
    """An untrained T5."""
    tokenizer = _tokenizer()
    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 1}
    config = t5_config(len(tokenizer), dropout_rate=0.0, **sizes)
    return write(folder, "T5ForConditionalGeneration", config, tokenizer, 1)


def save_decoder(folder: Path) -> Path:
    """An untrained Llama with a chat template."""
    tokenizer = _tokenizer(chat_template=CHAT_TEMPLATE)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_key_value_heads": 2}
    tokens = {"bos_token_id": 1, "pad_token_id": 0}
    more = {"max_position_embeddings": 256, "initializer_range": 0.15}
    config = llama_config(len(tokenizer), **sizes, **tokens, **more)
    return write(folder, "LlamaForCausalLM", config, tokenizer, 1)


T5: dict[str, Any] = {
    "max_steps": 120,
    "eval_steps": 60,
    "batch_size": 10,
    "learning_rate": 0.01,
    "max_new_tokens": 24,
    "max_length": 128,
    "eval_batch_size": 20,
    "device": "cpu",
}
DECODER = {**T5, "max_steps": 100, "eval_steps": 100, "learning_rate": 0.005}
BRIEF = {**T5, "max_steps": 8, "eval_steps": 2, "max_new_tokens": 4, "constraint": "off"}


def options(folder: Path, model: str, **given: Any) -> TrainingOptions:
    """Return options for a model in the test folder."""
    return TrainingOptions(model=str(folder / model), prompt=str(folder / "short.jinja"), **given)


def command(folder: Path, model: str, out: Path, **given: Any) -> list[str]:
    """Return the same options as command line arguments; True means a flag without a value."""
    data, dev = str(folder / "train.jsonl"), str(folder / "dev.jsonl")
    flags = []
    for name, value in given.items():
        flags += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return [
        *("train", data, "--dev", dev, "--model", str(folder / model)),
        *("--prompt", str(folder / "short.jinja"), "--out", str(out), *flags),
    ]


def semqa_of(model: Path, folder: Path, questions: list[Question]) -> float:
    """Return the SEMQA score of a trained model on questions."""
    engine = TransformersEngine(
        str(model),
        TransformersOptions(device="cpu", decoding="tokens", max_new_tokens=24, batch_size=20),
        prompts=PromptBuilder(folder / "short.jinja"),
    )
    answers = engine.answer_batch([Request(each.question, each.sources) for each in questions])
    report = score(
        (
            Example(each.qid, answer.marked, each.texts, each.short_answers, each.numbers)
            for each, answer in zip(questions, answers, strict=True)
        ),
        resamples=0,
    )
    value = report.value("semqa")
    assert value is not None
    return value
