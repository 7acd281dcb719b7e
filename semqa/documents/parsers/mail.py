"""E-mails: the header, the text, and the names of the attachments."""

from __future__ import annotations

from email import message_from_bytes
from email.policy import default
from typing import TYPE_CHECKING

from semqa.documents.parsers.html import text_of
from semqa.documents.parsers.plain import decode
from semqa.errors import InputError

if TYPE_CHECKING:
    from email.message import MIMEPart

    from semqa.documents.document import Limits

_SHOWN = ("From", "To", "Cc", "Date", "Subject")


def parse(name: str, data: bytes, limits: Limits) -> tuple[str, str, tuple[int, ...]]:
    """Return the subject, and the header with the text; of two versions, the plain one."""
    del limits
    message = message_from_bytes(data, policy=default)
    header = [f"{key}: {' '.join(str(message[key]).split())}" for key in _SHOWN if message[key]]
    if not header:
        raise InputError("The file is not an e-mail: it has no header.", where=name)
    files = [file for part in message.iter_attachments() if (file := part.get_filename())]
    if files:
        header.append(f"Attachments: {', '.join(files)}")
    body = message.get_body(("plain", "html"))
    text = "" if body is None else _text(name, body)
    return (
        " ".join(str(message["Subject"] or "").split()),
        "\n".join([*header, "", text]).strip(),
        (),
    )


def _text(name: str, body: MIMEPart) -> str:
    data = body.get_payload(decode=True)
    text = decode(name, data if isinstance(data, bytes) else b"", body.get_content_charset())
    return text_of(name, text)[2] if body.get_content_subtype() == "html" else text
