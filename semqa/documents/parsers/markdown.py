"""Markdown, as the text that a reader of its page sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.documents.parsers.html import text_of
from semqa.documents.parsers.plain import decode
from semqa.extras import require

if TYPE_CHECKING:
    from semqa.documents.document import Limits

LONGEST = 2_000_000
"""Characters from which Markdown is taken as plain text: its parser reads 200,000 a second."""


def parse(name: str, data: bytes, limits: Limits) -> tuple[str, str, tuple[int, ...]]:
    """Return the first heading as the title, and the text without marks."""
    del limits
    library = require("markdown_it", extra="documents", purpose=f"reading {name}")
    source = decode(name, data)
    front, source = _front_matter(source)
    if len(source) > LONGEST:
        return front, source, ()
    page = library.MarkdownIt("commonmark").enable("table").render(source)
    title, heading, text = text_of(name, page)
    return front or title or heading, text, ()


def _front_matter(source: str) -> tuple[str, str]:
    """Return the title in the lines before the text, and the text after them."""
    if not source.startswith("---\n"):
        return "", source
    end = source.find("\n---", 4)
    if end < 0 or end > 20_000:
        return "", source
    title = ""
    for line in source[4:end].splitlines():
        key, _, value = line.partition(":")
        if key.strip().lower() == "title":
            title = value.strip().strip("\"'")
    return title, source[end + 4 :].lstrip("-")
