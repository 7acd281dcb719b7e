"""An answer as paragraphs, lists and tables."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Literal, NamedTuple

from semqa.quotes.quote import Quote
from semqa.quotes.render.verdict import parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from semqa.quotes.answer import QuotedAnswer
    from semqa.quotes.render.verdict import Part

__all__ = ["Block", "blocks", "cells"]

Kind = Literal["text", "list", "table"]

_ITEM = "- "


class Block(NamedTuple):
    """Lines of one kind.

    Attributes:
        kind: a ``list`` has an item a line, without its dash; each line of a ``table`` is one quote,
            which `cells` cuts.
        lines: the parts of each line, in reading order.
    """

    kind: Kind
    lines: list[list[Part]]


def blocks(answer: QuotedAnswer, question: str = "") -> list[Block]:
    r"""Cut an answer into blocks, in reading order; nothing but line ends and dashes is left out.

    Example:
        >>> from semqa import QuotedAnswer, Source
        >>> source = Source("Fee | 5\nTax | 2")
        >>> answer = QuotedAnswer.parse("So:\n- this\n[ 1 Fee | 5 ]\n[ 1 Tax | 2 ]", [source])
        >>> [block.kind for block in blocks(answer)]
        ['text', 'list', 'table']
    """
    found: list[Block] = []
    lines = _lines(parts(answer, question))
    for (given, _), group in itertools.groupby(lines, key=_kind):
        members = list(group)
        kind: Kind = (
            "text" if given == "table" and len(members) < 2 else given
        )  # no table of one row
        if kind == "list":
            members = [_without_dash(line) for line in members]
        if found and found[-1].kind == kind == "text":
            found[-1].lines.extend(members)
        else:
            found.append(Block(kind, members))
    return found


def cells(quote: Quote) -> list[str]:
    """Return the cells of a row of a table."""
    return [cell.strip() for cell in quote.text.strip(" |").split("|")]


def _lines(found: Iterable[Part]) -> Iterator[list[Part]]:
    line: list[Part] = []
    for part in found:
        if not isinstance(part, str):
            line.append(part)
            continue
        first, *more = part.split("\n")
        line.append(first)
        for text in more:
            yield line
            line = [text]
    yield line


def _kind(line: list[Part]) -> tuple[Kind, int]:
    """Return the kind of a line, and of a row of a table its number of cells, else 0."""
    told = [part for part in line if not isinstance(part, str) or part.strip()]
    if len(told) == 1 and isinstance(told[0], Quote) and told[0].verified and "|" in told[0].text:
        return "table", len(cells(told[0]))
    if line and isinstance(line[0], str) and line[0].startswith(_ITEM):
        return "list", 0
    return "text", 0


def _without_dash(line: list[Part]) -> list[Part]:
    first, *more = line
    return [first.removeprefix(_ITEM) if isinstance(first, str) else first, *more]
