"""Tiny models that judge, with random weights, made in the process: entailment, reading, asking.

They judge nonsense, but as models do: in batches, in windows, with labels and tokenizers of their
own.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from tests.models import CORPUS, SPECIAL, save, write

LABELS = {0: "contradiction", 1: "neutral", 2: "entailment"}


@cache
def pair_tokenizer(longest: int) -> Any:
    """WordPiece that joins two texts as BERT does."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.WordPiece(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(cleanup=False)
    trainer = trainers.WordPieceTrainer(
        vocab_size=260, special_tokens=[*SPECIAL, "<cls>", "<sep>"], show_progress=False
    )
    backend.train_from_iterator(CORPUS, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single="<cls> $A <sep>",
        pair="<cls> $A <sep> $B:1 <sep>:1",
        special_tokens=[
            ("<cls>", backend.token_to_id("<cls>")),
            ("<sep>", backend.token_to_id("<sep>")),
        ],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=longest,
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<cls>",
        sep_token="<sep>",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def _config(longest: int, **more: Any) -> Any:
    from transformers import BertConfig

    return BertConfig(
        vocab_size=len(pair_tokenizer(longest)),
        max_position_embeddings=longest,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        initializer_range=0.4,
        pad_token_id=0,
        **more,
    )


def save_classifier(
    folder: Path, *, longest: int = 64, labels: dict[int, str] | None = None, seed: int = 3
) -> Path:
    """Write a classifier of two texts into a folder."""
    named = labels or LABELS
    config = _config(
        longest,
        id2label=named,
        label2id={name: number for number, name in named.items()},
        num_labels=len(named),
    )
    return write(folder, "BertForSequenceClassification", config, pair_tokenizer(longest), seed)


def save_reader(folder: Path, *, longest: int = 64, seed: int = 5) -> Path:
    """Write a model that marks spans into a folder."""
    tokenizer = pair_tokenizer(longest)
    return write(folder, "BertForQuestionAnswering", _config(longest), tokenizer, seed)


def save_writer(folder: Path) -> Path:
    """Write an encoder-decoder of T5's kind into a folder, which knows “1” and “0”."""
    return save("t5", folder)
