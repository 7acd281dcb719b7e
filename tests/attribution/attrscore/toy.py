"""A toy task that a tiny model learns in seconds, and the tiny models.

The verb of a claim alone tells its label, so that the task is separable; subjects and references
differ from row to row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semqa.attribution.attrscore.examples import Example, Label
from tests.models import t5_config, write

if TYPE_CHECKING:
    from pathlib import Path

VERBS: dict[str, Label] = {
    "echoes": "Attributable",
    "denies": "Contradictory",
    "invents": "Extrapolatory",
}
NOUNS = ("bridge", "mill", "harbour", "tower", "school", "garden", "canal", "market")


def toy_examples(count: int = 48) -> list[Example]:
    """Rows of the task, the labels in turns."""
    verbs = list(VERBS.items())
    rows = []
    for i in range(count):
        verb, label = verbs[i % 3]
        noun, other = NOUNS[i % 8], NOUNS[(i // 3 + i // 24 + 1) % 8]
        rows.append(
            Example(
                str(i),
                f"what of the {noun} ?",
                f"it {verb} the {other}",
                f"the {noun} stands",
                label,
            )
        )
    return rows


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    from semqa.attribution.attrscore.judging import AttrPrompt

    prompt = AttrPrompt.create("attribution")
    texts = [prompt.fill(each.claim(), each.reference) for each in toy_examples()]
    pre = pre_tokenizers.BertPreTokenizer()
    words = sorted({word for text in texts for word, _ in pre.pre_tokenize_str(text)})
    special = ["<pad>", "</s>", "<unk>", "<cls>", "<sep>"]
    vocabulary = {word: i for i, word in enumerate([*special, *words])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre
    backend.post_processor = processors.TemplateProcessing(
        single="$A </s>",
        pair="<cls> $A <sep> $B:1 <sep>:1",
        special_tokens=[(name, vocabulary[name]) for name in ("</s>", "<cls>", "<sep>")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        cls_token="<cls>",
        sep_token="<sep>",
        model_max_length=128,
    )


def save_classifier(folder: Path, labels: dict[int, str] | None = None) -> Path:
    """An untrained encoder with a layer for classes; without labels, one of two classes."""
    from transformers import BertConfig

    tokenizer = _tokenizer()
    names = labels or {0: "LABEL_0", 1: "LABEL_1"}
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=128,
        initializer_range=0.2,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=0,
        id2label=names,
        label2id={name: number for number, name in names.items()},
    )
    return write(folder, "BertForSequenceClassification", config, tokenizer, 1)


def save_seq2seq(folder: Path) -> Path:
    """An untrained T5."""
    tokenizer = _tokenizer()
    config = t5_config(len(tokenizer), d_ff=32, num_layers=1, dropout_rate=0.0)
    return write(folder, "T5ForConditionalGeneration", config, tokenizer, 1)
