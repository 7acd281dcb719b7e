"""Render a quoted answer for the terminal, as Markdown or as a standalone HTML page."""

from semqa.quotes.render.common import Judged, JudgedSentence, verdict_text
from semqa.quotes.render.html import to_html
from semqa.quotes.render.markdown import to_markdown
from semqa.quotes.render.terminal import to_ansi

__all__ = ["Judged", "JudgedSentence", "to_ansi", "to_html", "to_markdown", "verdict_text"]
