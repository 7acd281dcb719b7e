"""A quoted answer as one self-contained HTML page.

Hovering or focusing a quote lights it up in its source, and the other way round; a click jumps.
The page loads nothing from anywhere and works without scripts, but for the lighting up. Sources
and answers are hostile: all text is escaped, characters that would reorder it are shown, and the
page's policy allows its own script only.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from semqa.quotes.quote import Quote
from semqa.quotes.render.changes import change_summary
from semqa.quotes.render.excerpts import quoted_pieces
from semqa.quotes.render.safe import safe_text

if TYPE_CHECKING:
    from jinja2 import Template

    from semqa.quotes.answer import QuotedAnswer
    from semqa.quotes.render.judged import Judged

__all__ = ["to_html"]


def to_html(answer: QuotedAnswer, *, question: str = "", judged: Judged | None = None) -> str:
    """Render the answer beside its sources as a standalone page.

    Args:
        answer: the answer to show; every source is shown, quoted or not.
        question: becomes the heading.
        judged: what a judge says of its sentences, shown under the answer.
    """
    quotes = answer.quotes
    order = {id(quote): index for index, quote in enumerate(quotes)}
    script = _asset("answer.js")
    return _template().render(
        question=question,
        segments=[
            {"quote": segment, "index": order[id(segment)]}
            if isinstance(segment, Quote)
            else {"text": segment.text}
            for segment in answer.segments
        ],
        sources=[
            {
                "number": number,
                "title": quoted_pieces(answer, number, "title") if source.title else [],
                "body": quoted_pieces(answer, number, "body"),
                "url": source.url
                if source.url and re.match(r"https?://", source.url, re.IGNORECASE)
                else None,
                "quoted": any(q.verified and q.source == number for q in quotes),
            }
            for number, source in enumerate(answer.sources, start=1)
        ],
        total=len(quotes),
        verified=sum(quote.verified for quote in quotes),
        counts={status: count for status, count in answer.counts.items() if count},
        changes=change_summary(answer),
        judged=judged,
        style=_asset("answer.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["safe_text"] = safe_text
    return environment.from_string(_asset("answer.html.jinja"))


@cache
def _asset(name: str) -> str:
    return (files("semqa.quotes.render") / name).read_text(encoding="utf-8")
