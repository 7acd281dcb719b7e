"""JSON lines: each record becomes a paragraph, or the passage in its field ``text``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from semqa.documents.parsers.plain import decode
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from semqa.documents.document import Limits


def parse(name: str, data: bytes, limits: Limits) -> tuple[str, str, tuple[int, ...]]:
    """Return the records as text."""
    parts: list[str] = []
    size = 0
    for number, line in enumerate(decode(name, data).split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = "too deep a value" if isinstance(error, RecursionError) else str(error)
            raise InputError(f"Invalid JSON: {reason}.", where=f"{name}:{number}") from error
        if not isinstance(record, dict):
            raise InputError(
                f"Expected a JSON object, got {line[:40]!r}.", where=f"{name}:{number}"
            )
        parts.append(as_text(record))
        size += len(parts[-1])
        if size > limits.characters:
            break  # too long; the caller rejects it
    return "", "\n\n".join(filter(None, parts)), ()


def as_text(record: Mapping[str, object]) -> str:
    r"""Return a record as a paragraph.

    A record with a field ``text`` becomes that text, with its title as a heading. The sources of
    `semqa answer` are such records.

    Example:
        >>> as_text({"title": "Oslo", "text": "A city.", "url": "http://x"})
        '# Oslo\n\nA city.'
        >>> as_text({"city": "Oslo", "people": 700000, "note": ""})
        'city: Oslo\npeople: 700000'
    """
    text, title = record.get("text"), record.get("title")
    if isinstance(text, str) and text.strip():
        return (
            f"# {' '.join(title.split())}\n\n{text.strip()}"
            if isinstance(title, str) and title.strip()
            else text.strip()
        )
    lines = []
    for key, value in record.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if shown.strip() and value is not None:
            lines.append(f"{' '.join(str(key).split())}: {shown.strip()}")
    return "\n".join(lines)
