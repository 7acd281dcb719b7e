"""Passages are exact parts of a document, and end where sentences do."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa.documents import Document, Passage, split
from semqa.documents.split import MAX_CONTEXT, MAX_LENGTH, MIN_LENGTH, TARGET_LENGTH

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


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.lists(st.integers(0, 3000), max_size=5))
def test_each_word_is_in_one_passage(text: str, breaks: list[int]) -> None:
    pages = (0, *sorted({each for each in breaks if each <= len(text)})) if breaks else ()
    passages = split(document(text, pages))
    at = 0
    for passage in passages:
        assert not any(map(str.isalnum, text[at : passage.start]))
        inside = text[passage.start : passage.end]
        assert inside == inside.strip() != ""
        assert len(inside) <= MAX_LENGTH
        assert sum(map(len, passage.context)) <= MAX_CONTEXT
        if pages:
            assert passage.page is not None
            assert pages[passage.page - 1] <= passage.start
            assert passage.page == len(pages) or passage.start < pages[passage.page]
        else:
            assert passage.page is None
        at = passage.end
    assert not any(map(str.isalnum, text[at:]))


def test_a_passage_ends_with_a_sentence() -> None:
    text = " ".join(f"Dr. Berg said in the U.S. that {i} is 3.5 times more." for i in range(200))
    found = parts(text)
    assert len(found) > 5
    assert all(each.endswith("times more.") for each in found)
    assert all(len(each) <= TARGET_LENGTH for each in found)


def test_a_passage_ends_with_a_paragraph_rather_than_within_one() -> None:
    paragraph = "The harbour was built in 1890. " * 14
    found = parts("\n\n".join([paragraph] * 6))
    assert found == [paragraph.strip()] * 6


def test_a_heading_stays_with_its_text() -> None:
    text = "The harbour was built in 1890. " * 25 + "\n\nHistory\n\n" + "It burnt down. " * 10
    found = parts(text)
    assert [each.startswith("History") for each in found] == [False, True]


SECTION = "The harbour was built in 1890. " * 12


def test_a_passage_ends_with_a_section() -> None:
    text = f"# Oslo\n\n{SECTION}\n\n{SECTION}\n\n# Bergen\n\n{SECTION}"
    assert [each.split("\n")[0] for each in parts(text)] == ["# Oslo", "# Bergen"]
    long = f"# Oslo\n\n{SECTION}\n\n{SECTION}\n\n{SECTION}\n\n# Bergen\n\n{SECTION}"
    assert [each.context for each in split(document(long))] == [(), ("Oslo",), ()]


def test_a_list_goes_with_its_lead_in() -> None:
    items = "\n".join(f"- the harbour burnt down in {i}, and was built again" for i in range(20))
    found = split(document(f"{SECTION}\n\nThis happened:\n\n{items}\n\n{SECTION}"))
    assert len(found) == 3
    long = document("This happened:\n\n" + "\n".join([items] * 5))
    passages = split(long)
    assert passages[0].context == ()
    assert {each.context for each in passages[1:]} == {("This happened:",)}
    assert all(long.text[each.start : each.end].startswith("- the") for each in passages[1:])


def test_rows_go_with_their_header() -> None:
    rows = "\n".join(f"| {i} | {i * 3} ships, {i} ferries |" for i in range(20))
    table = f"| Year | Ships |\n| --- | --- |\n{rows}"
    assert len(split(document(f"{SECTION}\n\n{table}\n\n{SECTION}"))) == 3
    long = document(f"# Traffic\n\n{table}\n" + "\n".join([rows] * 5))
    passages = split(long)
    assert long.text[passages[0].start : passages[0].end].startswith("# Traffic\n\n| Year")
    assert {each.context for each in passages[1:]} == {("Traffic", "Year | Ships")}


def test_an_answer_goes_with_its_question() -> None:
    faq = "\n\n".join(f"Did it burn in {i}?\n{SECTION}" for i in range(5))
    assert [each.split("\n")[0] for each in parts(faq)] == [
        f"Did it burn in {i}?" for i in range(5)
    ]


def test_context_is_short_and_nearest_lines_come_first() -> None:
    heads = "\n\n".join(f"{'#' * i} {'word ' * 30}{i}" for i in range(1, 7))
    last = split(document(f"{heads}\n\n" + f"{SECTION}\n\n" * 4))[-1]
    assert len(last.context) == 2
    assert last.context[1].endswith("6")


def test_a_passage_has_several_messages() -> None:
    chat = "".join(
        f"[3 May, 10:{n}] Ann: Who of you has seen my green bicycle?\n" for n in range(10, 30)
    )
    assert min(map(len, parts(chat)[:-1])) >= MIN_LENGTH


def test_texts_of_other_scripts_are_cut_at_their_stops() -> None:
    for sentence in (
        "東京は日本の首都で、人口が多い都市です。",
        "वह कल यहाँ आया था और आज चला गया। ",
    ):
        found = parts(sentence * 200)
        assert len(found) > 3
        assert all(each.endswith(sentence.strip()) for each in found)


def test_a_sentence_that_begins_on_a_page_begins_a_passage() -> None:
    text = "One ends here. Two goes on over the page. Three is there."
    found = split(document(text, (0, 20)))
    assert found == [Passage(0, 41, 1), Passage(42, len(text), 2)]


@pytest.mark.parametrize(
    "text",
    [
        "x" * 40_000,
        "`a``b```" * 4_000,
        "e" + "\u0301" * 25_000,
        "\n " * 20_000,
        "1. " * 12_500,
        '("' * 12_500,
        "." * 40_000 + "x",
        ".)" * 12_500 + "x",
        "a\n\n" * 7_500,
        "".join("#" * (i % 6 + 1) + " a\n" for i in range(6_000)),
        "- a\n" * 7_500,
        "a?\n\n" * 6_000,
        "a:\n- b\n\n" * 4_000,
        "Ann: x\nBob: y\n" * 4_000,
        "From: x\nTo: y\n\n" * 2_500,
        "| a " * 7_500 + "|\n| --- |\n" + "| a |\n" * 4_000,
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_texts_are_read_quickly(text: str) -> None:
    started = time.process_time()
    passages = split(document(text))
    assert time.process_time() - started < 2
    assert all(each.end - each.start <= MAX_LENGTH for each in passages)


def test_context_that_is_used_up_to_the_last_character() -> None:
    heads = "\n\n".join(f"{'#' * level} {'a' * 100}" for level in (1, 2, 3, 4))
    passages = split(Document("a.md", "md", "a", f"{heads}\n\n{'A cat sat. ' * 300}"))
    assert passages[-1].context == ("a" * 100,) * 3


def test_exclusions_stay_with_their_heading() -> None:
    clauses = "\n\n".join(
        f"Damage by {what} to the house, " + "word " * 40 + "end." for what in "abcde"
    )
    text = f"# Terms\n\nWe insure the house.\n\n## What is not insured\n\n{clauses}\n\n## Claims\n\nCall."
    (excluded,) = [part for part in parts(text) if "Damage" in part]
    assert excluded.count("Damage") == 5
    assert "## What is not insured" in excluded
    assert sum("Damage" in part for part in parts(text.replace("not insured", "insured"))) > 1
