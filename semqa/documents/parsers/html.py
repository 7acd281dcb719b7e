"""HTML: the text that a page shows, a line for each block."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from semqa.documents.parsers.plain import decode
from semqa.errors import InputError
from semqa.extras import require

if TYPE_CHECKING:
    from semqa.documents.limits import Limits

__all__ = ["parse", "text_of"]

_STATED = re.compile(
    rb"<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*[\"']?([\w.:-]{1,40})", re.I
)
_DECLARATION = re.compile(r"\s*<\?xml[^>]{0,500}\?>")

_SILENT = frozenset(
    [
        "script",
        "style",
        "template",
        "noscript",
        "svg",
        "math",
        "iframe",
        "object",
        "embed",
        "canvas",
        "head",
        "nav",
        "select",
        "textarea",
        "button",
        "audio",
        "video",
        "map",
        "datalist",
    ]
)
_PARAGRAPHS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "details",
        "dl",
        "fieldset",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "main",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "ul",
        "body",
        "center",
    ]
)
_LINES = frozenset(
    ["br", "caption", "dd", "div", "dt", "figcaption", "li", "summary", "tr", "option", "legend"]
)
_CELLS = frozenset(["td", "th"])


def parse(name: str, data: bytes, limits: Limits) -> tuple[str, str, tuple[int, ...]]:
    """Return the page's title and what it shows."""
    del limits
    stated = _STATED.search(data[:4096])
    page = decode(name, data, stated[1].decode("ascii", "ignore") if stated else None)
    title, heading, text = text_of(name, page)
    return title or heading, text, ()


def text_of(name: str, page: str) -> tuple[str, str, str]:
    """Return the title, the first heading and the text of a page.

    Raises:
        InputError: it cannot be parsed.
    """
    etree = require("lxml.etree", extra="documents", purpose=f"reading {name}")
    parser = etree.HTMLParser(
        encoding="utf-8",
        huge_tree=True,
        no_network=True,
        recover=True,
        remove_comments=True,
        remove_pis=True,
    )
    declaration = _DECLARATION.match(page)
    raw = page[declaration.end() if declaration else 0 :].encode("utf-8", "replace")
    try:
        root = etree.fromstring(raw, parser)
    except etree.LxmlError as error:
        if not page.strip():
            return "", "", ""
        raise InputError(
            f"{name}: cannot be read: got {str(error)[:80]!r}, expected HTML; save the page again"
        ) from error
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        # The parser leaves out what comes after, without a word.
        raise InputError(
            f"{name}: cannot be read: got elements nested some thousands deep, expected an "
            "ordinary page; save it as text"
        )
    if root is None:
        return "", "", ""
    found = root.find(".//title")
    title = " ".join("".join(found.itertext()).split()) if found is not None else ""
    heading = root.find(".//h1")
    first = " ".join("".join(heading.itertext()).split()) if heading is not None else ""
    return title, first, _Text(etree).of(root)


class _Text:
    """Puts a page's text together; pages may be nested too deep for recursion."""

    def __init__(self, etree: Any) -> None:
        self._etree = etree
        self._parts: list[str] = []
        self._breaks = 2
        """Line ends that the text so far ends with, at most two."""
        self._blank = False

    def of(self, root: Any) -> str:
        walk = self._etree.iterwalk(root, events=("start", "end"))
        preserved = 0
        for event, element in walk:
            tag = element.tag if isinstance(element.tag, str) else ""
            if event == "start":
                if tag in _SILENT or element.get("hidden") is not None:
                    # Its end still comes, with the text after it.
                    walk.skip_subtree()
                    continue
                self._mark(tag)
                preserved += tag == "pre"
                self._add(element.text, preserved)
            else:
                silent = tag in _SILENT or element.get("hidden") is not None
                if not silent:
                    preserved -= tag == "pre"
                    if tag in _CELLS:
                        if element.getnext() is not None:
                            self._add(" | ", 0)
                    elif tag != "br":
                        self._mark(tag)
                if element is not root:
                    self._add(element.tail, preserved)
        return "".join(self._parts).strip()

    def _mark(self, tag: str) -> None:
        wanted = 2 if tag in _PARAGRAPHS else 1 if tag in _LINES else 0
        if wanted > self._breaks:
            self._parts.append("\n" * (wanted - self._breaks))
            self._breaks = wanted
        if wanted:
            self._blank = False

    def _add(self, text: str | None, preserved: int) -> None:
        if not text:
            return
        if preserved:
            if self._blank:
                self._parts.append(" ")
            self._parts.append(text)
            self._breaks, self._blank = int(text.endswith("\n")), False
            return
        words = text.split()
        if not words:
            self._blank = self._blank or not self._breaks
            return
        if self._blank or (text[0].isspace() and not self._breaks):
            self._parts.append(" ")
        self._parts.append(" ".join(words))
        self._breaks, self._blank = 0, text[-1].isspace()
