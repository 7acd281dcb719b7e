"""Tiny language models with random weights, one of each tokenizer family, made in the process.

They write nonsense, which is what a constraint is to be tried on. Each has a few thousand
parameters and some hundreds of tokens, and differs in how its tokens stand for bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

__all__ = [
    "FAMILIES",
    "TinyModel",
    "byte_level",
    "llama_config",
    "save",
    "t5_config",
    "tiny",
    "wrap",
    "write",
]

CORPUS = (
    "The bridge was opened in 1932 by the mayor, and 300 people came to see it.",
    "Ann built the bridge. Bob crossed it first, in the rain: nobody had asked him to.",
    "According to [ 1 the mayor ], it was late. It opened in [ 2 March 1932 ], says Ann.",
    "Who built it? When was it opened? [ 1 Ann ] and [ 3 Bob ]. A café — naïve, 日本.",
    "question source answer title text quote from the sources word for word only numbered",
)
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}</s>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<pad>", "</s>", "<unk>", "<s>", "<|system|>", "<|user|>", "<|assistant|>"]


@dataclass(frozen=True, slots=True)
class TinyModel:
    """A model and its tokenizer, as transformers loads them."""

    model: Any
    tokenizer: Any


@cache
def tiny(family: str) -> TinyModel:
    """Return the model of a family; always the same one, so it must not be changed for good."""
    import torch

    # Other tests' draws must not depend on which models were made before.
    with torch.random.fork_rng():
        torch.manual_seed(20)
        return FAMILIES[family]()


def save(family: str, folder: Path) -> Path:
    """Write a model into a folder, as the Hub would hold it."""
    made = tiny(family)
    made.model.save_pretrained(folder)
    made.tokenizer.save_pretrained(folder)
    return folder


def write(folder: Path, kind: str, config: Any, tokenizer: Any, seed: int) -> Path:
    """Write an untrained model of a class of transformers into a folder."""
    import torch
    import transformers

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        getattr(transformers, kind)(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def wrap(backend: Any, **options: Any) -> Any:
    from transformers import PreTrainedTokenizerFast

    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, clean_up_tokenization_spaces=False, **(names | options)
    )


def byte_level(
    texts: Iterable[str] = CORPUS, special: Sequence[str] = SPECIAL, size: int = 340
) -> Any:
    """Byte-level BPE, as GPT-2 and Llama 3: each token is bytes, spaces in front."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[*special],
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    return backend


def _byte_fallback() -> Any:
    """SentencePiece-like BPE, as Llama 2 and Mistral: ``▁`` for spaces, bytes as ``<0x41>``."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, trainers

    backend = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    backend.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=380,
        special_tokens=[*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))],
        show_progress=False,
    )
    backend.train_from_iterator(
        [text.encode("ascii", "ignore").decode() for text in CORPUS], trainer
    )
    # Bytes are tokens like any other; only the trainer takes them as special.
    import json

    record = json.loads(backend.to_str())
    record["added_tokens"] = [t for t in record["added_tokens"] if t["content"] in SPECIAL]
    backend = Tokenizer.from_str(json.dumps(record))
    backend.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
    backend.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    return backend


def _unigram() -> Any:
    """Unigram with metaspaces, as T5: no token for most characters."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=220, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False
    )
    backend.train_from_iterator(CORPUS, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", backend.token_to_id("</s>"))]
    )
    return backend


def _word_piece() -> Any:
    """WordPiece, as BERT: ``##`` in front of what goes on with a word."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    backend = Tokenizer(models.WordPiece(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(cleanup=False)
    trainer = trainers.WordPieceTrainer(vocab_size=260, special_tokens=SPECIAL, show_progress=False)
    backend.train_from_iterator(CORPUS, trainer)
    return backend


def _gpt2() -> TinyModel:
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = wrap(byte_level())
    config = GPT2Config(
        vocab_size=len(tokenizer) + 13,  # scores are often wider than the tokenizer
        n_positions=2048,
        n_embd=16,
        n_layer=2,
        n_head=2,
        initializer_range=0.3,
        eos_token_id=1,
        bos_token_id=1,
        pad_token_id=0,
    )
    return TinyModel(GPT2LMHeadModel(config).eval(), tokenizer)


def llama_config(vocab_size: int, **given: Any) -> Any:
    """The configuration of a tiny Llama."""
    from transformers import LlamaConfig

    usual = {
        "max_position_embeddings": 2048,
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "initializer_range": 0.3,
        "eos_token_id": 1,
        "bos_token_id": 3,
    }
    return LlamaConfig(vocab_size=vocab_size, **(usual | given))


def _llama(tokenizer: Any) -> TinyModel:
    from transformers import LlamaForCausalLM

    config = llama_config(len(tokenizer), pad_token_id=0)
    return TinyModel(LlamaForCausalLM(config).eval(), tokenizer)


def _llama_chat() -> TinyModel:
    return _llama(wrap(byte_level(), chat_template=CHAT_TEMPLATE))


def _llama_sentencepiece() -> TinyModel:
    return _llama(wrap(_byte_fallback(), bos_token="<s>"))


def t5_config(vocab_size: int, **given: Any) -> Any:
    """The configuration of a tiny T5."""
    from transformers import T5Config

    usual = {"d_model": 16, "d_kv": 8, "num_heads": 2, "eos_token_id": 1, "pad_token_id": 0}
    config = T5Config(vocab_size=vocab_size, **(usual | given))
    config.decoder_start_token_id = 0
    return config


def _t5() -> TinyModel:
    from transformers import T5ForConditionalGeneration

    tokenizer = wrap(_unigram())
    config = t5_config(len(tokenizer) + 5, d_ff=24, num_layers=2, initializer_factor=0.5)
    config.tie_word_embeddings = False
    return TinyModel(T5ForConditionalGeneration(config).eval(), tokenizer)


def _bart() -> TinyModel:
    """An encoder-decoder model whose output begins with a token that is forced."""
    from transformers import BartConfig, BartForConditionalGeneration

    tokenizer = wrap(byte_level(), bos_token="<s>")
    config = BartConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=2048,
        d_model=16,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=24,
        decoder_ffn_dim=24,
        init_std=0.3,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=3,
        decoder_start_token_id=1,
        forced_eos_token_id=None,
    )
    model = BartForConditionalGeneration(config).eval()
    model.generation_config.forced_bos_token_id = 3
    return TinyModel(model, tokenizer)


def _bert() -> TinyModel:
    from transformers import BertConfig, BertLMHeadModel

    tokenizer = wrap(_word_piece(), sep_token="</s>", eos_token=None)
    config = BertConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=2048,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        initializer_range=0.3,
        is_decoder=True,
        pad_token_id=0,
    )
    return TinyModel(BertLMHeadModel(config).eval(), tokenizer)


FAMILIES: dict[str, Callable[[], TinyModel]] = {
    "gpt2": _gpt2,
    "llama-chat": _llama_chat,
    "llama-sentencepiece": _llama_sentencepiece,
    "t5": _t5,
    "bart": _bart,
    "bert": _bert,
}
"""Makers of models, by name."""
