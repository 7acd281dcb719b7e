r"""The language of the copy constraint as a grammar, for servers with structured outputs.

The grammar is in llguidance's dialect of Lark. It admits what ``docs/constraint.md`` calls valid, and
no more: each quote is one terminal, a run of pieces of one field (``substring_chunks``), where a piece
is a run of alphanumeric characters or any other character, met with a pattern that leaves out the
empty span and white space at its ends. Of the policy it knows `RULES`. It has no token budget: an
answer that is cut off may end within a quote. Knows nothing of tokens or HTTP.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

from semqa.decoding.policy import QuotePolicy
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from semqa.quotes import Source

__all__ = ["MAX_FIELDS", "MAX_PIECES", "RULES", "quoting_grammar"]

MAX_PIECES = 25_000
"""Pieces of all sources together that a grammar takes: servers compile it for each request, and
llguidance with its default limits refuses longer ones. In English, two or three characters each."""

MAX_FIELDS = 500
"""Titles and bodies that a grammar takes, for the same reason."""

RULES = frozenset({"boundary", "numbers", "min_quotes", "sources"})
"""The settings of a `QuotePolicy` that a grammar keeps."""

_MOST_QUOTES = 20
# What `str.isspace` calls white space.
_SPACE = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


def quoting_grammar(
    sources: Sequence[Source], policy: QuotePolicy | None = None, *, question: str = ""
) -> str:
    """Return the grammar of all answers over some sources.

    Args:
        sources: the numbered sources.
        policy: what an answer may do; settings that are not in `RULES` have no effect.
        question: whose numbers may stand in free text, with ``numbers="quoted"``.

    Raises:
        InputError: the sources have more than `MAX_PIECES` or `MAX_FIELDS`, or the policy asks for what no grammar
            can say: quotes where nothing can be quoted, a source that is not given.
    """
    policy = policy or QuotePolicy()
    rules: list[str] = []
    quotes: list[str] = []
    size = 0
    for number in _numbers(sources, policy):
        source = sources[number - 1]
        for field, text in (("T", source.title), ("B", source.text)):
            parts = list(_parts(text, policy.boundary))
            if parts:
                size += sum(map(len, parts))
                spans = (f"%regex {json.dumps({'substring_chunks': part})}" for part in parts)
                quotes.append(f"{field}{number}")
                rules.append(f'{quotes[-1]}: "[ {number} " (({" | ".join(spans)}) & SPAN) " ]"')
            if size > MAX_PIECES or len(quotes) > MAX_FIELDS:
                raise InputError(
                    f"sources: too long for a grammar: got more than {MAX_PIECES:,} words, marks and "
                    f"spaces, or {MAX_FIELDS} titles and bodies, expected at most as many; take "
                    "another constraint, or give fewer or shorter sources"
                )
    least = policy.min_quotes
    if least and (not quotes or least > _MOST_QUOTES):
        raise InputError(
            f"min_quotes: got {least}, expected at most "
            f"{_MOST_QUOTES if quotes else '0, for nothing can be quoted'}; lower it"
        )
    start = "start: FREE"
    if quotes:
        start += " quote FREE" * least + " (quote FREE)*"
        rules.insert(0, f"quote: {' | '.join(quotes)}")
        rules.append(rf"SPAN: /[^\[\]{_SPACE}]([^\[\]]*[^\[\]{_SPACE}])?/")
    return "\n".join([start, *rules, _free(policy, question), ""])


def _numbers(sources: Sequence[Source], policy: QuotePolicy) -> Iterator[int]:
    for number in policy.sources or range(1, len(sources) + 1):
        if number > len(sources):
            raise InputError(
                f"sources: got {number}, expected numbers from 1 to {len(sources)}; name sources "
                "that are given"
            )
        yield number


def _parts(text: str, boundary: str) -> Iterator[list[str]]:
    """Cut a field at brackets, which no span holds, and its parts where spans may be cut."""
    for part in re.split(r"[\[\]]", text):
        if not part.strip():
            continue
        if boundary == "char":
            yield list(part)
        else:
            yield [
                piece
                for in_word, run in groupby(part, str.isalnum)
                for piece in (["".join(run)] if in_word else run)
            ]


def _free(policy: QuotePolicy, question: str) -> str:
    """Return the rule of free text."""
    if policy.numbers == "free":
        return r"FREE: /[^\[\]]*/"
    other = rf"[^\[\]{_digits()}]"
    runs = {"".join(run) for is_digit, run in groupby(question, str.isdigit) if is_digit}
    if not runs:
        return f"FREE: /{other}*/"
    asked = "|".join(sorted(runs))
    return f"FREE: /({asked})?({other}+({asked}))*{other}*/"


@cache
def _digits() -> str:
    """Return what `str.isdigit` calls digits, as it stands within a class of characters."""
    ranges: list[list[int]] = []
    for code in range(sys.maxunicode + 1):
        if chr(code).isdigit():
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"\\u{{{first:x}}}-\\u{{{last:x}}}" for first, last in ranges)
