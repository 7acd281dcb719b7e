"""Showing a quoted answer: terminal, Markdown, standalone HTML."""

from semqa.quotes.render.html import to_html
from semqa.quotes.render.judged import Judged, JudgedSentence
from semqa.quotes.render.markdown import to_markdown
from semqa.quotes.render.terminal import to_ansi
from semqa.quotes.render.verdict import verdict_text

__all__ = ["Judged", "JudgedSentence", "to_ansi", "to_html", "to_markdown", "verdict_text"]
