r"""The copy constraint as a grammar, for servers with grammar-constrained decoding.

There are two dialects. *Lark* is llguidance's dialect, which vLLM supports: each quote is one
terminal, a run of pieces of one field (``substring_chunks``). Pieces are words, numbers and other
characters (`semqa.quotes.words.cuts_word`). *GBNF* is llama.cpp's dialect, which has no substrings, so
the suffix automaton over the same pieces is written out as rules. Both allow the same quotes, those
of ``docs/constraint.md``.

An answer has a quote or is the abstention sentence, and a quote has a content word. Glue is slightly
more limited than in the constraint: single spaces, and the marks ``, . ; :``. Grammars cannot forbid
quoting the same text twice and have no token budget, so a truncated answer may end within a quote.
Independent of tokens and HTTP.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Literal

from semqa.decoding.policy import QuotePolicy
from semqa.errors import InputError
from semqa.quotes import Source
from semqa.quotes.answer import ABSTENTION
from semqa.quotes.words import (
    cuts_word,
    function_words,
    glue_words,
    language_of,
    question_words,
    written_forms,
)

MAX_PIECES = 25_000
"""Maximum number of pieces of all sources in a Lark grammar. Servers compile it for each request, and llguidance
refuses longer ones by default. In English, a piece has two or three characters on average."""

MAX_GBNF_PIECES = 12_000
"""Maximum number of pieces of all sources in a GBNF grammar: about 1 MB of rules."""

MAX_FIELDS = 500
"""Maximum number of titles and bodies in a grammar."""

RUN_WORDS, RUN_MARKS = 10, 3
"""Maximum number of words and of punctuation marks in one run of glue."""

_MARKS = ",.;:"
_DIRECTIVE = "%llguidance {}\n"
"""Makes vLLM use llguidance. Otherwise it uses xgrammar, which fails on this dialect."""
# White space according to `str.isspace`.
_SPACE = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


def quoting_grammar(
    sources: Sequence[Source],
    policy: QuotePolicy | None = None,
    *,
    question: str = "",
    dialect: Literal["lark", "gbnf"] = "lark",
) -> str:
    """Return the grammar of all answers over some sources.

    Args:
        policy: the settings; `quote_bias` has no effect.
    """
    policy = policy or QuotePolicy()
    # If spans may be cut anywhere, a grammar cannot recognise words.
    functions = function_words(language_of(question)) if policy.boundary == "word" else frozenset()
    fields = [
        (number, kept)
        for number, parts in _fields(sources, policy)
        if (kept := [part for part in parts if _has_content(part, functions)])
    ]
    size = sum(len(part) for _, parts in fields for part in parts)
    most = MAX_PIECES if dialect == "lark" else MAX_GBNF_PIECES
    if size > most or len(fields) > MAX_FIELDS:
        raise InputError(
            f"The sources are too long for a grammar: more than {most:,} words, marks and spaces, or "
            f"{MAX_FIELDS} titles and bodies. Use fewer or shorter sources, or another constraint."
        )
    if dialect == "gbnf":
        return _gbnf(fields, functions, question, policy.free)
    return _DIRECTIVE + _lark(fields, functions, question, policy.free)


_Field = tuple[int, list[list[str]]]
"""A title or body: the number of its source, and the pieces of its parts between brackets."""


def _fields(sources: Sequence[Source], policy: QuotePolicy) -> Iterator[_Field]:
    for number in policy.quote_from or range(1, len(sources) + 1):
        if number > len(sources):
            raise InputError(
                f"names source {number}, but there are {len(sources)}.",
                field="sources",
                value=number,
            )
        source = sources[number - 1]
        for text in (source.title, source.text):
            if parts := list(_parts(text, policy.boundary)):
                yield number, parts


def _parts(text: str, boundary: str) -> Iterator[list[str]]:
    """Yield the parts of a field between brackets, each split into pieces where spans may be cut."""
    for part in re.split(r"[\[\]]", text):
        if not part.strip():
            continue
        if boundary == "char":
            yield list(part)
        else:
            cuts = [at for at in range(1, len(part)) if not cuts_word(part, at)]
            yield [part[start:end] for start, end in pairwise([0, *cuts, len(part)])]


def _has_content(pieces: Sequence[str], functions: frozenset[str]) -> bool:
    return any(
        in_word and "".join(run) not in functions
        for piece in pieces
        for in_word, run in groupby(piece, str.isalnum)
    )


def _free_words(question: str) -> list[str]:
    """Return the words allowed in free text, in every allowed spelling."""
    glue = written_forms(glue_words(language_of(question)))
    return sorted(glue | written_forms(question_words(question), question))


_FIRST_RUN = f"w1x{RUN_WORDS}x{RUN_MARKS}"


def _run_rules() -> Iterator[tuple[str, str]]:
    """Yield the rules of glue around quotes.

    In the names, *w* means before a word or a quote, *m* after a word or a quote, *p* after a mark.
    Three numbers follow: the quotes still required, and the words and marks still allowed in this run.
    """
    for quotes in (1, 0):
        end = "" if quotes else "?"
        quote = f"quote m{max(0, quotes - 1)}x{RUN_WORDS}x{RUN_MARKS}"
        for words in range(RUN_WORDS, -1, -1):
            for marks in range(RUN_MARKS, -1, -1):
                left = f"{quotes}x{words}x{marks}"
                word = f"word m{quotes}x{words - 1}x{marks} | " if words else ""
                mark = f" | mark p{quotes}x{words}x{marks - 1}" if marks else ""
                yield f"w{left}", word + quote
                yield f"m{left}", f'(" " w{left}{mark}){end}'
                yield f"p{left}", f'(" " w{left}){end}'


# Lark


def _lark_quotes(fields: Sequence[_Field], span: str) -> list[str]:
    names: list[str] = []
    rules = []
    for number, parts in fields:
        names.append(f"Q{len(names)}")
        spans = " | ".join(f"%regex {json.dumps({'substring_chunks': part})}" for part in parts)
        rules.append(f'{names[-1]}: "[ {number} " (({spans}) & {span}) " ]"')
    return [
        f"quote: {' | '.join(names)}",
        *rules,
        rf"SPAN: /[^\[\]{_SPACE}]([^\[\]]*[^\[\]{_SPACE}])?/",
    ]


def _lark(fields: Sequence[_Field], functions: frozenset[str], question: str, free: str) -> str:
    # Word by word, because one long terminal would take precedence over the word "The".
    abstention = " ".join(map(json.dumps, re.findall("[a-zA-Z]+|.", ABSTENTION)))
    if not fields:
        return f"start: {abstention}\n"
    # Only words in these sources, because llguidance limits the size of a terminal.
    pieces = {piece for _, parts in fields for part in parts for piece in part}
    empty = "|".join(sorted({re.escape(piece) for piece in pieces if piece.lower() in functions}))
    quotes = [
        *_lark_quotes(fields, "SPAN & ~EMPTY"),
        rf"EMPTY: /(({empty})?[^\p{{L}}\p{{N}}])*({empty})?/",
    ]
    if free == "any":
        # Without the abstention sentence, which the lexer would read as free text.
        start = "start: FREE quote FREE (quote FREE)*"
        return "\n".join([start, *quotes, r"FREE: /[^\[\]]*/", ""])
    words = "|".join(map(re.escape, _free_words(question)))
    return "\n".join(
        [
            f"start: {abstention} | {_FIRST_RUN}",
            *(f"{name}: {rule}" for name, rule in _run_rules()),
            *quotes,
            f"word: /{words}/",
            f"mark: /[{_MARKS}]/",
            "",
        ]
    )


# GBNF


def _gbnf(fields: Sequence[_Field], functions: frozenset[str], question: str, free: str) -> str:
    rules: dict[str, list[tuple[str, str]]] = {}
    opened: list[tuple[str, str]] = []
    for number in dict.fromkeys(number for number, _ in fields):
        parts = [part for k, found in fields if k == number for part in found]
        spans = _span_rules(f"s{number}", parts, functions)
        if f"s{number}" in spans:
            opened.append((f"{number} ", f"s{number}"))
            rules |= spans
    lines = [f"{name} ::= {_choice(choices)}" for name, choices in rules.items()]
    if opened and free == "any":
        root = f"root ::= {_literal(ABSTENTION)} | free quote free (quote free)*"
        lines[:0] = [root, r"free ::= [^\[\]]*"]
    elif opened:
        lines += [f"{name} ::= {rule}" for name, rule in _run_rules()]
        lines.append(f"word ::= {_choice([(word, '') for word in _free_words(question)])}")
        lines.append(f"mark ::= [{_MARKS}]")
        lines.insert(0, f"root ::= {_literal(ABSTENTION)} | {_FIRST_RUN}")
    else:
        lines.insert(0, f"root ::= {_literal(ABSTENTION)}")
    if opened:
        lines.append(f'quote ::= "[ " ({_choice(opened)})')
    return "\n".join([*lines, ""])


def _span_rules(
    name: str, parts: Sequence[Sequence[str]], functions: frozenset[str]
) -> dict[str, list[tuple[str, str]]]:
    """Return the rules for one source's spans with their closing bracket; `name` is the first.

    A rule is a list of alternatives, each a literal and the name of the next rule, which is empty at
    the end of the quote. There is a rule for each state of the suffix automaton combined with two
    flags: the last piece was white space, and the span has a content word. A source without quotable
    text has no rules.
    """
    states = _suffix_automaton(parts)
    start = (0, True, False)
    names = {start: name}
    rules: dict[str, list[tuple[str, str]]] = {}
    todo = [start]
    while todo:
        state, in_space, holds = at = todo.pop()
        choices = [] if in_space or not holds else [(" ]", "")]
        for piece, following in states[state].items():
            if state == 0 and piece[0].isspace():
                continue
            to = (following, piece[-1].isspace(), holds or _has_content([piece], functions))
            if to not in names:
                names[to] = f"{name}-{len(names)}"
                todo.append(to)
            choices.append((piece, names[to]))
        rules[names[at]] = choices
    return _finishing(rules)


def _finishing(rules: dict[str, list[tuple[str, str]]]) -> dict[str, list[tuple[str, str]]]:
    """Return only the rules from which a quote can be finished."""
    sources: dict[str, list[str]] = {}
    todo = []
    for name, choices in rules.items():
        for _, following in choices:
            if following:
                sources.setdefault(following, []).append(name)
            else:
                todo.append(name)
    kept = set(todo)
    while todo:
        for name in sources.get(todo.pop(), ()):
            if name not in kept:
                kept.add(name)
                todo.append(name)
    return {
        name: [choice for choice in choices if not choice[1] or choice[1] in kept]
        for name, choices in rules.items()
        if name in kept
    }


def _suffix_automaton(parts: Sequence[Sequence[str]]) -> list[dict[str, int]]:
    """Return the transitions of each state of the suffix automaton; state 0 is the start.

    Source: Blumer et al. 1985, extended to several texts.
    """
    moves: list[dict[str, int]] = [{}]
    links, lengths = [-1], [0]

    def clone(state: int, piece: str, onto: int) -> int:
        moves.append(dict(moves[onto]))
        links.append(links[onto])
        lengths.append(lengths[state] + 1)
        links[onto] = made = len(moves) - 1
        while state >= 0 and moves[state].get(piece) == onto:
            moves[state][piece] = made
            state = links[state]
        return made

    for part in parts:
        last = 0
        for piece in part:
            onto = moves[last].get(piece)
            if onto is not None:  # an earlier part contains this run
                last = onto if lengths[onto] == lengths[last] + 1 else clone(last, piece, onto)
                continue
            moves.append({})
            links.append(0)
            lengths.append(lengths[last] + 1)
            made, state, last = len(moves) - 1, last, len(moves) - 1
            while state >= 0 and piece not in moves[state]:
                moves[state][piece] = made
                state = links[state]
            if state >= 0:
                onto = moves[state][piece]
                fits = lengths[onto] == lengths[state] + 1
                links[made] = onto if fits else clone(state, piece, onto)
    return moves


def _choice(choices: Sequence[tuple[str, str]]) -> str:
    """Write alternatives with shared prefixes once, because servers try each one for each token."""
    by_first: dict[str, list[tuple[str, str]]] = {}
    for text, following in choices:
        by_first.setdefault(text[:1], []).append((text, following))
    written = []
    for first, group in by_first.items():
        if len(group) == 1 or not first:
            written += [f"{_literal(text)} {following}".rstrip() for text, following in group]
        else:
            shared = _shared([text for text, _ in group])
            rest = [(text[len(shared) :], following) for text, following in group]
            written.append(f"{_literal(shared)} ({_choice(rest)})")
    return " | ".join(written)


def _shared(texts: Sequence[str]) -> str:
    low, high = min(texts), max(texts)
    size = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))
    return low[:size]


def _literal(text: str) -> str:
    def escaped(char: str) -> str:
        if char in '"\\':
            return "\\" + char
        return char if char.isprintable() else f"\\U{ord(char):08X}"

    return f'"{"".join(map(escaped, text))}"'
