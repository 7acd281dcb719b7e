"""A quoted answer as Markdown: quotes in bold, each with a footnote that names its source."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from semqa.quotes.quote import Claim, Dropped
from semqa.quotes.render.verdict import dropped_words, parts, verdict_text

if TYPE_CHECKING:
    from semqa.quotes.answer import QuotedAnswer
    from semqa.quotes.render.judged import Judged

__all__ = ["to_markdown"]

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&!$])")
_LIST_ITEM = re.compile(r"^(\d*)([.)+=-])")


def to_markdown(answer: QuotedAnswer, *, question: str = "", judged: Judged | None = None) -> str:
    """Render as Markdown (CommonMark with footnotes, as GitHub and most chat UIs show it).

    White space in quotes, titles and at line breaks is shown as one space. Nothing in the text acts
    as Markdown or HTML; some viewers make links of bare web addresses all the same. Unverified
    quotes and dropped marks are struck out and named as such; repaired quotes are named as such,
    too. The verdict follows in italics.

    Args:
        answer: the answer to show.
        question: the question that was answered; its words claim nothing.
        judged: what a judge says of its sentences: a list underneath.

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
    body = []
    for part in parts(answer, question):
        if isinstance(part, str | Claim):
            body.append(_escape(part if isinstance(part, str) else part.text))
        elif isinstance(part, Dropped):
            body.append(f"~~{_escape(dropped_words(part))}~~ *(dropped)*")
        elif part.verified:
            note = f" *({_escape(part.note)})*" if part.note else ""
            body.append(f"**{_escape(part.text)}**[^{part.source}]{note}")
        else:
            body.append(f"~~{_escape(part.text)}~~ *({part.status.value})*")
    text = _LIST_ITEM.sub(r"\1\\\2", "".join(body).strip())
    verdict = f"*{_escape(verdict_text(answer, question))}*"
    used = sorted({quote.source for quote in answer.quotes if quote.verified})
    notes = []
    for number in used:
        source = answer.sources[number - 1]
        name = _escape(source.title.strip() or f"Source {number}")
        link = source.url if source.url and _is_link(source.url) else None
        notes.append(f"[^{number}]: {name}" + (f" <{link}>" if link else ""))
    blocks = [text, verdict, *(_judged(judged) if judged is not None else []), "\n".join(notes)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _judged(judged: Judged) -> list[str]:
    rows = [
        f"- {sentence.sign} **{sentence.support}** {_escape(sentence.text)}"
        + (f" *{_escape(sentence.held_against)}*" if sentence.held_against else "")
        for sentence in judged.sentences
    ]
    return [_escape(judged.headline), "\n".join(rows)]


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", re.sub(r"\s+", " ", text))


def _is_link(url: str) -> bool:
    return re.fullmatch(r"https?://[^\s<>]+", url) is not None
