"""Unusual text: brackets, signs, dashes, scripts, invisible characters."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from semqa import Source
from semqa.engines.extractive import ExtractiveEngine
from semqa.engines.extractive.compose import span_text
from semqa.engines.extractive.matching import read_units
from semqa.engines.extractive.passage import MAX_SENTENCE_WORDS, read_passage
from tests.effort import effort

PIECES = (
    *("[", "]", "[ 1 ", " ]", "(", ")", "“", "”", '"', "«", "'", "<b>", "[sic]", "1]"),
    *("– 1942", "-40", "−3", "–", "—", "-", "$3", "€", "5%", ".5", "1,500", "#", "C++", "°C"),
    *("שלום", "مرحبا ٣", "日本語。", "、", "한국어", "👩‍👩‍👧", "e\u0301", "ﬁ", "ß", "İ", "²"),
    *("\n", "\r\n", "\n\n", "\t", "\u00a0", "\u2028", "\u200b", "\u200d", "\u202e", "\ufeff", "\x00"),
    *(" ", " ", ". ", "! ", ", ", "; ", "It was built in 1932", "Ann Aas", "he", "because", "NSFL"),
)  # fmt: skip
hostile = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
questions = st.sampled_from(
    ["How much?", "When was it built?", "What does NSFL stand for?", "Who and when?", "Is it -40?"]
)


@settings(max_examples=effort(100))
@example("How much?", [("", "\n\n[", "")], 100, 0.45)  # no unit to quote
@given(
    questions | hostile.map("who?".__add__),
    st.lists(st.tuples(hostile, hostile, hostile), min_size=1, max_size=3),
    st.sampled_from([1, 2, 3, 100]),
    st.sampled_from([0.0, 0.45, 1.0]),
)
def test_every_quote_verifies_and_fits(
    question: str, texts: list[tuple[str, str, str]], max_words: int, coverage: float
) -> None:
    sources = [Source(f"{before}word{after}", title=title) for before, after, title in texts]
    engine = ExtractiveEngine(max_words=max_words, coverage=coverage)
    answer = engine.answer(question, sources)
    assert answer.quotes
    assert {quote.status.value for quote in answer.quotes} == {"verified"}, answer.marked
    words = [word for word in answer.plain.split() if any(map(str.isalnum, word))]
    assert len(words) <= max_words * 3 // 2, answer.marked  # half as many more for a list
    assert engine.answer(question, sources).marked == answer.marked


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        *((text, text) for text in ("-40", "−40 °C", "$3", "€3", "~5", ".5", "#1", "§5", "≥18")),
        *((text, text) for text in ("5%", "5€", "20°", "18+", "C++", "C#", "100%!")),
        *((text, text) for text in ("(b)", "(-5)", "“-4”", "1939–1945", "COVID-19")),
        ("- 5", "5"),
        ("– 1942", "1942"),
        ("[-40]", "-40"),
        ("a-40", "a-40"),
    ],
)
def test_a_sign_belongs_to_the_number_it_touches(text: str, quote: str) -> None:
    answer = ExtractiveEngine().answer("How much?", [Source(text)])
    assert [quote.text for quote in answer.quotes] == [quote]


def test_a_sign_is_kept_at_the_end_of_a_span_inside_a_sentence() -> None:
    source = Source("The price rose by 5%, which hurt all the old shops of the long main street.")
    answer = ExtractiveEngine(max_words=6).answer("How much did the price rise?", [source])
    assert answer.quotes[0].text == "The price rose by 5%"


def test_a_sign_is_kept_where_a_sentence_without_stops_is_cut() -> None:
    passage = read_passage("word " * (MAX_SENTENCE_WORDS - 1) + "5% " + "word " * 20)
    assert span_text(passage, 0, passage.sentences[0].last).endswith("word 5%")


@pytest.mark.parametrize("cell", ["x\ry", "x" * 200_000])
def test_rows_that_are_no_valid_csv_are_read(cell: str) -> None:
    units = read_units(Source(f"code,plant,price\n{cell},Phlox,8\nA3,Sage,5"))
    assert "plant: Sage" in units.embedded[2]
    assert "plant: Phlox" in units.embedded[1]


@pytest.mark.parametrize(
    "text",
    [
        f"| Fee | Cost |\n|---|---|\n| a | 1 |\n| {'(' * 60_000} x | 4 |",
        f"## {'_a' * 60_000} x\n\nIt costs 4.",
        f"It costs 4. {'a' * 60_000}",
    ],
    ids=["brackets", "heading", "word"],
)
def test_long_words_are_read_in_linear_time(text: str) -> None:
    sources = [Source(text, title="Anna"), Source("Bo costs 5.", title="Bo")]
    started = time.process_time()
    assert ExtractiveEngine(encoder="none").answer("What does Anna cost?", sources).verified
    assert time.process_time() - started < 5
