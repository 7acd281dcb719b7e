"""Render a quoted answer as Markdown: quotes in bold, each with a footnote for its source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from semqa.quotes.answer import QuotedAnswer
from semqa.quotes.quote import Claim, Dropped, Quote
from semqa.quotes.render.common import (
    Block,
    Judged,
    Part,
    blocks,
    cells,
    dropped_words,
    verdict_text,
    web_address,
)

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&!$])")
_LIST_ITEM = re.compile(r"^(\d*)([.)+=-])")
_LINKED_MARK = re.compile(r"(\[\^\d+\])\(")
"""A footnote mark and a parenthesis, which together would be a link."""
_DESTINATION = re.compile(r"""\S+(\s+["'(].*)?""")
"""A title that viewers without footnotes would use as a link target, such as ``javascript:``."""
_FOOTNOTE = re.compile(r"^\[\^(?=\d+\]:)|(?<=\*\*|\| )\[\^(?=\d+\])", re.MULTILINE)
"""A footnote at the beginning of a line, or a reference to one after a quote or in a table cell."""


def to_markdown(answer: QuotedAnswer, *, question: str = "", judged: Judged | None = None) -> str:
    """Render as Markdown (CommonMark with footnotes, as on GitHub and in most chat UIs).

    Lines become paragraphs, list items or table rows, and white space becomes one space. Markdown and
    HTML in the text are escaped, though some viewers still link bare web addresses. Unverified quotes
    and dropped marks are struck out and labelled; repaired quotes are labelled too. The verdict
    follows in italics.

    Example:
        >>> from semqa import QuotedAnswer, Source
        >>> source = Source("Bing Crosby sang it.", title="White Christmas")
        >>> print(to_markdown(QuotedAnswer.parse("By [1 Bing Crosby].", [source])))
        By **Bing Crosby**[^1].
        <BLANKLINE>
        *✓ 1 quote, verified character for character.*
        <BLANKLINE>
        [^1]: White Christmas
        <BLANKLINE>
    """
    body = [_block(block) for block in blocks(answer, question)]
    verdict = f"*{escape(verdict_text(answer, question))}*"
    used = sorted({quote.source for quote in answer.quotes if quote.verified})
    notes = []
    for number in used:
        source = answer.sources[number - 1]
        name = escape(source.title.strip() or f"Source {number}")
        link = web_address(source.url)
        if link is None and _DESTINATION.fullmatch(name):
            name = f"Source {number}: {name}"
        notes.append(f"[^{number}]: {name}" + (f" <{link}>" if link else ""))
    judgement = _judged(judged) if judged is not None else []
    return "\n\n".join(filter(None, [*body, verdict, *judgement, "\n".join(notes)])) + "\n"


def conversation_to_markdown(title: str, said: Iterable[tuple[str, str]]) -> str:
    """Join the answers of a conversation, each under its question.

    Each answer has its own footnotes: ``[^2-1]`` is source 1 of the second answer.

    Args:
        said: plain questions, each with the output of `to_markdown` for its answer; either may be
            empty.
    """
    parts = [f"# {escape(title).strip() or 'Conversation'}\n"]
    for number, (question, answer) in enumerate(said, 1):
        if question:
            parts.append(f"## {escape(question).strip()}\n")
        if answer:
            parts.append(_FOOTNOTE.sub(f"[^{number}-", answer))
    return "\n".join(parts)


def _block(block: Block) -> str:
    if block.kind == "list":
        return "\n".join(f"- {_line(line)}" for line in block.lines)
    if block.kind == "text":
        return "\n\n".join(filter(None, map(_line, block.lines)))
    rows = [
        [f"**{escape(cell)}**" if cell else "" for cell in cells(part)] + [_mark(part)]
        for line in block.lines
        for part in line
        if isinstance(part, Quote)
    ]
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _line(line: Sequence[Part]) -> str:
    text = "".join(map(_shown, line)).strip()
    text = _LINKED_MARK.sub(r"\1\(", text)
    return _LIST_ITEM.sub(r"\1\\\2", text)


def _shown(part: Part) -> str:
    if isinstance(part, str):
        return escape(part)
    if isinstance(part, Claim):
        return escape(part.text)
    if isinstance(part, Dropped):
        return f"~~{escape(dropped_words(part))}~~ *(dropped)*"
    if part.verified:
        return f"**{escape(part.text)}**{_mark(part)}"
    return f"~~{escape(part.text)}~~ *({part.status.value})*"


def _mark(quote: Quote) -> str:
    return f"[^{quote.source}]" + (f" *({escape(quote.note)})*" if quote.note else "")


def _judged(judged: Judged) -> list[str]:
    rows = [
        f"- {sentence.sign} **{sentence.support}** {escape(sentence.text)}"
        + (f" *{escape(sentence.held_against)}*" if sentence.held_against else "")
        for sentence in judged.sentences
    ]
    return [escape(judged.headline), "\n".join(rows)]


def escape(text: str) -> str:
    """Return a text as one line of escaped Markdown."""
    return _SPECIAL.sub(r"\\\1", re.sub(r"\s+", " ", text))
