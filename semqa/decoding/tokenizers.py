"""Convert the tokens of tokenizers from several libraries to bytes."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from semqa.errors import InputError

Piece = str | bytes
"""A token during decoding: text, or bytes that may be part of a character."""

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")

# The replacements of WordPiece's `cleanup`, in this order.
_CLEANUP = (
    (" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"),
    (" 'm", "'m"), (" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"),
)  # fmt: skip


def bytes_of_pieces(
    pieces: list[str], decoder: dict[str, Any] | None, name: str
) -> tuple[list[bytes], bool]:
    """Return the bytes that each piece adds to an output.

    Args:
        decoder: the decoder's JSON; None joins pieces with spaces.

    Returns:
        The bytes of each piece, and whether one leading space of the whole output is dropped.

    Example:
        >>> bytes_of_pieces(["Hi", "##gh"], {"type": "WordPiece", "prefix": "##", "cleanup": True}, "")
        ([b' Hi', b'gh'], True)
    """
    state = _Decoding(list(pieces), name)
    if decoder is None:
        state.prefix_words("")
    else:
        state.apply(decoder)
    return [p.encode("utf-8") if isinstance(p, str) else p for p in state.pieces], state.strips


class _Decoding:
    """The pieces of a vocabulary as they pass through a decoder.

    Attributes:
        fused: whether the decoder has joined them, so that later steps see one text.
        strips: whether one leading space of the whole output is dropped.
    """

    def __init__(self, pieces: list[str], name: str) -> None:
        self.pieces: list[Piece] = list(pieces)
        self.name = name
        self.fused = False
        self.strips = False

    def apply(self, decoder: dict[str, Any]) -> None:
        """Apply one decoder."""
        kind = decoder["type"]
        match kind:
            case "Sequence":
                for part in decoder["decoders"]:
                    self.apply(part)
            case "Fuse":
                self.fused = True
            case "ByteLevel":
                self._require_separate(kind)
                self.pieces = [_from_byte_alphabet(piece) for piece in self.pieces]
                self.fused = True
            case "ByteFallback":
                self._require_separate(kind)
                self.pieces = [_from_byte_piece(piece) for piece in self.pieces]
            case "Metaspace":
                self._require_separate(kind)
                scheme = decoder.get("prepend_scheme")
                if scheme is None:  # old files
                    scheme = "always" if decoder.get("add_prefix_space", True) else "never"
                self._replace(decoder["replacement"], " ")
                self.strips |= scheme != "never"
            case "WordPiece":
                self._require_separate(kind)
                self.prefix_words(decoder["prefix"])
                if decoder["cleanup"]:
                    for wrong, right in _CLEANUP:
                        self._replace(wrong, right)
            case "BPEDecoder":
                self._require_separate(kind)
                self._replace(decoder["suffix"], " ")
            case "Replace":
                wrong = decoder["pattern"].get("String")
                if wrong is None:
                    self._refuse("Replace with a regular expression", "a string pattern")
                if self.fused and len(wrong) != 1:
                    self._refuse(f"Replace of {wrong!r} across tokens", "one within each token")
                self._replace(wrong, decoder["content"])
            case "Strip":
                self._strip(decoder["content"], decoder["start"], decoder["stop"])
            case _:
                self._refuse(kind, "a decoder that maps each token to bytes")

    def prefix_words(self, prefix: str) -> None:
        """Put a space before each piece that does not continue a word."""
        self.pieces = [
            piece.removeprefix(prefix)
            if prefix and isinstance(piece, str) and piece.startswith(prefix)
            else _joined(" ", piece)
            for piece in self.pieces
        ]
        self.strips = True

    def _strip(self, content: str, start: int, stop: int) -> None:
        if not self.fused:
            self.pieces = [
                _strip_text(piece, content, start, stop) if isinstance(piece, str) else piece
                for piece in self.pieces
            ]
        elif start or stop:
            if (content, start, stop) != (" ", 1, 0):
                found = f"Strip of {content!r}, {start} at the start and {stop} at the end"
                self._refuse(found, "at most one space at the start")
            self.strips = True

    def _replace(self, wrong: str, right: str) -> None:
        self.pieces = [
            piece.replace(wrong, right) if isinstance(piece, str) else piece
            for piece in self.pieces
        ]

    def _require_separate(self, kind: str) -> None:
        if self.fused:
            self._refuse(f"{kind} after the tokens are joined", "it before that")

    def _refuse(self, got: str, expected: str) -> None:
        raise InputError(
            f"The tokens of {self.name} cannot be converted to bytes: its decoder has {got}, expected {expected}.",
            hint="Use another tokenizer, or Vocabulary.from_tokens.",
        )


def _joined(prefix: str, piece: Piece) -> Piece:
    return prefix + piece if isinstance(piece, str) else prefix.encode("utf-8") + piece


def _strip_text(text: str, content: str, start: int, stop: int) -> str:
    for _ in range(start):
        text = text.removeprefix(content)
    for _ in range(stop):
        text = text.removesuffix(content)
    return text


def _from_byte_piece(piece: Piece) -> Piece:
    found = _BYTE_PIECE.fullmatch(piece) if isinstance(piece, str) else None
    return bytes([int(found[1], 16)]) if found else piece


@cache
def _byte_alphabet() -> dict[str, int]:
    """Return GPT-2's character for each byte: printable Latin-1 as is, the rest from U+0100."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    alphabet = {chr(byte): byte for byte in printable}
    others = (byte for byte in range(256) if byte not in printable)
    return alphabet | {chr(0x100 + rank): byte for rank, byte in enumerate(others)}


