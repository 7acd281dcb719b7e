"""What is going on, on standard error, for whoever sits at a terminal; it vanishes when done."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from semqa.cli.output import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["waiting", "watch"]


@contextmanager
def waiting(message: str) -> Iterator[Callable[[str], None]]:
    """Show a message while the block runs, where standard error is a terminal.

    Yields:
        What to call, from any thread, with a message about what takes long: it stands in place of
        the first. Without a terminal it is a line on standard error.
    """
    if not sys.stderr.isatty():
        yield say
        return
    from rich.console import Console
    from rich.text import Text

    from semqa.quotes.render.common import safe_text

    with Console(stderr=True).status(Text(safe_text(message))) as status:
        yield lambda text: status.update(Text(safe_text(text)))


def watch(pieces: Iterable[str]) -> str:
    """Join the pieces of a text, showing it as it grows; what was shown vanishes at the end.

    So standard output gets the finished answer alone, and nothing is there twice.
    """
    if not sys.stderr.isatty():
        return "".join(pieces)
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from semqa.quotes.render.common import safe_text

    text = ""
    console = Console(stderr=True, highlight=False)
    with Live(console=console, transient=True, refresh_per_second=12) as live:
        for piece in pieces:
            text += piece
            live.update(Text(safe_text(text), style="dim"))
    return text
