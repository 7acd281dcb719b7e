"""The decoders of Hugging Face's ``tokenizers``, read from their JSON, one token at a time.

A decoder turns a list of pieces into text. The constraint needs the bytes that each piece adds,
whatever stands around it; a decoder that is no such sum of pieces is refused.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from semqa.errors import InputError

__all__ = ["bytes_of_pieces"]

Piece = str | bytes
"""A piece on its way: text, or bytes once it stands for bytes that may be half a character."""

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")

# What WordPiece's `cleanup` replaces, in this order.
_CLEANUP = (
    (" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"),
    (" 'm", "'m"), (" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"),
)  # fmt: skip


def bytes_of_pieces(
    pieces: list[str], decoder: dict[str, Any] | None, name: str
) -> tuple[list[bytes], bool]:
    """Return the bytes that each piece adds to an output.

    Args:
        pieces: the pieces of the vocabulary.
        decoder: the decoder's JSON; None joins pieces with spaces.
        name: the tokenizer, for messages.

    Returns:
        The bytes by piece, and whether one leading space of the whole output is dropped.

    Raises:
        InputError: the decoder is not known, or is no sum of pieces.

    Example:
        >>> bytes_of_pieces(["Hi", "##gh"], {"type": "WordPiece", "prefix": "##", "cleanup": True}, "")
        ([b' Hi', b'gh'], True)
    """
    work = _Work(list(pieces), name)
    if decoder is None:
        work.prefix_words("")
    else:
        work.apply(decoder)
    return [p.encode("utf-8") if isinstance(p, str) else p for p in work.pieces], work.strips


class _Work:
    """The pieces of a vocabulary on their way through a decoder.

    Attributes:
        pieces: what each piece has become.
        fused: whether the decoder has joined them: what follows sees one text.
        strips: whether one leading space of the whole output is dropped.
    """

    def __init__(self, pieces: list[str], name: str) -> None:
        self.pieces: list[Piece] = list(pieces)
        self.name = name
        self.fused = False
        self.strips = False

    def apply(self, decoder: dict[str, Any]) -> None:
        """Do what one decoder does."""
        kind = decoder["type"]
        match kind:
            case "Sequence":
                for part in decoder["decoders"]:
                    self.apply(part)
            case "Fuse":
                self.fused = True
            case "ByteLevel":
                self._need_apart(kind)
                self.pieces = [_from_byte_alphabet(piece) for piece in self.pieces]
                self.fused = True
            case "ByteFallback":
                self._need_apart(kind)
                self.pieces = [_from_byte_piece(piece) for piece in self.pieces]
            case "Metaspace":
                self._need_apart(kind)
                scheme = decoder.get("prepend_scheme")
                if scheme is None:  # files of early versions
                    scheme = "always" if decoder.get("add_prefix_space", True) else "never"
                self._replace(decoder["replacement"], " ")
                self.strips |= scheme != "never"
            case "WordPiece":
                self._need_apart(kind)
                self.prefix_words(decoder["prefix"])
                if decoder["cleanup"]:
                    for wrong, right in _CLEANUP:
                        self._replace(wrong, right)
            case "BPEDecoder":
                self._need_apart(kind)
                self._replace(decoder["suffix"], " ")
            case "Replace":
                wrong = decoder["pattern"].get("String")
                if wrong is None:
                    self._refuse("Replace with a regular expression", "one with a string")
                if self.fused and len(wrong) != 1:
                    self._refuse(f"Replace of {wrong!r} across tokens", "one within each token")
                self._replace(wrong, decoder["content"])
            case "Strip":
                self._strip(decoder["content"], decoder["start"], decoder["stop"])
            case _:
                self._refuse(kind, "a decoder that gives each token bytes of its own")

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
                self._refuse(
                    f"Strip of {content!r}, {start} at the start and {stop} at the end",
                    "at most one space at the start",
                )
            self.strips = True

    def _replace(self, wrong: str, right: str) -> None:
        self.pieces = [
            piece.replace(wrong, right) if isinstance(piece, str) else piece
            for piece in self.pieces
        ]

    def _need_apart(self, kind: str) -> None:
        if self.fused:
            self._refuse(f"{kind} after the tokens are joined", "it before")

    def _refuse(self, got: str, expected: str) -> None:
        raise InputError(
            f"Tokens of the tokenizer {self.name} cannot be turned into bytes: its decoder has {got}, expected {expected}.",
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
    """Return GPT-2's characters for bytes: printable Latin-1 as itself, the rest from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    alphabet = {chr(byte): byte for byte in printable}
    others = (byte for byte in range(256) if byte not in printable)
    return alphabet | {chr(0x100 + rank): byte for rank, byte in enumerate(others)}


def _from_byte_alphabet(piece: Piece) -> Piece:
    """Return the bytes that a piece spells; its own text where a character spells none."""
    if isinstance(piece, bytes):
        return piece
    alphabet = _byte_alphabet()
    try:
        return bytes([alphabet[character] for character in piece])
    except KeyError:
        return piece.encode("utf-8")
