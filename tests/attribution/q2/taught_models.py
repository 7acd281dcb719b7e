"""Tiny models of transformers taught a handful of sentences: one asks, one reads, one judges.

They know nothing else, so what Q² says about those sentences can be said beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["ASKED", "JUDGED", "READ", "teach"]

BRIDGE, OLD_BRIDGE = "the bridge opened in 1932", "the old bridge opened to cars in 1932"
TOWER, OTHER_TOWER = "ann built the tower", "bob built the tower"
ARCHES, NO_ARCHES = "it has three arches", "nobody counted"
WHEN, WHAT, WHO = "when did it open ?", "what opened in 1932 ?", "who built the tower ?"
BUILT, HAS = "what did ann build ?", "what does it have ?"

ASKED = [
    ("1932", BRIDGE, WHEN),
    ("the bridge", BRIDGE, WHAT),
    ("ann", TOWER, WHO),
    ("the tower", TOWER, BUILT),
    ("three arches", ARCHES, HAS),
]
"""Answer, passage, question."""

READ = [
    (WHEN, BRIDGE, "1932"),
    (WHAT, BRIDGE, "the bridge"),
    (WHO, TOWER, "ann"),
    (BUILT, TOWER, "the tower"),
    (HAS, ARCHES, "three arches"),
    (WHEN, OLD_BRIDGE, "1932"),
    (WHAT, OLD_BRIDGE, "the old bridge"),
    (WHO, OTHER_TOWER, "bob"),
    (BUILT, OTHER_TOWER, ""),
    (HAS, NO_ARCHES, ""),
]
"""Question, passage, answer or nothing."""

JUDGED = [
    (f"{WHAT} the old bridge.", f"{WHAT} the bridge.", 2),
    (f"{WHO} bob.", f"{WHO} ann.", 0),
    ("it rained", "oh yes", 1),
]
"""Premise, hypothesis, label: contradiction, neutral, entailment."""

SPECIAL = ["<pad>", "</s>", "<unk>", "<cls>", "<sep>"]


def _tokenizer(*, pairs: bool) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    texts = [text for row in (*ASKED, *READ) for text in row]
    texts += [text for premise, hypothesis, _ in JUDGED for text in (premise, hypothesis)]
    split = pre_tokenizers.Whitespace()
    texts += ["answer: context: question:"]
    words = sorted({word for text in texts for word, _ in split.pre_tokenize_str(text)})
    names = {word: number for number, word in enumerate([*SPECIAL, *words])}
    backend = Tokenizer(models.WordLevel(names, unk_token="<unk>"))
    backend.pre_tokenizer = split
    backend.post_processor = processors.TemplateProcessing(
        single="<cls> $A <sep>" if pairs else "$A </s>",
        pair="<cls> $A <sep> $B:1 <sep>:1",
        special_tokens=[(token, names[token]) for token in SPECIAL],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=64,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        cls_token="<cls>",
        sep_token="<sep>",
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"]
        if pairs
        else ["input_ids", "attention_mask"],
    )


def teach(folder: Path) -> dict[str, Path]:
    """Teach the three models and save each in a folder of its own, by the names of a judge's parts."""
    import torch

    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    try:
        torch.manual_seed(7)
        torch.set_num_threads(1)  # sums in one order, and no threads that wait for each other
        return {
            "qg": _taught_asker(folder / "qg"),
            "qa": _taught_reader(folder / "qa"),
            "nli": _taught_entailer(folder / "nli"),
        }
    finally:
        torch.random.set_rng_state(state)
        torch.set_num_threads(threads)


def _train(model: Any, inputs: Any, known: Callable[[Any], bool], rate: float) -> None:
    import torch

    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    model.train()
    for _ in range(400):
        output = model(**inputs)
        if output.loss.item() < 0.004 and known(output):
            break
        optimizer.zero_grad()
        output.loss.backward()
        optimizer.step()
    else:
        raise AssertionError(f"{type(model).__name__} did not learn: {output.loss.item()}")
    model.eval()


def _save(model: Any, tokenizer: Any, folder: Path) -> Path:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _taught_asker(folder: Path) -> Path:
    from transformers import T5Config, T5ForConditionalGeneration

    tokenizer = _tokenizer(pairs=False)
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=1,
        num_heads=4,
        dropout_rate=0.0,
        eos_token_id=1,
        pad_token_id=0,
    )
    config.decoder_start_token_id = 0
    model = T5ForConditionalGeneration(config)
    inputs = tokenizer(
        [f"answer: {answer}  context: {passage}" for answer, passage, _ in ASKED],
        padding=True,
        return_tensors="pt",
    )
    targets = tokenizer(
        [f"question: {question}" for _, _, question in ASKED], padding=True, return_tensors="pt"
    )
    labels = targets.input_ids.masked_fill(targets.attention_mask == 0, -100)
    _train(model, {**inputs, "labels": labels}, lambda _: True, 0.01)
    return _save(model, tokenizer, folder)


def _bert(tokenizer: Any, **more: Any) -> Any:
    from transformers import BertConfig

    return BertConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=0,
        **more,
    )


def _taught_reader(folder: Path) -> Path:
    import torch
    from transformers import BertForQuestionAnswering

    tokenizer = _tokenizer(pairs=True)
    model = BertForQuestionAnswering(_bert(tokenizer))
    inputs = tokenizer(
        [question for question, _, _ in READ],
        [passage for _, passage, _ in READ],
        padding=True,
        return_tensors="pt",
    )
    places = [_place(inputs, row, passage, answer) for row, (_, passage, answer) in enumerate(READ)]
    starts, ends = torch.tensor(places).T
    known: Callable[[Any], bool] = lambda output: bool(  # noqa: E731
        (output.start_logits.argmax(1) == starts).all()
        and (output.end_logits.argmax(1) == ends).all()
    )
    _train(model, {**inputs, "start_positions": starts, "end_positions": ends}, known, 0.005)
    return _save(model, tokenizer, folder)


def _place(inputs: Any, row: int, passage: str, answer: str) -> Sequence[int]:
    """Return the first and last token of the answer; the classifier's, twice, without one."""
    if not answer:
        return (0, 0)
    start = passage.index(answer)
    first = inputs.char_to_token(row, start, sequence_index=1)
    last = inputs.char_to_token(row, start + len(answer) - 1, sequence_index=1)
    return (first, last)


def _taught_entailer(folder: Path) -> Path:
    import torch
    from transformers import BertForSequenceClassification

    tokenizer = _tokenizer(pairs=True)
    names = {0: "contradiction", 1: "neutral", 2: "entailment"}
    model = BertForSequenceClassification(
        _bert(tokenizer, id2label=names, label2id={v: k for k, v in names.items()})
    )
    inputs = tokenizer(
        [premise for premise, _, _ in JUDGED],
        [hypothesis for _, hypothesis, _ in JUDGED],
        padding=True,
        return_tensors="pt",
    )
    labels = torch.tensor([label for _, _, label in JUDGED])
    _train(model, {**inputs, "labels": labels}, lambda _: True, 0.005)
    return _save(model, tokenizer, folder)
