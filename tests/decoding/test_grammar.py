"""The grammar matches the language of the constraint, as llguidance parses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa import InputError, QuotedAnswer, Source
from semqa.data import read_quotesum
from semqa.decoding import QuotePolicy, find_breach
from semqa.decoding.grammar import MAX_FIELDS, MAX_GBNF_PIECES, MAX_PIECES, quoting_grammar
from semqa.quotes import ABSTENTION
from tests.decoding.gbnf import Gbnf
from tests.decoding.strategies import FREE, QUESTIONS, TEXTS
from tests.effort import effort

llguidance: Any = pytest.importorskip("llguidance", reason="needs llguidance")


@cache
def tokenizer() -> Any:
    return llguidance.LLTokenizer("byte")


def matcher_of(grammar: str) -> Any:
    matcher = llguidance.LLMatcher(tokenizer(), grammar, log_level=0)
    assert not matcher.get_error(), matcher.get_error()
    return matcher


def admits(matcher: Any, text: str) -> bool:
    matcher.reset()
    ids = list(text.encode())
    return matcher.validate_tokens(ids) == len(ids) and bool(
        matcher.consume_tokens(ids) and matcher.is_accepting()
    )


def can_say(breach: str | None, policy: QuotePolicy) -> bool:
    """Tell whether a grammar can express the rule that an answer breaks."""
    words = policy.boundary == "char" and "no content word" in (breach or "")
    return "repeats" not in (breach or "") and not words


SOUND = [text for text in TEXTS if text.isprintable() or text.isspace()]
sources = st.lists(
    st.builds(
        Source, st.sampled_from(SOUND) | st.text("ab1 .é", max_size=8), st.sampled_from(SOUND)
    ),
    min_size=1,
    max_size=3,
)
policies = st.builds(
    QuotePolicy,
    boundary=st.sampled_from(["word", "char"]),
    quote_from=st.none() | st.just((1,)),
)


@st.composite
def answers(draw: st.DrawFn, given_sources: Sequence[Source]) -> str:
    """Nearly valid answers: spans cut anywhere, with occasional errors."""
    pieces = []
    for _ in range(draw(st.integers(0, 3))):
        pieces.append(draw(st.sampled_from([f for f in FREE if f.isprintable()])))
        number = draw(st.integers(0, len(given_sources)))
        source = given_sources[number - 1]
        text = draw(st.sampled_from([source.text, source.title, "x"]))
        low = draw(st.integers(0, len(text)))
        span = text[low : draw(st.integers(low, len(text)))]
        if draw(st.booleans()):
            span = span.strip()
        frame = draw(
            st.sampled_from(["[ {} {} ]"] * 6 + ["[{} {}]", "[ {} {}]", "[ {}  {} ]", "[ {} {} "])
        )
        pieces.append(frame.format(number, span))
    pieces.append(draw(st.sampled_from([f for f in FREE if f.isprintable()])))
    return "".join(pieces)


@settings(max_examples=effort(60))
@given(st.data(), sources, policies, st.sampled_from(QUESTIONS[:3]))
def test_it_matches_the_language(
    data: st.DataObject, given_sources: list[Source], policy: QuotePolicy, question: str
) -> None:
    policy = replace(policy, free="any")
    matcher = matcher_of(quoting_grammar(given_sources, policy, question=question))
    for _ in range(8):
        text = data.draw(answers(given_sources))
        breach = find_breach(text, given_sources, policy, question)
        if can_say(breach, policy) and text.strip() != ABSTENTION:
            assert admits(matcher, text) == (breach is None), (text, breach)


@pytest.mark.parametrize("boundary", ["word", "char"])
def test_it_matches_the_same_human_answers_as_the_constraint(shared: Path, boundary: Any) -> None:
    questions = read_quotesum(shared / "data" / "quotesum" / "dev_a.jsonl")
    policy = QuotePolicy(free="any", boundary=boundary)
    admitted = 0
    for question in questions:
        matcher = matcher_of(quoting_grammar(question.sources, policy))
        for reference in question.references:
            text = QuotedAnswer.parse(reference.text, question.sources).marked
            breach = find_breach(text, question.sources, policy)
            if can_say(breach, policy):
                assert admits(matcher, text) == (breach is None), (text, breach)
            admitted += breach is None
    assert admitted > 115


def test_sources_that_are_too_long_are_rejected() -> None:
    long = Source("ab " * (MAX_GBNF_PIECES // 2 + 1))
    with pytest.raises(InputError, match="25,000 words"):
        quoting_grammar([Source("ab " * (MAX_PIECES // 2 + 1))])
    with pytest.raises(InputError, match="12,000 words"):
        quoting_grammar([long], dialect="gbnf")
    assert quoting_grammar([long])
    with pytest.raises(InputError, match="500 titles and bodies"):
        quoting_grammar([Source("ab")] * (MAX_FIELDS + 1))
    with pytest.raises(InputError, match=r"^sources "):
        quoting_grammar([Source("ab")], QuotePolicy(quote_from=(2,)))


@pytest.mark.parametrize(
    ("texts", "boundary"),
    [
        (["the " * (MAX_PIECES // 2)], "word"),
        (["漢字" * (MAX_PIECES // 2 - 10)], "char"),
        (["a" * (MAX_PIECES - 10)], "char"),
        (["ab ["] * (MAX_FIELDS - 1), "word"),
        (["ab [" * 8_000], "word"),
    ],
)
def test_the_largest_ones_compile(texts: list[str], boundary: Any) -> None:
    given_sources = [Source(text) for text in texts]
    policy = QuotePolicy(free="any", boundary=boundary)
    matcher = matcher_of(quoting_grammar(given_sources, policy))
    number, text = len(texts), texts[-1].split(" [")[0][:40].strip()
    assert admits(matcher, f"by [ 1 {texts[0][:2].strip()} ] and [ {number} {text} ].") == (
        boundary == "char" or not texts[0].startswith("the")
    )


@settings(max_examples=effort(60))
@given(st.data(), sources, st.sampled_from(["word", "char"]))
def test_the_gbnf_has_the_same_quotes(
    data: st.DataObject, given_sources: list[Source], boundary: Any
) -> None:
    policy = QuotePolicy(free="any", boundary=boundary)
    grammar = Gbnf(quoting_grammar(given_sources, policy, dialect="gbnf"))
    for _ in range(8):
        text = data.draw(answers(given_sources))
        breach = find_breach(text, given_sources, policy)
        if can_say(breach, policy):
            assert grammar.admits(text) == (breach is None), (text, breach)


def glued(
    dialect: Any, question: str, *given_sources: Source, **rules: Any
) -> Callable[[str], bool]:
    policy = QuotePolicy(**rules)
    grammar = quoting_grammar(given_sources, policy, question=question, dialect=dialect)
    if dialect == "gbnf":
        return Gbnf(grammar).admits
    matcher = matcher_of(grammar)
    return lambda text: admits(matcher, text)


SOLO = Source("In 2018 Colin O'Brady made it, alone; it's so.", "The crossing")


RIGHT = [
    "[ 1 Colin O'Brady ]",
    "[ 1 Colin O'Brady ].",
    "According to the sources, [ 1 Colin O'Brady ] did, and [ 1 In 2018 ].",
    "He crossed Antarctica: [ 1 made it, alone ] [ 1 2018 ]",
    "[ 1 The crossing ] of ANTARCTICA.",
    "The sources do not answer this question.",
    "The answer is: [ 1 alone ].",
]
WRONG = [
    "",
    "The answer is",
    "The sources do not answer",
    "The sources do not answer this question. [ 1 alone ]",
    "He died in [ 1 2018 ].",
    "In 2018, [ 1 Colin O'Brady ].",
    "[ 1 Colin O'Brady ] is British.",
    "[ 1 In ]",
    "[ 1 it's so ]",
    "[ 1 , ]",
    "So  [ 1 alone ]",
    "so so so so so so so so so so so [ 1 alone ]",
    "so, so, so, so, [ 1 alone ]",
    "[ 1 alone] and",
    "[ 1 alo ]",
]


@pytest.mark.parametrize("dialect", ["lark", "gbnf"])
def test_glue_is_allowed_around_quotes_but_no_claims(dialect: Any) -> None:
    allowed = glued(dialect, "Who crossed ANTARCTICA?", SOLO)
    assert [text for text in RIGHT if not allowed(text)] == []
    assert [text for text in WRONG if allowed(text)] == []


@pytest.mark.parametrize("dialect", ["lark", "gbnf"])
def test_glue_with_odd_sources(dialect: Any) -> None:
    nothing = glued(dialect, "Who?", Source("the of"), Source("[]"))
    assert not nothing("[ 1 the ]")
    assert nothing("The sources do not answer this question.")
    odd = glued(dialect, 'Was ist "das"?', Source('"\\d"\n漢字 \t x'))
    assert odd('Das ist [ 1 "\\d"\n漢字 ] und [ 1 x ].')
