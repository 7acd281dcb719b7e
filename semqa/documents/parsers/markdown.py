"""Markdown, which is rendered to HTML and read like a web page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from semqa.documents.document import clean
from semqa.documents.parsers.html import text_of
from semqa.documents.parsers.plain import decode
from semqa.extras import require

if TYPE_CHECKING:
    from semqa.documents.document import Limits
    from semqa.documents.parsers import Parsed

MAX_MARKDOWN_LENGTH = 2_000_000
"""Longer Markdown is treated as plain text: the parser reads 200,000 characters per second."""

MAX_MARKDOWN_NESTING = 200
"""Markdown that is nested deeper is treated as plain text; an item of a list counts twice."""

_MAX_FRONT_MATTER = 20_000
_FIELD = re.compile(r"[*_]*[A-Z][\w /’'-]{0,30}:[*_]* ")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?=\S)(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_IS_YAML = re.compile(r"\s*$|\s+\S|[-#]|[\"']?[\w][\w .-]*[\"']?:(?:\s|$)")
"""A line that may occur in front matter: a key, or part of its value."""


def parse_markdown(name: str, data: bytes, limits: Limits) -> Parsed:  # noqa: ARG001
    """Return the title (of the front matter, or the first heading) and the text."""
    library = require("markdown_it", extra="documents", purpose=f"reading {name}")
    source = clean(decode(name, data))
    front, source = _front_matter(source)
    if len(source) > MAX_MARKDOWN_LENGTH:
        return front, source, ()
    parser = library.MarkdownIt("commonmark", {"maxNesting": MAX_MARKDOWN_NESTING})
    parser.enable(["table", "strikethrough"])
    tokens = parser.parse(source)
    if max((token.level for token in tokens), default=0) >= MAX_MARKDOWN_NESTING - 2:
        return front, source, ()  # the parser drops what is nested deeper
    for token in tokens:
        _keep_fields_apart(token)
    page = parser.renderer.render(tokens, parser.options, {})
    title, heading, text = text_of(name, page)
    return front or title or heading, text, ()


def _keep_fields_apart(token: Any) -> None:
    """Keep the line break before each line such as "**Date:** 3 May"."""
    lines = token.content.split("\n")[1:] if token.type == "inline" else []
    breaks = [child for child in token.children or () if child.type in ("softbreak", "hardbreak")]
    if len(breaks) == len(lines):
        for each, line in zip(breaks, lines, strict=True):
            if _FIELD.match(line):
                each.type = "hardbreak"


def _front_matter(source: str) -> tuple[str, str]:
    """Return the title in the front matter, and the text after it.

    Text between two horizontal rules is not front matter.
    """
    found = _FRONT_MATTER.match(source[:_MAX_FRONT_MATTER])
    if found is None or not all(map(_IS_YAML.match, found[1].splitlines())):
        return "", source
    title = ""
    for line in found[1].splitlines():
        key, _, value = line.partition(":")
        if key.strip().lower() == "title":
            title = value.strip().strip("\"'")
    return title, source[found.end() :]
