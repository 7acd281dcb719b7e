"""Splitting a body into words and sentences; headings and size limits."""

from __future__ import annotations

import pytest
from hypothesis import given

from semqa.engines.extractive.passage import MAX_CHARACTERS, read_passage
from tests.strategies import texts


def sentences(text: str, title: str = "") -> list[str]:
    p = read_passage(text, title)
    return [text[p.starts[s.first] : s.end] for s in p.sentences]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One ran. Two sat!", ["One ran.", "Two sat!"]),
        ("Mr. Berg met Dr. Aas. She left.", ["Mr. Berg met Dr. Aas.", "She left."]),
        ("J. R. Smith ran.", ["J. R. Smith ran."]),
        ("It cost 3.5 million.", ["It cost 3.5 million."]),
        ('He said "No." Then he left.', ['He said "No."', "Then he left."]),
        ("東京は首都。人口は多い。", ["東京は首都。", "人口は多い。"]),
        ("هل وصل؟ نعم.", ["هل وصل؟", "نعم."]),
        ("A list\n\n- one\n- two", ["A list", "one", "two"]),
        ("One line\nand its end.", ["One line\nand its end."]),
        ("Before [1] after.", ["Before", "1", "after."]),
        ("", []),
        ("!!!", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_a_repeated_title_is_a_heading_not_a_sentence() -> None:
    assert sentences("Oslo Tower The tower fell.", "Oslo Tower") == ["The tower fell."]
    assert sentences("It fell. Oslo Tower The tower fell.", "Oslo Tower") == [
        "It fell.",
        "The tower fell.",
    ]
    assert sentences("Oslo is a city.", "Oslo") == ["Oslo is a city."]


def test_only_blocks_with_question_words_are_read_of_a_long_body() -> None:
    body = "Nothing here. " * 20_000 + "The zebra was born in 1990. " + "Nothing here. " * 20_000
    p = read_passage(body, stems=("zebra", "born"))
    assert "zebra" in p.words
    assert len(p.words) < MAX_CHARACTERS


@given(texts, texts)
def test_words_and_sentences_are_in_order_and_inside_the_body(text: str, title: str) -> None:
    p = read_passage(text, title)
    at = 0
    for start, end in zip(p.starts, p.ends, strict=True):
        assert at <= start < end <= len(text)
        at = end
    done = 0
    for sentence in p.sentences:
        assert done <= sentence.first < sentence.last <= len(p.words)
        quote = text[p.starts[sentence.first] : sentence.end]
        assert sentence.end >= p.ends[sentence.last - 1]
        assert "[" not in quote
        assert "]" not in quote
        done = sentence.last


def test_a_markdown_heading_is_not_part_of_the_next_sentence() -> None:
    passage = read_passage("# Release notes\nPython came out.\n\n## More\nIt is # fast.")
    found = [" ".join(passage.words[s.first : s.last]) for s in passage.sentences]
    assert found == ["release notes", "python came out", "more", "it is fast"]


def test_abbreviations_of_other_languages_end_no_sentence() -> None:
    for text in (
        "Das Haus wird am 1. Mai frei. Hunde, d. h. alle nach Art. 7, sind verboten.",
        "Le loyer est payé à Mme. Dupont selon l'art. 3. Le bail dure un an, p. ex. Paris.",
        "La renta se paga a la Sra. Pérez. El contrato lo firma el Sr. García.",
    ):
        assert len(read_passage(text).sentences) == 2
    assert len(read_passage("He paid Mme. [sic] Roux. It rained.").sentences) == 4
