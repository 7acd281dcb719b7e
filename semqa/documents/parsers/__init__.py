"""Parsers, one per kind of document. They run in the processes of `semqa.documents.extract`."""

from collections.abc import Callable
from typing import TypeAlias

from semqa.documents.document import Limits
from semqa.documents.parsers.docx import parse_docx
from semqa.documents.parsers.html import parse_html
from semqa.documents.parsers.mail import parse_email
from semqa.documents.parsers.markdown import parse_markdown
from semqa.documents.parsers.pdf import parse_pdf
from semqa.documents.parsers.plain import parse_csv, parse_jsonl, parse_text

Parsed: TypeAlias = tuple[str, str, tuple[int, ...]]
"""A title, which may be empty, a text, and the start offset of each page (PDF only)."""

PARSERS: dict[str, Callable[[str, bytes, Limits], Parsed]] = {
    "txt": parse_text,
    "md": parse_markdown,
    "html": parse_html,
    "pdf": parse_pdf,
    "docx": parse_docx,
    "csv": parse_csv,
    "jsonl": parse_jsonl,
    "eml": parse_email,
}
"""The parser of each kind, called with a file's name, content and limits."""
