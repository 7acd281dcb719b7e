"""A vocabulary decodes like the tokenizer's own decoder, for each family."""

from __future__ import annotations

import json
import random
import shutil
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

from semqa.decoding.tokenizers import bytes_of_pieces
from semqa.decoding.vocabulary import Vocabulary
from semqa.errors import InputError
from tests.decoding.vocabularies import mistral_data

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

transformers: Any = import_module("transformers")  # its classes are only partly typed

TEXTS = (
    "White Christmas was first sung by Bing Crosby in 1941 , and [ 1 sold 50 million copies ] .",
    "An answer [ 12 quotes its sources ]; it isn't \"made up\" (he's sure, they've said, don't ask)!",
    "  Two spaces in front,   three inside, four behind    ",
    "Line one\nLine two\n\n\tindented\r\nLine three\n",
    "Zürich, São Paulo, naïve café, Ærøskøbing; 東京は日本の首都です。 Москва — столица России.",
    "مرحبا بالعالم, שלום עולם, नमस्ते दुनिया, สวัสดี, 한국어, e\u0301 o\u0308",
    "Emoji 😀👩‍👩‍👧🇨🇭 and ▁ Ġ ## </w> <0x41> </s> ﬁn… “quoted” ½ 10⁻³ €1,234.56",
    "a", " ", "", ".", " .", "[", " [ 1", "12345678901234567890",
)  # fmt: skip
"""Texts with many scripts, emoji, numbers, line ends, spaces and the markers of decoders."""

TRAINING = [*TEXTS, *(text.lower() for text in TEXTS)] * 3
SPECIAL = ["<unk>", "<s>", "</s>", "<pad>"]


class Family(NamedTuple):
    """A kind of tokenizer.

    Attributes:
        make: makes one.
        strips: whether its decoder drops a leading space of the whole output.
        is_sum: whether an output's decoding is the sum of its tokens, by the pieces it has.
    """

    make: Callable[[], Any]
    strips: bool = False
    is_sum: Callable[[list[str]], bool] = lambda _: True


def wrapped(backend: Tokenizer, **names: str) -> Any:
    tokens = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **(tokens | names))
    tokenizer.add_tokens(["<tool>", AddedToken("two words", normalized=False)])
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|turn|>"]})
    return tokenizer


def byte_level(decoder: decoders.Decoder | None = None) -> Any:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(TRAINING, trainer)
    backend.decoder = decoder or decoders.ByteLevel()
    return wrapped(backend)


def byte_fallback(decoder: decoders.Decoder, *, prepend: bool) -> Any:
    """Create a tokenizer like Llama's: SentencePiece pieces with byte fallback."""
    normalizer: list[normalizers.Normalizer] = [normalizers.Prepend("▁")] if prepend else []
    normalizer.append(normalizers.Replace(" ", "▁"))
    trained = Tokenizer(models.BPE())
    trained.normalizer = normalizers.Sequence(normalizer)
    trainer = trainers.BpeTrainer(vocab_size=300, limit_alphabet=60, show_progress=False)
    trained.train_from_iterator(TRAINING, trainer)
    learned = json.loads(trained.to_str())["model"]
    pieces = [*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256)), *learned["vocab"]]
    model = models.BPE(
        {piece: number for number, piece in enumerate(dict.fromkeys(pieces))},
        [tuple(pair) for pair in learned["merges"]],
        unk_token="<unk>",
        byte_fallback=True,
        fuse_unk=True,
    )
    backend = Tokenizer(model)
    backend.normalizer = normalizers.Sequence(normalizer)
    backend.decoder = decoder
    return wrapped(backend)


def llama_decoder(*, strip: int) -> decoders.Decoder:
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    return decoders.Sequence([*parts, decoders.Strip(" ", strip, 0)] if strip else parts)


def unigram(scheme: str) -> Any:
    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme=scheme)
    trainer = trainers.UnigramTrainer(
        vocab_size=400, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False
    )
    backend.train_from_iterator(TRAINING, trainer)
    backend.decoder = decoders.Metaspace("▁", prepend_scheme=scheme)
    return wrapped(backend)


def wordpiece(*, cleanup: bool) -> Any:
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=400, special_tokens=["[UNK]", "[SEP]", "[PAD]"], show_progress=False
    )
    backend.train_from_iterator(TRAINING, trainer)
    backend.decoder = decoders.WordPiece(prefix="##", cleanup=cleanup)
    return wrapped(backend, unk_token="[UNK]", eos_token="[SEP]", pad_token="[PAD]")


