"""E-mails: the header, the text, and the names of the attachments."""

from __future__ import annotations

from contextlib import suppress
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header, make_header
from email.policy import default
from typing import TYPE_CHECKING

from semqa.documents.parsers.html import text_of
from semqa.documents.parsers.plain import decode
from semqa.errors import InputError

if TYPE_CHECKING:
    from email.message import EmailMessage, MIMEPart

    from semqa.documents.document import Limits

_SHOWN = ("From", "To", "Cc", "Date", "Subject")


_TEXTS = ("text/plain", "text/html")


def parse(name: str, data: bytes, limits: Limits) -> tuple[str, str, tuple[int, ...]]:
    """Return the subject, and the header with the text; of two versions, the plain one."""
    del limits
    message = message_from_bytes(data, policy=default)
    header = {key: value for key in _SHOWN if (value := _field(message, key))}
    if not header:
        raise InputError("The file is not an e-mail: it has no header.", where=name)
    versions = (_text(name, message.get_body([kind])) for kind in ("plain", "html"))
    texts = [next(filter(None, versions), "")]
    files: list[str] = []
    for part in message.iter_attachments():
        if file := part.get_filename():
            files.append(" ".join(file.split()))
        elif part.get_content_type() in _TEXTS and not part.is_attachment():
            texts.append(_text(name, part))  # such as the text below a picture
    lines = [f"{key}: {value}" for key, value in header.items()]
    if files:
        lines.append(f"Attachments: {', '.join(files)}")
    text = "\n\n".join(["\n".join(lines), *filter(None, texts)])
    return header.get("Subject", ""), text, ()


def _field(message: EmailMessage, key: str) -> str:
    """Return a header field, or an empty string.

    The parser of `email` takes quadratic time for a long list of addresses.
    """
    fields = (value for name, value in message.raw_items() if name.lower() == key.lower())
    raw = str(next(fields, "")).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    with suppress(MessageError, ValueError, LookupError):  # not encoded correctly
        raw = str(make_header(decode_header(raw)))
    return " ".join(raw.split())


def _text(name: str, part: MIMEPart | None) -> str:
    data = part.get_payload(decode=True) if part is not None else None
    if part is None or not isinstance(data, bytes):
        return ""
    text = decode(name, data, part.get_content_charset())
    text = text_of(name, text)[2] if part.get_content_subtype() == "html" else text
    return text.strip()
