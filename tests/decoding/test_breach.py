"""The check of finished texts agrees with the language and describes the breach."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa import Source
from semqa.decoding import QuotePolicy, find_breach
from semqa.quotes import ABSTENTION
from tests.decoding.oracle import is_answer_bytes
from tests.decoding.strategies import FREE, TEXTS, fitting, policies, questions, source_lists
from tests.effort import effort

SOURCES = [Source("In 1943, Anna sang. Anna wrote.", title="Song"), Source("blue and red")]

BROKEN = [
    ("it [ 1 Song", {}, r"^a bracket is not part of a quote: '\[ 1 Song'$"),
    ("it", {}, "^nothing is quoted"),
    ("[ 3 Song ]", {}, "^there is no source 3$"),
    ("[ 2 blue ]", {"quote_from": (1,)}, "^source 2 may not be quoted$"),
    ("[ 1  Song ]", {}, "^' Song' begins or ends with white space$"),
    ("[ 1 Song In ]", {}, "^'Song In' is not in source 1$"),
    ("[ 1 nna ]", {}, "^'nna' cuts a word of source 1$"),
    ("[ 2 and ]", {}, "^'and' has no content word$"),
    ("[ 2 red ] [ 2 and red ]", {}, "^'and red' repeats an earlier quote$"),
    ("in 1943 [ 1 Song ]", {}, "^'1943' is not allowed outside quotes$"),
    ("it " * 11 + "[ 1 Song ]", {}, "^11 words in a row"),
    (".,., [ 1 Song ]", {}, "^more than 3 punctuation marks"),
    ("it  is [ 1 Song ]", {}, "^there are two white-space characters in a row$"),
    ("'it [ 1 Song ]", {}, "^an apostrophe"),
    ("it[ 1 Song ]", {}, "^there is no space after 't'$"),
    ("so it is in [ 1 Song ] so it is on [ 2 red ]", {}, "^'so it is on' begins like"),
]


@pytest.mark.parametrize(("text", "rules", "reason"), BROKEN, ids=[text for text, _, _ in BROKEN])
def test_a_breach_is_described(text: str, rules: dict[str, object], reason: str) -> None:
    found = find_breach(text, SOURCES, QuotePolicy(**rules))  # type: ignore[arg-type]
    assert found is not None
    assert re.search(reason, found)


GLUE = (
    "it", "It", "is", "and", "then", "Who", "WHO", "Bing", "sang", "singing", "1942", "12", "it's", "ü", "über", " it is in ",
    " ", " ", "\n", "  ", ",", ".", " (", ") ", "-", '"', "/", "…", "'", "’", " the ", " that there ",
)  # fmt: skip


@settings(max_examples=effort(80))
@given(st.data())
def test_it_agrees_with_the_language(data: st.DataObject) -> None:
    sources = data.draw(source_lists)
    spans = [
        text[a:b]
        for source in sources
        for text in (source.title, source.text)
        for a, b in [sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))]
    ]
    words = {word for source in sources for word in f"{source.title} {source.text}".split()}
    numbers = st.integers(0 if data.draw(st.booleans()) else 1, max(1, len(sources)))
    span = st.sampled_from([*spans, *sorted(words), *TEXTS])
    quote = st.builds("[ {} {} ]".format, numbers, span)
    spaced = st.builds(" {} ".format, quote)
    loose = st.sampled_from([*FREE, "[", "]", "[ ", " ]", "[ 1 ", ABSTENTION])
    glue = st.lists(st.sampled_from(GLUE), max_size=12).map("".join)
    pieces = st.one_of(spaced, quote, glue, glue, *([loose] if data.draw(st.booleans()) else []))
    text = "".join(data.draw(st.lists(pieces, max_size=6)))
    policy = fitting(data.draw(policies), len(sources))
    question = data.draw(questions)
    wanted = is_answer_bytes(text.encode("utf-8", "surrogatepass"), sources, policy, question)
    assert (find_breach(text, sources, policy, question) is None) == wanted


HOSTILE = {
    "opened": "[ 1 " * 100_000,
    "begun": "[ 1 a" * 100_000,
    "brackets": "[" * 500_000,
    "spaces": "[ 1" + " " * 500_000,
    "words": "it" * 250_000 + "[ 1 Song ]",
    "apostrophes": "it'" * 150_000 + "[ 1 Song ]",
    "quotes": "[ 1 Song ]" * 50_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_malicious_texts_take_linear_time(text: str) -> None:
    found = find_breach(text, SOURCES, QuotePolicy())
    assert found is not None
    assert len(found) < 100
