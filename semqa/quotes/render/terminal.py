"""A quoted answer in a terminal: quotes in the colour of their source, excerpts underneath.

Sources and answers are hostile: characters that steer a terminal are shown, not sent.
"""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING

from semqa.quotes.quote import FreeText, Quote, Status
from semqa.quotes.render.changes import change_summary
from semqa.quotes.render.excerpts import excerpt, quoted_pieces
from semqa.quotes.render.safe import safe_text

if TYPE_CHECKING:
    from rich.text import Text

    from semqa.quotes.answer import QuotedAnswer
    from semqa.quotes.render.judged import Judged

__all__ = ["answer_text", "judged_text", "sources_text", "summary_text", "to_ansi"]

_COLOURS = ("green", "cyan", "magenta", "yellow", "blue", "bright_green", "bright_cyan")
_UNVERIFIED = "bold red"
_CHANGED = "dim yellow"
_CONTEXT = 60
_SUPPORT = {"supported": "green", "not supported": "red", "unclear": "yellow"}


def to_ansi(
    answer: QuotedAnswer, *, color: bool = True, width: int = 100, judged: Judged | None = None
) -> str:
    """Render the answer, its sources and the outcome of the check for a terminal.

    Args:
        answer: the answer to show.
        judged: what a judge says of its sentences, shown underneath.
        color: with ANSI colours; without, unverified quotes are still told in words.
        width: columns to wrap at.
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
    parts = [answer_text(answer), sources_text(answer), summary_text(answer)]
    if judged is not None:
        parts.append(judged_text(judged))
    for part in parts:
        if part:
            console.print(part)
            console.print()
    return out.getvalue().rstrip("\n") + "\n"


def answer_text(answer: QuotedAnswer) -> Text:
    """Return the answer with canonical marks, coloured by source; unverified quotes in red."""
    from rich.text import Text

    text = Text()
    for segment in answer.segments:
        if isinstance(segment, FreeText):
            text.append(safe_text(segment.text))
        elif segment.verified:
            text.append(f"[ {segment.source} ", style="dim")
            text.append(safe_text(segment.text), style=f"bold {_colour(segment.source)}")
            text.append(" ]", style="dim")
            if segment.note:
                text.append(f" ({segment.note})", style=_CHANGED)
        else:
            text.append(_unverified(segment), style=_UNVERIFIED)
    return text


def sources_text(answer: QuotedAnswer) -> Text:
    """Return the quoted sources, each as an excerpt with its quotes in colour."""
    from rich.text import Text

    text = Text()
    used = sorted({quote.source for quote in answer.quotes if quote.verified})
    for number in used:
        source = answer.sources[number - 1]
        if text:
            text.append("\n")
        text.append(f"[{number}] ", style=f"bold {_colour(number)}")
        fields = [quoted_pieces(answer, number, "title")] if source.title else []
        body = quoted_pieces(answer, number, "body")
        if any(piece.quotes for piece in body) or not source.title:
            fields.append(excerpt(body, _CONTEXT))
        for at, pieces in enumerate(fields):
            if at:
                text.append(" — ")
            for place, piece in enumerate(pieces):
                if piece.cut:
                    gap = "… " if not place else " …" if place + 1 == len(pieces) else " … "
                    text.append(gap, style="dim")
                    continue
                shown = safe_text(re.sub(r"\s+", " ", piece.text))
                text.append(shown, style=_colour(number) if piece.quotes else "dim")
        if source.url:
            text.append(f"\n    {safe_text(source.url)}", style="dim underline")
    return text


def summary_text(answer: QuotedAnswer) -> Text:
    """Return one line that says how many quotes there are and what became of checking them."""
    from rich.text import Text

    total = len(answer.quotes)
    changes = change_summary(answer)
    if not total:
        nothing = "Nothing is quoted, so nothing can be checked."
        return Text(" ".join([nothing, *changes]), style="yellow")
    noun = "quote" if total == 1 else "quotes"
    if answer.verified:
        verified = f"✓ {total} {noun}, verified character for character."
        return Text(" ".join([verified, *changes]), style="yellow" if changes else "green")
    parts = [f"{count} {status}" for status, count in answer.counts.items() if count]
    return Text(f"✗ {total} {noun}: {', '.join(parts)}.", style="red")


def judged_text(judged: Judged) -> Text:
    """Return a line that says who judged, and one a sentence."""
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


def _unverified(quote: Quote) -> str:
    shown = safe_text(quote.text)
    number = "" if quote.status is Status.MALFORMED else f"{quote.source} "
    return f"⟦{number}{shown} · {quote.status.value}⟧"


def _colour(number: int) -> str:
    return _COLOURS[(number - 1) % len(_COLOURS)]
