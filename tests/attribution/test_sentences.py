"""Where sentences end in plain text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.attribution.sentences import sentence_ranges, split_sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Mr. Bean met Dr. No. They left.", ["Mr. Bean met Dr. No.", "They left."]),
        ("J. K. Rowling wrote it. She won.", ["J. K. Rowling wrote it.", "She won."]),
        ("It is in the U.S. The law says so.", ["It is in the U.S.", "The law says so."]),
        ("The U.S. Navy came.", ["The U.S. Navy came."]),
        ("Acme Inc. sold it. Fine.", ["Acme Inc. sold it.", "Fine."]),
        ("It cost 3.5 million. That is 2.", ["It cost 3.5 million.", "That is 2."]),
        ("Released in 1943. A hit.", ["Released in 1943.", "A hit."]),
        (
            "See No. 5 and Fig. 2. He said no. We left.",
            ["See No. 5 and Fig. 2.", "He said no.", "We left."],
        ),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("(It rained.) We stayed.", ["(It rained.)", "We stayed."]),
        ("Wait... what? Yes.", ["Wait... what?", "Yes."]),
        ("First line\nsecond line.", ["First line", "second line."]),
        ("1. Bing sang it.\n2. Kay did not.", ["1. Bing sang it.", "2. Kay did not."]),
        ("It sold. [1] He sang.", ["It sold.", "[1] He sang."]),
        ("日本語です。もう一つ。", ["日本語です。", "もう一つ。"]),
        ("e.g. this one, i.e. that. Done.", ["e.g. this one, i.e. that.", "Done."]),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


@given(st.text("aB1. !?\n\"'()[]。", max_size=60) | st.text(max_size=60))
def test_nothing_is_lost(text: str) -> None:
    ranges = sentence_ranges(text)
    assert "".join("".join(text[a:b].split()) for a, b in ranges) == "".join(text.split())
    assert all(text[a:b] == text[a:b].strip() != "" for a, b in ranges)
    assert [a for a, _ in ranges] == sorted(a for a, _ in ranges)
