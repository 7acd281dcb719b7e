"""Hypothesis strategies for the constraint: difficult sources, vocabularies and all policies."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

from semqa import Source
from semqa.decoding import QuotePolicy
from semqa.decoding.vocabulary import Vocabulary
from tests.decoding.oracle import may_be_quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXTS = (
    "Bing Crosby sang it in 1942. Then came the 2nd, in 1943!", "", "   ", "the the. The", "aaaa aaaa",
    "[sic] he [ 1 said ] so", "x ] [ 2 th", "a\ud800b c\udfff", "日本語の文。漢字、かな", "汉 字", "1 2 12 3",
    "👩‍👩‍👧 and 👨‍👩‍👧‍👦!", "e\u0301te\u0301 co\u0308op", "a\u00a0b\u3000c\u2028d", "line\r\nnext\r\n\r\n",
    "\x00\x1f\x7f b\x1cc", " begins and ends ", "İstanbul ſtraße ǅur Ⅷ", "½ ² ٣ 3rd", "שלום עולם", "no end[", "]",
    "Über é ü", "It is the one that was there, and then it's not", "and Theory of the", "a. b? c… d。e", "(He said “No.”) Yes", "\ufeffx", "_a_ b-c d'e",
    "It can't cost 40,000 or 3.5; wasn’t 1,2 3. 4 n't,5", "cafe\u0301s 日本3,5の\u200d x",
)  # fmt: skip

QUESTIONS = ("", "Who sang Bing in 1942?", "über ² 12 ٣ the 2nd?", "Ǆur ISTANBUL ß\ud800 1")

FREE = (
    "", " ", "by", " by ", "The", ". The", " and then ", "é", " 1942 ", "12", "Über ", "x1", "\n", "。", "!\" A", "\u3000",
    "日本", "👩‍👧", " and ", " was ", ". The ", " (", ") ", ", as well as the ", " it's ", "The sources do not answer this question.", "Bing", " Bing.", "BING", "19", " \u00a0", "2nd",
)  # fmt: skip

KINDS = ("bytes", "chunks", "sparse", "words", "missing", "straddling")


class Case(NamedTuple):
    """The arguments of a constraint, and whether its vocabulary has every single byte."""

    vocabulary: Vocabulary
    sources: list[Source]
    policy: QuotePolicy
    question: str
    complete: bool


texts = st.sampled_from(TEXTS) | st.text("ab .", max_size=12) | st.text(max_size=6)

source_lists = st.lists(
    st.builds(Source, text=texts, title=st.sampled_from(TEXTS) | st.just("")), max_size=3
) | st.lists(
    st.builds(Source, text=st.sampled_from(["ab", "1 a", "", "2"])), min_size=10, max_size=13
)

questions = st.sampled_from(QUESTIONS)

policies = st.builds(
    QuotePolicy,
    free=st.sampled_from(["glue", "any"]),
    boundary=st.sampled_from(["word", "char"]),
    quote_from=st.none() | st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple),
)


@st.composite
def cases(draw: st.DrawFn, kinds: Sequence[str] = KINDS) -> Case:
    sources = draw(source_lists)
    policy, question = draw(policies), draw(questions)
    kind = draw(st.sampled_from(list(kinds)))
    return case_of(kind, sources, policy, question, draw(st.randoms(use_true_random=False)))


def case_of(
    kind: str, sources: list[Source], policy: QuotePolicy, question: str, rng: random.Random
) -> Case:
    policy = fitting(policy, len(sources))
    outputs = [sample_output(sources, policy, rng) for _ in range(5)]
    vocabulary = vocabulary_of(kind, outputs, rng)
    complete = kind in {"bytes", "chunks", "straddling"}
    return Case(vocabulary, sources, policy, question, complete)


def fitting(policy: QuotePolicy, count: int) -> QuotePolicy:
    """Leave out the numbers of missing sources, which other tests cover."""
    if policy.quote_from is None:
        return policy
    named = tuple(number for number in policy.quote_from if number <= count)
    return replace(policy, quote_from=named or None)


def sample_output(sources: Sequence[Source], policy: QuotePolicy, rng: random.Random) -> bytes:
    """Return an answer of free text and quotes, which may exceed the limits of the policy."""
    parts = [rng.choice(FREE)]
    for _ in range(rng.randint(0, 3)):
        if sources:
            number = rng.randint(1, len(sources))
            span = sample_span(sources[number - 1], policy, rng)
            parts.append(f"[ {number} {span} ]" if span else "")
        parts.append(rng.choice(FREE))
    return "".join(parts).encode()


def sample_span(source: Source, policy: QuotePolicy, rng: random.Random) -> str:
    """Return a quotable span; empty if a few tries find none."""
    for _ in range(20):
        text = rng.choice([source.title, source.text])
        start = rng.randrange(len(text) + 1)
        span = text[start : start + rng.choice([1, 2, 3, 5, 9, 20])]
        if may_be_quoted(span, source, policy):
            return span
    return ""


def vocabulary_of(
    kind: str, outputs: Sequence[bytes], rng: random.Random, *, halves: bool = True
) -> Vocabulary:
    """Create a vocabulary from pieces of outputs, shuffled, with some special tokens.

    Args:
        kind: ``bytes`` (all bytes, and words with a space before them), ``chunks`` (all bytes, and
            pieces cut anywhere), ``straddling`` (all bytes, and pieces around brackets), ``sparse``
            (pieces cut anywhere, no bytes), ``words`` (whole words, digits and brackets), ``missing``
            (most of the bytes that occur).
        outputs: what the pieces are cut from.
        rng: chooses pieces and their order.
        halves: whether pieces may begin in the middle of a character where all bytes are tokens.
    """
    whole = [bytes([byte]) for byte in range(256)]
    tokens: list[bytes] = []
    if kind in {"bytes", "chunks", "straddling"}:
        tokens += whole
    for output in outputs:
        if kind in {"bytes", "words"}:
            text = output.decode()
            tokens += [word.encode() for word in re.findall(r" ?\w+|[^\w\s]|\s", text)][:40]
        if kind in {"chunks", "sparse"}:
            tokens += chunks(output, rng)
        if kind == "straddling":
            for at in [at for at, byte in enumerate(output) if byte in b"[]"][:4]:
                tokens.append(output[max(0, at - rng.randint(0, 4)) : at + rng.randint(1, 7)])
    if kind == "words":
        tokens += [b"[", b" ]", b"]", b" ", b" 1", b"2", b".", b"[ 1 ", b"[ "]
    if kind == "missing":
        tokens += [bytes([byte]) for byte in sorted({*b"".join(outputs), *b"[ 1]"})]
        for _ in range(rng.randint(1, 3)):
            tokens.pop(rng.randrange(len(tokens)))
    if not halves and kind in {"chunks", "straddling"}:
        tokens = [text for text in tokens if len(text) == 1 or not 0x80 <= text[0] < 0xC0]
    tokens += rng.choices(tokens, k=3) if tokens else []  # the same bytes twice
    tokens += [b"<s>", b"", b"</s>"] + ([b""] if rng.random() < 0.5 else [])
    rng.shuffle(tokens)
    special = [token for token, text in enumerate(tokens) if text == b"<s>"]
    ends = [token for token, text in enumerate(tokens) if text == b"</s>"]
    if rng.random() < 0.3:
        ends.append(next(token for token, text in enumerate(tokens) if text == b""))
    return Vocabulary.from_tokens(tokens, ends, special)


def chunks(output: bytes, rng: random.Random) -> list[bytes]:
    """Split an output at random places."""
    pieces: list[bytes] = []
    at = 0
    while at < len(output) and len(pieces) < 30:
        size = rng.choice([1, 1, 2, 3, 4, 6, 9, 14])
        pieces.append(output[at : at + size])
        at += size
    return pieces
