"""Render a quoted answer for the terminal: quotes coloured by source, with excerpts below.

Sources and answers are untrusted: control characters are made visible.
"""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING

from semqa.quotes.answer import QuotedAnswer
from semqa.quotes.quote import Claim, Dropped, Status, Verdict
from semqa.quotes.render.common import (
    Judged,
    dropped_words,
    excerpt,
    has_tick,
    parts,
    percent,
    quoted_pieces,
    safe_text,
    verdict_text,
    web_address,
)

if TYPE_CHECKING:
    from rich.text import Text

_COLOURS = ("green", "cyan", "magenta", "yellow", "blue", "bright_green", "bright_cyan")
_UNVERIFIED = "bold red"
_CHANGED = "dim yellow"
_CLAIM = "underline"
_CONTEXT = 60
_VERDICT = {
    Verdict.QUOTED: "green",
    Verdict.UNVERIFIED: "red",
    Verdict.UNQUOTED: "yellow",
    Verdict.ABSTAINED: "dim",
}
_SUPPORT = {"supported": "green", "not supported": "red", "unclear": "yellow"}


def to_ansi(
    answer: QuotedAnswer,
    *,
    question: str = "",
    color: bool = True,
    width: int = 100,
    judged: Judged | None = None,
) -> str:
    """Render the answer, its sources and the verdict for a terminal.

    Args:
        color: whether to use ANSI colours; unverified quotes are also labelled in words.
    """
    from rich.console import Console

    out = StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
    blocks = [answer_text(answer, question), sources_text(answer), summary_text(answer, question)]
    if judged is not None:
        blocks.append(judged_text(judged))
    for block in blocks:
        if block:
            console.print(block)
            console.print()
    return out.getvalue().rstrip("\n") + "\n"


def answer_text(answer: QuotedAnswer, question: str = "") -> Text:
    """Return the answer with canonical marks, coloured by source; unverified quotes in red.

    Dropped marks look like unverified quotes; claims outside quotes are underlined.
    """
    from rich.text import Text

    text = Text()
    for part in parts(answer, question):
        if isinstance(part, str):
            text.append(safe_text(part))
        elif isinstance(part, Claim):
            text.append(safe_text(part.text), style=_CLAIM)
        elif isinstance(part, Dropped):
            text.append(_unverified(part.source, dropped_words(part), "dropped"), _UNVERIFIED)
        elif part.verified:
            text.append(f"[ {part.source} ", style="dim")
            text.append(safe_text(part.text), style=f"bold {source_colour(part.source)}")
            text.append(" ]", style="dim")
            if part.note:
                text.append(f" ({part.note})", style=_CHANGED)
        else:
            number = 0 if part.status is Status.MALFORMED else part.source
            text.append(_unverified(number, part.text, part.status.value), _UNVERIFIED)
    return text


def sources_text(answer: QuotedAnswer) -> Text:
    """Return an excerpt of each quoted source, with its quotes in colour."""
    from rich.text import Text

    text = Text()
    used = sorted({quote.source for quote in answer.quotes if quote.verified})
    for number in used:
        source = answer.sources[number - 1]
        if text:
            text.append("\n")
        text.append(f"[{number}] ", style=f"bold {source_colour(number)}")
        quotes = (quote for quote in answer.quotes if quote.verified and quote.source == number)
        scores = [quote.relevance for quote in quotes if quote.relevance is not None]
        if scores:  # the highest, because others may be of titles or headers of tables
            text.append(f"(relevance {percent(max(scores))}) ", style="dim")
        fields = [quoted_pieces(answer, number, "title")] if source.title else []
        body = quoted_pieces(answer, number, "body")
        above = [safe_text(line) for line in source.context.split("\n") if line]
        if any(piece.quotes for piece in body) or not source.title:
            fields.append(excerpt(body, _CONTEXT))
        for at, pieces in enumerate(fields):
            if at:
                text.append(f" › {' › '.join(above)} — " if above else " — ")
            for place, piece in enumerate(pieces):
                if piece.cut:
                    gap = "… " if not place else " …" if place + 1 == len(pieces) else " … "
                    text.append(gap, style="dim")
                    continue
                shown = safe_text(re.sub(r"\s+", " ", "".join(piece.unmarked[::2])))
                text.append(shown, style=source_colour(number) if piece.quotes else "dim")
        if address := web_address(source.url):
            text.append(f"\n    {safe_text(address)}", style="dim underline")
    return text


def summary_text(answer: QuotedAnswer, question: str = "") -> Text:
    """Return the verdict text in its colour."""
    from rich.text import Text

    verdict = answer.verdict(question)
    doubtful = verdict is Verdict.QUOTED and not has_tick(answer, question)
    seen = Verdict.UNQUOTED if doubtful else verdict
    return Text(safe_text(verdict_text(answer, question)), style=_VERDICT[seen])


def judged_text(judged: Judged) -> Text:
    """Return a headline with the judge's name, and a line per sentence."""
    from rich.text import Text

    text = Text(safe_text(judged.headline), style="bold")
    for sentence in judged.sentences:
        colour = _SUPPORT.get(sentence.support, "yellow")
        text.append(f"\n{sentence.sign} {sentence.support}", style=f"not bold {colour}")
        shown = safe_text(re.sub(r"\s+", " ", sentence.text))
        text.append(f"  {shown}", style="not bold")
        if sentence.held_against:
            text.append(f"  {safe_text(sentence.held_against)}", style="not bold dim")
    return text


def _unverified(source: int, words: str, why: str) -> str:
    number = f"{source} " if source else ""
    return f"⟦{number}{safe_text(words)} · {why}⟧"


def source_colour(number: int) -> str:
    """Return the colour of a source and of its quotes."""
    return _COLOURS[(number - 1) % len(_COLOURS)]
