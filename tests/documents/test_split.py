"""Passages are exact parts of a document, and end where sentences do."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa.documents import Document, Passage, split
from semqa.documents.split import LONGEST, USUAL

PIECES = st.sampled_from(
    [
        "A cat sat. ",
        "Dr. No came!",
        "\n\n",
        "\n",
        " ",
        "# Head",
        "x" * 700,
        "שלום. ",
        "\u202e",
        "é",
        "e\u0301",
        "日本は。",
        "👩\u200d👩\u200d👧",
        "3.5 ",
        "[ 1 x ]",
        "a|b",
        ". ",
        "?!",
        "\t",
        "\u00a0",
        "word " * 90,
    ]
)
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=40).map("".join)


def document(text: str, pages: tuple[int, ...] = ()) -> Document:
    return Document("a.txt", "txt", "a", text, pages)


def parts(text: str) -> list[str]:
    return [text[each.start : each.end] for each in split(document(text))]


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.lists(st.integers(0, 3000), max_size=5))
def test_each_character_but_white_space_is_in_one_passage(text: str, breaks: list[int]) -> None:
    pages = (0, *sorted({each for each in breaks if each <= len(text)})) if breaks else ()
    passages = split(document(text, pages))
    at = 0
    for passage in passages:
        assert text[at : passage.start].strip() == ""
        inside = text[passage.start : passage.end]
        assert inside == inside.strip() != ""
        assert len(inside) <= USUAL + LONGEST
        if pages:
            assert passage.page is not None
            assert pages[passage.page - 1] <= passage.start
            assert passage.page == len(pages) or passage.start < pages[passage.page]
        else:
            assert passage.page is None
        at = passage.end
    assert text[at:].strip() == ""


def test_a_passage_ends_with_a_sentence() -> None:
    text = " ".join(f"Dr. Berg said in the U.S. that {i} is 3.5 times more." for i in range(200))
    found = parts(text)
    assert len(found) > 5
    assert all(each.endswith("times more.") for each in found)
    assert all(len(each) <= USUAL for each in found)


def test_a_passage_ends_with_a_paragraph_rather_than_within_one() -> None:
    paragraph = "The harbour was built in 1890. " * 12
    found = parts("\n\n".join([paragraph] * 6))
    assert found == [paragraph.strip()] * 6


def test_a_heading_goes_with_what_it_heads() -> None:
    text = "The harbour was built in 1890. " * 25 + "\n\nHistory\n\n" + "It burnt down. " * 10
    found = parts(text)
    assert [each.startswith("History") for each in found] == [False, True]


def test_a_long_list_without_full_stops_is_cut() -> None:
    found = parts("\n\n".join(f"item {i}" for i in range(5000)))
    assert len(found) > 20
    assert max(map(len, found)) <= USUAL + LONGEST


def test_a_sentence_that_begins_on_a_page_begins_a_passage() -> None:
    text = "One ends here. Two goes on over the page. Three is there."
    found = split(document(text, (0, 20)))
    assert found == [Passage(0, 41, 1), Passage(42, len(text), 2)]


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "word " * 200_000,
        "`a``b```" * 50_000,
        "e" + "\u0301" * 300_000,
        "\n " * 300_000,
        "A. " * 300_000,
        '("' * 300_000,
        "\u202ea " * 300_000,
    ],
    ids=["letters", "words", "ticks", "marks", "lines", "stops", "quotes", "overrides"],
)
def test_no_text_takes_long(text: str) -> None:
    started = time.process_time()
    passages = split(document(text))
    assert time.process_time() - started < 20
    assert all(each.end - each.start <= USUAL + LONGEST for each in passages)


def test_words_and_marks_are_not_torn_apart() -> None:
    for text in ("wordword " * 1000, ("e\u0301" * 5 + " ") * 1000):
        assert set(" ".join(parts(text)).split()) == set(text.split())
    long = parts("e\u0301" * 5000)
    assert not any(each.startswith("\u0301") for each in long)