def _from_byte_alphabet(piece: Piece) -> Piece:
    """Return the bytes that a piece encodes; its UTF-8 bytes if it is not in the alphabet."""
    if isinstance(piece, bytes):
        return piece
    alphabet = _byte_alphabet()
    try:
        return bytes([alphabet[character] for character in piece])
    except KeyError:
        return piece.encode("utf-8")


_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
_MAX_IDS = 1 << 24


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a tokenizer as bytes.

    Attributes:
        tokens: the bytes of tokens 0, 1, …; empty for ids without text.
        eos_ids: the tokenizer's own end tokens; may be empty.
        special_ids: control tokens and the unknown token, possibly including end tokens.
        strips_leading_space: whether the decoder drops one leading space of the whole output.
    """

    tokens: list[bytes]
    eos_ids: tuple[int, ...]
    special_ids: frozenset[int]
    strips_leading_space: bool = False


def read_tokenizer(tokenizer: Any) -> Tokens:
    """Return the tokens of a tokenizer as bytes; see `Vocabulary.from_tokenizer`."""
    if hasattr(tokenizer, "backend_tokenizer"):  # transformers, fast
        special = {number for number in tokenizer.all_special_ids if number is not None}
        return _read_fast(tokenizer.backend_tokenizer, _name(tokenizer), special, _ends(tokenizer))
    if hasattr(tokenizer, "to_str") and hasattr(tokenizer, "id_to_token"):  # tokenizers
        return _read_fast(tokenizer, _name(tokenizer), set(), ())
    if hasattr(tokenizer, "instruct_tokenizer"):  # mistral_common's MistralTokenizer
        return read_tokenizer(tokenizer.instruct_tokenizer.tokenizer)
    if hasattr(tokenizer, "id_to_byte_piece"):  # mistral_common's Tekkenizer
        return _read_tekken(tokenizer)
    if hasattr(tokenizer, "decode_single_token_bytes"):  # tiktoken
        return _read_tiktoken(tokenizer)
    if hasattr(tokenizer, "sp_model"):  # transformers, slow, on SentencePiece
        return _read_slow_sentencepiece(tokenizer)
    if hasattr(tokenizer, "_utf_vocab_size"):  # transformers, slow, byte-level: ByT5
        return _read_byte_tokenizer(tokenizer)
    if hasattr(tokenizer, "id_to_piece"):  # sentencepiece, and its wrapper in mistral_common
        return _read_sentencepiece(getattr(tokenizer, "_model", tokenizer))
    if hasattr(tokenizer, "tokenizer"):  # transformers' MistralCommonBackend, processors
        return read_tokenizer(tokenizer.tokenizer)
    raise InputError(
        f"Unsupported tokenizer: {_name(tokenizer)}. Supported are fast and SentencePiece tokenizers of transformers, and those of tokenizers, mistral_common, tiktoken and sentencepiece.",
        hint="For others, use Vocabulary.from_tokens.",
    )


def _name(tokenizer: object) -> str:
    return type(tokenizer).__name__


def _ends(tokenizer: Any) -> tuple[int, ...]:
    end = tokenizer.eos_token_id
    return () if end is None else (int(end),)


def _by_id(pieces: dict[int, bytes], name: str) -> list[bytes]:
    """Return the bytes of each id, empty for unused ids."""
    if not pieces:
        raise InputError(f"The tokenizer {name} has no tokens. Train it first.")
    size = max(pieces) + 1
    if size > _MAX_IDS:
        raise InputError(
            f"The tokenizer {name} has the token ID {size - 1}; IDs must be below {_MAX_IDS}.",
            hint="Use Vocabulary.from_tokens.",
        )
    tokens = [b""] * size
    for number, data in pieces.items():
        tokens[number] = data
    return tokens


def _read_fast(backend: Any, name: str, special: set[int], ends: tuple[int, ...]) -> Tokens:
    record = json.loads(backend.to_str())
    model = record["model"]
    vocabulary = model["vocab"]
    unknown = model.get("unk_token")
    if isinstance(vocabulary, dict):
        pieces = {number: piece for piece, number in vocabulary.items()}
        unknown_ids = {vocabulary[unknown]} if unknown in vocabulary else set()
    else:  # Unigram: pairs of piece and score
        pieces = {number: piece for number, (piece, _) in enumerate(vocabulary)}
        unknown_ids = set() if model.get("unk_id") is None else {model["unk_id"]}
    for added in record["added_tokens"]:
        # Do not use the content: an added token may be stored in normalised form, as "▁<tool>".
        pieces[added["id"]] = backend.id_to_token(added["id"])
        if added["special"]:
            special.add(added["id"])
    data, strips = bytes_of_pieces(list(pieces.values()), record["decoder"], name)
    tokens = _by_id(dict(zip(pieces, data, strict=True)), name)
    return Tokens(tokens, ends, frozenset(special | unknown_ids), strips)


def _read_tekken(tokenizer: Any) -> Tokens:
    ids = range(tokenizer.n_words)
    tokens = list(map(tokenizer.id_to_byte_piece, ids))  # b"" for special tokens
    return Tokens(tokens, (tokenizer.eos_id,), frozenset(filter(tokenizer.is_special, ids)))


def _read_tiktoken(encoding: Any) -> Tokens:
    special = {encoding.encode_single_token(token) for token in encoding.special_tokens_set}
    pieces: dict[int, bytes] = {}
    for number in range(encoding.n_vocab):
        try:
            pieces[number] = encoding.decode_single_token_bytes(number)
        except KeyError:  # ids may have gaps
            continue
    try:
        ends: tuple[int, ...] = (encoding.eot_token,)
    except KeyError:
        ends = ()
    return Tokens(_by_id(pieces, _name(encoding)), ends, frozenset(special))


def _read_sentencepiece(model: Any) -> Tokens:
    tokens, special = _sentencepiece_tokens(model)
    end = model.eos_id()
    return Tokens(tokens, () if end < 0 else (end,), special, _drops_space(model.decode, model))


def _read_slow_sentencepiece(tokenizer: Any) -> Tokens:
    """Read a slow tokenizer whose ids are those of its SentencePiece model, possibly shifted.

    If `convert_tokens_to_string` strips its output, the decoder is assumed to drop one leading space.
    """
    model, name = tokenizer.sp_model, _name(tokenizer)
    raw, raw_special = _sentencepiece_tokens(model)
    by_piece = {model.id_to_piece(number): number for number in range(len(raw))}
    added = tokenizer.added_tokens_decoder
    pieces: dict[int, bytes] = {}
    special = set(tokenizer.all_special_ids)
    for number in range(max(len(tokenizer), max(added, default=-1) + 1)):
        if number in added:
            pieces[number] = added[number].content.encode("utf-8")
            if added[number].special:
                special.add(number)
            continue
        piece = tokenizer.convert_ids_to_tokens(number)
        if piece not in by_piece:
            continue
        pieces[number] = raw[by_piece[piece]]
        if by_piece[piece] in raw_special:
            special.add(number)
    starter = next((p for p in by_piece if len(p) > 1 and p[0] == _SPACE != p[1]), None)
    strips = starter is not None and not tokenizer.convert_tokens_to_string([starter])[:1].isspace()
    return Tokens(_by_id(pieces, name), _ends(tokenizer), frozenset(special), strips)


def _sentencepiece_tokens(model: Any) -> tuple[list[bytes], frozenset[int]]:
    tokens, special = [], set()
    for number in range(model.get_piece_size()):
        piece = model.id_to_piece(number)
        if model.is_control(number) or model.is_unknown(number) or model.is_unused(number):
            special.add(number)
        is_byte = model.is_byte(number)
        tokens.append(
            bytes([int(piece[3:5], 16)]) if is_byte else piece.replace(_SPACE, " ").encode("utf-8")
        )
    return tokens, frozenset(special)


def _drops_space(decode: Any, model: Any) -> bool:
    for number in range(model.get_piece_size()):
        piece = model.id_to_piece(number)
        if len(piece) > 1 and piece[0] == _SPACE != piece[1]:
            return not decode([number]).startswith(" ")
    return False


def _read_byte_tokenizer(tokenizer: Any) -> Tokens:
    pieces = {tokenizer.offset + byte: bytes([byte]) for byte in range(tokenizer._utf_vocab_size)}
    special = set(tokenizer.all_special_ids)
    for number, added in tokenizer.added_tokens_decoder.items():
        pieces[number] = added.content.encode("utf-8")
        if added.special:
            special.add(number)
    return Tokens(_by_id(pieces, _name(tokenizer)), _ends(tokenizer), frozenset(special))
