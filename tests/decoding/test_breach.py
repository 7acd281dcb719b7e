"""The check of finished texts: it agrees with the definition, and says what is wrong."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa import Source
from semqa.decoding import QuotePolicy, find_breach
from tests.decoding.oracle import is_answer
from tests.decoding.strategies import FREE, TEXTS, policies, questions, source_lists
from tests.effort import effort

SOURCES = [Source("In 1943, Anna sang. Anna wrote.", title="Song"), Source("blue and red")]

BROKEN = [
    ("a [ 1 Song", {}, r"^a bracket that belongs to no quote: '\[ 1 Song'$"),
    ("a [1 Song ]", {}, r"^a bracket that belongs to no quote: '\[1 Song \]'$"),
    ("a [ 01 Song ]", {}, "^a bracket"),
    ("a [ 1  ]", {}, "^a bracket"),
    ("[sic]", {}, "^a bracket"),
    ("[ 3 Song ]", {}, "^there is no source 3$"),
    ("[ 2 blue ]", {"sources": (1,)}, "^source 2 may not be quoted$"),
    ("[ 1  Song ]", {}, "^' Song' begins or ends with white space$"),
    ("[ 1 Song In ]", {}, "^'Song In' does not stand in source 1$"),
    ("[ 1 nna ]", {}, "^'nna' cuts a word of source 1$"),
    ("so blue, [ 2 red ]", {"max_words": 2}, "^3 words, more than 2$"),
    ("so - blue, [ 2 red ]", {"max_free_words": 1}, "^2 words outside of quotes, more than 1$"),
    ("so", {"max_free_words": 0}, "^1 word outside of quotes, more than 0$"),
    ("[ 2 blue and red ]", {"max_span_words": 2}, "^3 words in one quote, more than 2$"),
    ("so", {"min_quotes": 1}, "^0 quotes, fewer than 1$"),
    ("[ 1 Song ]", {"min_quotes": 2}, "^1 quote, fewer than 2$"),
    ("in 1943", {"numbers": "quoted"}, "^the number '1943' stands outside of quotes$"),
    ("so Anna", {"names": "quoted"}, "^the name 'Anna' stands outside of quotes$"),
]


@pytest.mark.parametrize(("text", "rules", "reason"), BROKEN, ids=[text for text, _, _ in BROKEN])
def test_a_breach_is_told_in_words(text: str, rules: dict[str, object], reason: str) -> None:
    found = find_breach(text, SOURCES, QuotePolicy(**rules))  # type: ignore[arg-type]
    assert found is not None
    assert re.search(reason, found)


@settings(max_examples=effort(150))
@given(st.data())
def test_it_agrees_with_the_definition(data: st.DataObject) -> None:
    sources = data.draw(source_lists)
    spans = [
        text[a:b]
        for source in sources
        for text in (source.title, source.text)
        for a, b in [sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))]
    ]
    numbers = st.integers(0, len(sources) + 1)
    quote = st.builds("[ {} {} ]".format, numbers, st.sampled_from([*spans, *TEXTS]))
    loose = st.sampled_from([*FREE, "[", "]", "[ ", " ]", "[ 1 "])
    text = "".join(data.draw(st.lists(st.one_of(loose, quote, quote), max_size=6)))
    policy, question = data.draw(policies), data.draw(questions)
    valid = is_answer(text, sources, policy, question)
    surrogates = any("\ud800" <= char <= "\udfff" for char in text)
    assert (find_breach(text, sources, policy, question) is None) == (valid and not surrogates)


HOSTILE = {
    "opened": "[ 1 " * 100_000,
    "begun": "[ 1 a" * 100_000,
    "brackets": "[" * 500_000,
    "spaces": "[ 1" + " " * 500_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_read_once(text: str) -> None:
    policy = QuotePolicy(numbers="quoted", names="quoted")
    found = find_breach(text, SOURCES, policy)
    assert found is not None
    assert len(found) < 100