def words() -> Any:
    backend = Tokenizer(models.WordLevel(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(special_tokens=SPECIAL, show_progress=False)
    backend.train_from_iterator(TRAINING, trainer)
    return wrapped(backend)


def word_ends() -> Any:
    backend = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=SPECIAL, end_of_word_suffix="</w>", show_progress=False
    )
    backend.train_from_iterator(TRAINING, trainer)
    backend.decoder = decoders.BPEDecoder("</w>")
    return wrapped(backend)


def no_odd_space(pieces: list[str]) -> bool:
    """Tell whether Metaspace, which drops every "▁" of the first piece, drops a leading one."""
    return not pieces or ("▁" not in pieces[0][1:] and pieces[0] != "<0x20>")


def starts_a_word(pieces: list[str]) -> bool:
    return not pieces or not pieces[0].startswith("##")


FAMILIES = {
    "byte-level": Family(byte_level),
    "byte fallback, Llama": Family(
        lambda: byte_fallback(llama_decoder(strip=1), prepend=True), strips=True
    ),
    "byte fallback, Gemma": Family(lambda: byte_fallback(llama_decoder(strip=0), prepend=False)),
    "byte fallback after Metaspace": Family(
        lambda: byte_fallback(
            decoders.Sequence([decoders.Metaspace(), decoders.ByteFallback(), decoders.Fuse()]),
            prepend=True,
        ),
        strips=True,
        is_sum=no_odd_space,
    ),
    "Unigram, T5": Family(lambda: unigram("always"), strips=True, is_sum=no_odd_space),
    "Unigram, never": Family(lambda: unigram("never")),
    "WordPiece": Family(lambda: wordpiece(cleanup=False), strips=True, is_sum=starts_a_word),
    "WordPiece, cleanup": Family(
        lambda: wordpiece(cleanup=True), strips=True, is_sum=starts_a_word
    ),
    "words": Family(words, strips=True),
}


@pytest.fixture(scope="module", params=FAMILIES, ids=lambda name: name.replace(", ", "-"))
def case(request: pytest.FixtureRequest) -> tuple[Family, Any, Vocabulary]:
    family = FAMILIES[request.param]
    tokenizer = family.make()
    return family, tokenizer, Vocabulary.from_tokenizer(tokenizer)


def own_text(tokenizer: Any, ids: list[int]) -> str:
    text = tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    assert isinstance(text, str)
    return text


def random_ids(size: int, count: int, seed: int = 0) -> list[list[int]]:
    chance = random.Random(seed)
    return [[chance.randrange(size) for _ in range(chance.randint(1, 12))] for _ in range(count)]


def test_encoded_text_decodes_equally(case: tuple[Family, Any, Vocabulary]) -> None:
    family, tokenizer, vocabulary = case
    assert vocabulary.strips_leading_space == family.strips
    for text in TEXTS:
        for ids in (tokenizer.encode(text), tokenizer.encode(text, add_special_tokens=False)):
            pieces = tokenizer.convert_ids_to_tokens(ids, skip_special_tokens=True)
            ours, theirs = vocabulary.decode(ids), own_text(tokenizer, ids)
            if family.is_sum(pieces):
                assert ours == theirs
            else:
                assert ours.replace(" ", "") == theirs.replace(" ", "")


def test_random_ids_decode_equally(case: tuple[Family, Any, Vocabulary]) -> None:
    family, tokenizer, vocabulary = case
    whole_decoder = "ByteFallback" not in tokenizer.backend_tokenizer.to_str()
    compared = 0
    for ids in random_ids(len(tokenizer), 2000):
        ours = vocabulary.decode(ids)
        # Byte fallback decodes invalid UTF-8 by whole runs of bytes.
        is_sum = whole_decoder or "\ufffd" not in ours
        if is_sum and family.is_sum(tokenizer.convert_ids_to_tokens(ids, skip_special_tokens=True)):
            assert ours == own_text(tokenizer, ids), tokenizer.convert_ids_to_tokens(ids)
            compared += 1
    assert compared > 200


def test_special_tokens_are_special_and_added_ones_are_text(
    case: tuple[Family, Any, Vocabulary],
) -> None:
    _, tokenizer, vocabulary = case
    assert vocabulary.size == len(tokenizer)
    assert vocabulary.eos_ids == (tokenizer.eos_token_id,)
    named = ("<|turn|>", tokenizer.unk_token, tokenizer.pad_token)
    for number in tokenizer.convert_tokens_to_ids(named):
        assert number in vocabulary.special_ids
        assert vocabulary.token_bytes(number) == b""
    for content in ("<tool>", "two words"):
        number = tokenizer.convert_tokens_to_ids(content)
        assert vocabulary.token_bytes(number).strip() == content.encode()
        assert number not in vocabulary.special_ids


def test_word_ends_become_spaces() -> None:
    tokenizer = word_ends()
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    runs = [tokenizer.encode(text) for text in TEXTS] + random_ids(len(tokenizer), 500)
    for ids in runs:
        assert vocabulary.decode(ids).removesuffix(" ") == own_text(tokenizer, ids).removesuffix(
            " "
        )


def test_a_bare_backend_needs_its_end_tokens() -> None:
    tokenizer = byte_level()
    with pytest.raises(InputError, match=r"Pass eos_ids\.$"):
        Vocabulary.from_tokenizer(tokenizer.backend_tokenizer)
    ends = [tokenizer.eos_token_id]
    bare = Vocabulary.from_tokenizer(tokenizer.backend_tokenizer, eos_ids=ends)
    assert bare == Vocabulary.from_tokenizer(tokenizer)


def test_width_and_end_tokens_of_the_model() -> None:
    tokenizer = byte_level()
    turn = tokenizer.convert_tokens_to_ids("<|turn|>")
    wide = Vocabulary.from_tokenizer(tokenizer, len(tokenizer) + 7, [turn, tokenizer.eos_token_id])
    assert wide.size == len(tokenizer) + 7
    assert wide.eos_ids == tuple(sorted([turn, tokenizer.eos_token_id]))
    assert turn not in wide.special_ids
    assert {wide.token_bytes(number) for number in range(len(tokenizer), wide.size)} == {b""}
    assert Vocabulary.from_tokenizer(tokenizer, len(tokenizer)) == Vocabulary.from_tokenizer(
        tokenizer
    )
    with pytest.raises(InputError, match=r"^size must be at least"):
        Vocabulary.from_tokenizer(tokenizer, 5)


@pytest.mark.parametrize(
    "decoder",
    [
        decoders.CTC(),
        decoders.Sequence([decoders.Fuse(), decoders.Strip(" ", 1, 1)]),
        decoders.Replace(Regex("a+"), "b"),
        decoders.Sequence([decoders.Fuse(), decoders.Replace(" .", ".")]),
        decoders.Sequence([decoders.Fuse(), decoders.WordPiece()]),
    ],
)
def test_decoders_that_join_tokens_are_rejected(decoder: decoders.Decoder) -> None:
    with pytest.raises(InputError, match="cannot be converted to bytes"):
        Vocabulary.from_tokenizer(byte_level(decoder))


@pytest.mark.parametrize(
    "decoder",
    [
        decoders.ByteLevel(),
        decoders.ByteFallback(),
        decoders.Fuse(),
        decoders.Metaspace(),
        decoders.Metaspace("Ġ", prepend_scheme="never"),
        decoders.WordPiece(cleanup=False),
        decoders.WordPiece("#"),
        decoders.Replace("a▁", "!"),
        decoders.Strip(" ", 1, 1),
        decoders.Sequence([decoders.Fuse(), decoders.Replace("▁", "_"), decoders.Strip(" ", 1, 0)]),
        decoders.Sequence([decoders.Strip("c", 2, 0), decoders.ByteFallback(), decoders.Fuse()]),
        None,
    ],
    ids=lambda decoder: decoder.__getstate__().decode()[9:40] if decoder else "none",
)
def test_a_piece_adds_its_bytes(decoder: decoders.Decoder | None) -> None:
    record = None if decoder is None else json.loads(decoder.__getstate__())
    for piece in ("▁a▁", "##b", "c</w>", "Ġd", "é", "<0x41>", "<0x4a>", " . ", "."):
        (data,), _ = bytes_of_pieces([piece], record, "made up")
        for first in ("x", "y"):
            pieces = [first, piece, first]
            theirs = " ".join(pieces) if decoder is None else decoder.decode(pieces)
            (edge,), strips = bytes_of_pieces([first], record, "made up")
            ours = (edge + data + edge).decode("utf-8", "replace")
            assert ours.removeprefix(" " if strips else "") == theirs


def test_metaspace_of_early_files() -> None:
    record = {"type": "Metaspace", "replacement": "▁", "str_rep": "▁", "add_prefix_space": True}
    assert bytes_of_pieces(["▁a"], record, "early") == ([b" a"], True)
    assert bytes_of_pieces(["▁a"], record | {"add_prefix_space": False}, "early") == (
        [b" a"],
        False,
    )


def test_other_objects_are_rejected() -> None:
    with pytest.raises(InputError, match="Unsupported tokenizer: list"):
        Vocabulary.from_tokenizer([b"a"])


MISTRAL_FILES = ("tekken_240911.json", "mistral_instruct_tokenizer_240323.model.v3")


@pytest.fixture(scope="module", params=MISTRAL_FILES)
def mistral(request: pytest.FixtureRequest) -> Any:
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    return MistralTokenizer.from_file(str(mistral_data() / request.param))


class TestMistral:
    """The tokenizers that ship with mistral_common."""

    def test_decodes_equally(self, mistral: Any) -> None:
        own = mistral.instruct_tokenizer.tokenizer
        vocabulary = Vocabulary.from_tokenizer(mistral)
        assert vocabulary == Vocabulary.from_tokenizer(own)
        assert vocabulary.size == own.n_words
        assert vocabulary.eos_ids == (own.eos_id,)
        assert vocabulary.special_ids >= own.special_ids - {own.eos_id}
        is_tekken = hasattr(own, "id_to_byte_piece")
        assert vocabulary.strips_leading_space == (not is_tekken)
        runs = [own.encode(text, bos=False, eos=True) for text in TEXTS]
        assert [vocabulary.decode(ids) for ids in runs] == [own.decode(ids) for ids in runs]
        compared = 0
        for ids in random_ids(own.n_words, 1000):
            if not is_tekken and (own.unk_id in ids or "\ufffd" in vocabulary.decode(ids)):
                continue
            if is_tekken and set(ids) & vocabulary.special_ids:
                continue  # decoded run by run between special tokens
            assert vocabulary.decode(ids) == own.decode(ids)
            compared += 1
        assert compared > 500

    def test_through_transformers(self, mistral: Any, tmp_path: Path) -> None:
        path = mistral.instruct_tokenizer.tokenizer.file_path
        shutil.copy(path, tmp_path / ("tekken.json" if path.suffix == ".json" else path.name))
        backend = transformers.MistralCommonBackend.from_pretrained(str(tmp_path))
        vocabulary = Vocabulary.from_tokenizer(backend)
        assert vocabulary == Vocabulary.from_tokenizer(mistral)
        for text in TEXTS:
            ids = backend.encode(text, add_special_tokens=True)
            assert vocabulary.decode(ids) == own_text(backend, ids)

    def test_sentencepiece_alone(self) -> None:
        from sentencepiece import SentencePieceProcessor

        path = mistral_data() / "tokenizer.model.v1"
        model = SentencePieceProcessor(model_file=str(path))
        vocabulary = Vocabulary.from_tokenizer(model)
        for text in TEXTS:
            assert vocabulary.decode(model.encode(text)) == text.replace("▁", " ")
        assert vocabulary.token_bytes(model.piece_to_id("<0x0A>")) == b"\n"
        assert model.unk_id() in vocabulary.special_ids


class TestSlow:
    """Tokenizers of transformers that are written in Python."""

    def test_on_sentencepiece(self) -> None:
        path = str(mistral_data() / "tokenizer.model.v1")
        tokenizer = transformers.BertGenerationTokenizer(path, pad_token="<pad>", sep_token="<sep>")
        tokenizer.add_tokens(["<tool>"])
        vocabulary = Vocabulary.from_tokenizer(tokenizer)
        assert vocabulary.strips_leading_space
        assert vocabulary.token_bytes(tokenizer.convert_tokens_to_ids("<tool>")) == b"<tool>"
        assert vocabulary.token_bytes(tokenizer.convert_tokens_to_ids("<0x0A>")) == b"\n"
        for text in TEXTS:
            plain = text.replace("▁", " ").replace("</s>", "")
            ids = tokenizer.encode(plain, add_special_tokens=False)
            assert vocabulary.decode(ids).strip() == plain.strip()

    def test_of_bytes(self) -> None:
        tokenizer = transformers.ByT5Tokenizer()
        vocabulary = Vocabulary.from_tokenizer(tokenizer)
        assert vocabulary.size == len(tokenizer)
        for text in TEXTS:
            ids = tokenizer.encode(text)
            assert vocabulary.decode(ids) == own_text(tokenizer, ids)


class TestTiktoken:
    """Encodings of tiktoken."""

    @staticmethod
    def encoding(special: dict[str, int]) -> Any:
        import tiktoken

        ranks = {bytes([byte]): byte for byte in range(256)}
        for piece in (b" t", b"he", b" the", "é".encode(), b"  ", b" [", b" ]"):
            ranks[piece] = len(ranks)
        return tiktoken.Encoding(
            "made", pat_str=r"\s?\S+|\s+", mergeable_ranks=ranks, special_tokens=special
        )

    def test_decodes_equally(self) -> None:
        encoding = self.encoding({"<|endoftext|>": 270, "<|start|>": 266})
        vocabulary = Vocabulary.from_tokenizer(encoding)
        assert vocabulary.size == 271
        assert vocabulary.eos_ids == (270,)
        assert vocabulary.special_ids == {266}
        assert vocabulary.token_bytes(268) == b"", "ids have gaps"
        for text in TEXTS:
            assert vocabulary.decode(encoding.encode_ordinary(text)) == text
        for ids in random_ids(256, 500):
            assert vocabulary.decode(ids) == encoding.decode(ids)

    def test_without_an_end_token(self) -> None:
        encoding = self.encoding({"<|stop|>": 263})
        with pytest.raises(InputError, match="Encoding has no end token"):
            Vocabulary.from_tokenizer(encoding)
        assert Vocabulary.from_tokenizer(encoding, eos_ids=[263]).eos_ids == (263,)
