"""The syntax of marks: quotes, ordinary text and broken marks."""

from __future__ import annotations

import pytest
from hypothesis import given

from semqa.quotes.marks import BrokenMark, FreePiece, Mark, MarkedPiece, canonical_mark, scan_marks
from tests.strategies import texts


@pytest.mark.parametrize(
    ("text", "source", "span"),
    [
        ("[ 1 Bing Crosby ]", 1, "Bing Crosby"),
        ("[1 Bing Crosby]", 1, "Bing Crosby"),
        ("[\t1\tBing\nCrosby\t]", 1, "Bing\nCrosby"),
        ("[ 1  two spaces  ]", 1, "two spaces"),
        ("[ 12 x ]", 12, "x"),
        ("[ 1 1, 2 ]", 1, "1, 2"),
        ("[ 1 -40 ]", 1, "-40"),
        ("[1 – 1942]", 1, "– 1942"),
        ("[ 3 مرحبا 🎄 é ]", 3, "مرحبا 🎄 é"),
    ],
)
def test_one_mark(text: str, source: int, span: str) -> None:
    assert list(scan_marks(text)) == [Mark(source, span)]


@pytest.mark.parametrize(
    "text", ["", "plain", "[sic]", "[citation needed]", "[2nd ed.]", "[1x y]", "a] b", "[]", "[ ]", "x[", "[ ١ x ]", "[-1 x]", "［ 1 x ］"]
)  # fmt: skip
def test_ordinary_text(text: str) -> None:
    assert list(scan_marks(text)) == ([FreePiece(text)] if text else [])


@pytest.mark.parametrize(
    ("text", "source", "reason"),
    [
        ("[1]", 1, "quotes nothing"),
        ("[ 1 ]", 1, "quotes nothing"),
        ("[1-3]", 1, "quotes nothing"),
        ("[ 1 never closed", 1, "closing bracket is missing"),
        ("[ 0 x ]", 0, "not a source number"),
        ("[ 01 x ]", 1, "not a source number"),
        ("[ " + "9" * 5000 + " x ]", 0, "5000 digits"),
    ],
)
def test_broken_marks_say_why(text: str, source: int, reason: str) -> None:
    (piece,) = scan_marks(text)
    assert isinstance(piece, BrokenMark)
    assert (piece.text, piece.source) == (text, source)
    assert reason in piece.reason


def _written(piece: MarkedPiece) -> str:
    return canonical_mark(piece.source, piece.text) if isinstance(piece, Mark) else piece.text


@given(texts)
def test_canonical_marks_are_parsed_back(text: str) -> None:
    pieces = list(scan_marks(text))
    assert list(scan_marks("".join(map(_written, pieces)))) == pieces


@given(texts)
def test_only_marks_are_changed(text: str) -> None:
    def squeezed(value: str) -> str:
        return "".join(value.split())

    assert squeezed("".join(map(_written, scan_marks(text)))) == squeezed(text)


@pytest.mark.parametrize("hostile", ["[1" + " " * 200_000, "[" * 200_000, "[1 " * 100_000, "[1 x" + " " * 200_000 + "y["])  # fmt: skip
def test_hostile_text_is_read_to_its_end(hostile: str) -> None:
    assert sum(len(_written(piece)) for piece in scan_marks(hostile)) == len(hostile)
