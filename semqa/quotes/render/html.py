"""Render a quoted answer as one self-contained HTML page.

Hovering over or focusing a quote highlights it in its source, and vice versa; a click jumps there.
The page loads no resources, and only the highlighting needs scripts. Sources and answers are
untrusted: all text is escaped, control characters are made visible, and the content security policy
allows only the page's own script.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from semqa.quotes.answer import QuotedAnswer
from semqa.quotes.quote import Claim, Dropped, Verdict
from semqa.quotes.render.common import (
    Judged,
    Part,
    blocks,
    cells,
    dropped_words,
    has_tick,
    percent,
    quoted_pieces,
    safe_text,
    verdict_text,
    web_address,
)

if TYPE_CHECKING:
    from jinja2 import Template


def to_html(
    answer: QuotedAnswer,
    *,
    question: str = "",
    judged: Judged | None = None,
    nearest: Sequence[tuple[str, str]] = (),
) -> str:
    """Render the answer next to all its sources as a standalone page.

    Args:
        question: used as the heading; its words do not count as claims.
        nearest: titles and texts to show instead of sources if the answer has none.
    """
    quotes = answer.quotes
    order = {id(quote): index for index, quote in enumerate(quotes)}
    verdict = answer.verdict(question)
    doubtful = verdict is Verdict.QUOTED and not has_tick(answer, question)
    return render_page(
        "semqa.quotes.render",
        "answer",
        question=question,
        blocks=[
            (block.kind, [[_part(part, order) for part in line] for line in block.lines])
            for block in blocks(answer, question)
        ],
        sources=[
            {
                "number": number,
                "title": quoted_pieces(answer, number, "title") if source.title else [],
                "context": source.context.split("\n") if source.context else [],
                "body": quoted_pieces(answer, number, "body"),
                "url": web_address(source.url),
                "quoted": any(q.verified and q.source == number for q in quotes),
            }
            for number, source in enumerate(answer.sources, start=1)
        ],
        verdict=f"{verdict.value}{' doubtful' if doubtful else ''}",
        checked=verdict_text(answer, question),
        judged=judged,
        nearest=nearest,
    )


def _part(part: Part, order: Mapping[int, int]) -> dict[str, object]:
    if isinstance(part, str):
        return {"kind": "text", "text": part}
    if isinstance(part, Claim):
        return {"kind": "claim", "text": part.text}
    if isinstance(part, Dropped):
        return {"kind": "dropped", "text": dropped_words(part), "reason": part.reason}
    kind = "quote" if part.verified else "bad"
    return {"kind": kind, "quote": part, "index": order[id(part)]}


def render_page(package: str, name: str, **values: object) -> str:
    """Render ``name.html.jinja`` of a package with its script and style inline.

    All values are escaped. The page's content security policy can allow the script by `script_hash`.
    """
    script = _asset(package, f"{name}.js")
    return _template(package, f"{name}.html.jinja").render(
        style=_asset(package, f"{name}.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        **values,
    )


@cache
def _template(package: str, name: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(safe_text=safe_text, percent=percent, cells=cells)
    return environment.from_string(_asset(package, name))


@cache
def _asset(package: str, name: str) -> str:
    return (files(package) / name).read_text(encoding="utf-8")
