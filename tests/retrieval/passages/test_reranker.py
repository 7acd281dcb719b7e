"""A cross-encoder reads again what was found, where one is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semqa.errors import InputError
from semqa.retrieval.passages import Library
from semqa.retrieval.passages.search import Reranker

WORDS = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "harbour", "zebra", "oslo", "built", "eat", "grass", "."
]  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder of a few hundred parameters, as the Hub would hold it."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    words = models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    backend = Tokenizer(words)
    backend.normalizer = normalizers.Lowercase()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", model_max_length=64
    )
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=8, max_position_embeddings=64, pad_token_id=0, initializer_range=0.5,
    )  # fmt: skip
    config.num_labels = 1
    folder = tmp_path_factory.mktemp("cross")
    with torch.random.fork_rng():
        torch.manual_seed(3)
        BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_the_reranker_decides_the_order(tmp_path: Path, model: Path) -> None:
    library = Library(tmp_path, encoder=False, reranker=str(model))
    texts = ["Zebra built oslo.", "Harbour eat grass.", "Zebra eat grass.", "Oslo built harbour."]
    collection = library.create("", "notes")
    collection.put_all([(f"{i}.txt", text.encode()) for i, text in enumerate(texts)])
    query = "zebra harbour eat oslo"
    found = collection.search(query)
    given = [f"{each.source.title}\n{each.source.text}" for each in found]
    by_hand = Reranker(str(model)).scores(query, given)
    assert len(set(by_hand.tolist())) == 4
    np.testing.assert_allclose([each.score for each in found], by_hand, atol=1e-5)
    assert sorted(by_hand, reverse=True) == by_hand.tolist()
    assert collection.search("nothing") == []


def test_models_other_than_cross_encoders_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be an existing folder"):
        Library(tmp_path, encoder=False, reranker="/no/such")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"reranker cannot be loaded"):
        Reranker(str(tmp_path)).scores("a", ["b"])


@pytest.mark.parametrize("found", [np.ones((2, 3)), np.array([np.nan, 1.0]), None])
def test_invalid_scores_are_rejected(found: np.ndarray | None, tmp_path: Path) -> None:
    class Broken:
        def predict(self, *_: object, **__: object) -> Any:
            if found is None:
                raise RuntimeError("out of memory")
            return found

    reranker = Reranker(str(tmp_path))
    vars(reranker)["_model"] = Broken()
    with pytest.raises(InputError, match="Reranker "):
        reranker.scores("a", ["b", "c"])
