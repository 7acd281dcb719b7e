"""E-mails, as text or HTML."""

from __future__ import annotations

import re
from contextlib import suppress
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header, make_header
from email.policy import default
from itertools import pairwise
from typing import TYPE_CHECKING

from semqa.documents.parsers.html import text_of
from semqa.documents.parsers.plain import decode
from semqa.errors import InputError

if TYPE_CHECKING:
    from email.message import EmailMessage, MIMEPart

    from semqa.documents.document import Limits
    from semqa.documents.parsers import Parsed

_SHOWN = ("From", "To", "Cc", "Date", "Subject")
_TEXTS = ("text/plain", "text/html")
_QUOTED = re.compile(r"(?:>[ \t]?)+")
_NUMBERED = re.compile(r"\d{1,3}[.)]\s")
_FIELD = re.compile(r"[*_]*[A-Z][\w /’'-]{0,30}:[*_]* ")
_WRAPPED = 60
"""Minimum length of the longest line of wrapped text."""


def parse_email(name: str, data: bytes, limits: Limits) -> Parsed:  # noqa: ARG001
    """Return the subject, and the header with the text; of two versions, the plain one."""
    message = message_from_bytes(data, policy=default)
    header = {key: value for key in _SHOWN if (value := _field(message, key))}
    if not header:
        raise InputError("The file is not an e-mail: it has no header.", where=name)
    versions = (_part_text(name, message.get_body([kind])) for kind in ("plain", "html"))
    texts = [next(filter(None, versions), "")]
    files: list[str] = []
    for part in message.iter_attachments():
        if file := part.get_filename():
            files.append(" ".join(file.split()))
        elif part.get_content_type() in _TEXTS and not part.is_attachment():
            texts.append(_part_text(name, part))  # such as the text below a picture
    lines = [f"{key}: {value}" for key, value in header.items()]
    if files:
        lines.append(f"Attachments: {', '.join(files)}")
    text = _unwrapped("\n\n".join(["\n".join(lines), *filter(None, texts)]))
    return header.get("Subject", ""), text, ()


def _unwrapped(text: str) -> str:
    """Join the lines of quoted messages that were wrapped, so that "> " is not inside sentences."""
    lines = text.split("\n")
    longest = max((len(line) for line in lines if line.startswith(">")), default=0)
    if longest < _WRAPPED:
        return text
    parts = lines[:1]
    for before, line in pairwise(lines):
        above, mark = _QUOTED.match(before), _QUOTED.match(line)
        rest = line[mark.end() :] if mark else ""
        if (
            above
            and mark
            and above[0].count(">") == mark[0].count(">")
            and rest[:1].isalnum()
            and not _FIELD.match(rest)
            and not _NUMBERED.match(rest)
            and len(before) + 1 + len(rest.split()[0]) > longest
        ):
            parts[-1] = parts[-1].rstrip()
            parts += [" ", rest]
        else:
            parts += ["\n", line]
    return "".join(parts)


def _field(message: EmailMessage, key: str) -> str:
    """Return a header field, or an empty string.

    The parser of `email` takes quadratic time for a long list of addresses.
    """
    fields = (value for name, value in message.raw_items() if name.lower() == key.lower())
    raw = str(next(fields, "")).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    with suppress(MessageError, ValueError, LookupError):  # not encoded correctly
        raw = str(make_header(decode_header(raw)))
    return " ".join(raw.split())


def _part_text(name: str, part: MIMEPart | None) -> str:
    data = part.get_payload(decode=True) if part is not None else None
    if part is None or not isinstance(data, bytes):
        return ""
    text = decode(name, data, part.get_content_charset())
    text = text_of(name, text)[2] if part.get_content_subtype() == "html" else text
    return text.strip()
