"""A quoted answer as Markdown: quotes in bold, each with a footnote that names its source."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from semqa.quotes.quote import FreeText

if TYPE_CHECKING:
    from semqa.quotes.answer import QuotedAnswer
    from semqa.quotes.render.judged import Judged

__all__ = ["to_markdown"]

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&!$])")
_LIST_ITEM = re.compile(r"^(\d*)([.)+=-])")


def to_markdown(answer: QuotedAnswer, *, judged: Judged | None = None) -> str:
    """Render as Markdown (CommonMark with footnotes, as GitHub and most chat UIs show it).

    White space in quotes, titles and at line breaks is shown as one space. Nothing in the text acts
    as Markdown or HTML; some viewers make links of bare web addresses all the same. Unverified
    quotes are struck out and named as such; repaired ones are named as such, too.

    Args:
        answer: the answer to show.
        judged: what a judge says of its sentences: a list underneath.

    Example:
        >>> from semqa import QuotedAnswer, Source
        >>> source = Source("Bing Crosby sang it.", title="White Christmas")
        >>> print(to_markdown(QuotedAnswer.parse("By [1 Bing Crosby].", [source])))
        By **Bing Crosby**[^1].
        <BLANKLINE>
        [^1]: White Christmas
        <BLANKLINE>
    """
    body = []
    for segment in answer.segments:
        shown = _escape(segment.text)
        if isinstance(segment, FreeText):
            body.append(shown)
        elif segment.verified:
            note = f" *({_escape(segment.note)})*" if segment.note else ""
            body.append(f"**{shown}**[^{segment.source}]{note}")
        else:
            body.append(f"~~{shown}~~ *({segment.status.value})*")
    text = _LIST_ITEM.sub(r"\1\\\2", "".join(body).strip())
    used = sorted({quote.source for quote in answer.quotes if quote.verified})
    notes = []
    for number in used:
        source = answer.sources[number - 1]
        name = _escape(source.title.strip() or f"Source {number}")
        link = source.url if source.url and _is_link(source.url) else None
        notes.append(f"[^{number}]: {name}" + (f" <{link}>" if link else ""))
    blocks = [text, *(_judged(judged) if judged is not None else []), "\n".join(notes)]
    return "\n\n".join(block for block in blocks if block or block is text) + "\n"


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
