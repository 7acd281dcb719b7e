"""A toy task that a tiny model memorises in seconds, and the tiny models.

The noun of the question determines which words of which source are the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semqa.data.quotesum import Question, Reference
from semqa.quotes import Source

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["TEMPLATE", "save_decoder", "save_t5", "toy_questions"]

NOUNS = ("bridge", "mill", "harbour", "tower", "school", "garden", "canal", "market", "gate", "inn")
MAKERS = ("ann", "bob", "cleo", "dan", "eve")
TEMPLATE = """{% macro user(question, sources) %}
{{ question }}{% for source in sources %} {{ source.number }} {{ source.title }} {{ source.text }}{% endfor %}
{% endmacro %}
"""
"""A short prompt."""


def toy_questions(count: int = 20) -> list[Question]:
    """Return questions, each with one human answer."""
    rows = []
    for i in range(count):
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
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    texts = [
        text
        for each in toy_questions()
        for text in (each.question, *(f" 1 2 {s.text}" for s in each.sources), *each.texts)
    ]
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<pad>", "</s>", *TURNS],
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    backend.post_processor = processors.ByteLevel(trim_offsets=False)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="<pad>",
        eos_token="</s>",
        clean_up_tokenization_spaces=False,
        **given,
    )


def save_t5(folder: Path) -> Path:
    """An untrained T5."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    tokenizer = _tokenizer()
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=16,
        d_ff=64,
        num_layers=1,
        num_heads=2,
        dropout_rate=0.0,
        eos_token_id=1,
        pad_token_id=0,
    )
    config.decoder_start_token_id = 0
    torch.manual_seed(1)
    T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_decoder(folder: Path) -> Path:
    """An untrained Llama with a chat template."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = _tokenizer(chat_template=CHAT_TEMPLATE)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=256,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        initializer_range=0.15,
        eos_token_id=1,
        bos_token_id=1,
        pad_token_id=0,
    )
    torch.manual_seed(1)
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
