"""The columns of a collection's two tables."""

from __future__ import annotations

from typing import Any

__all__ = ["documents_schema", "passages_schema"]


def documents_schema(arrow: Any) -> Any:
    """Return the schema of the table of documents.

    What a reader is told comes first; then where a document is from, what it was made with, the
    write that brought its passages, and its text.
    """
    text, count = arrow.string(), arrow.int64()
    return arrow.schema(
        [
            *((name, text) for name in ("id", "name", "kind", "title", "sha256", "added")),
            *((name, text) for name in ("origin", "stamp", "recipe", "write")),
            ("characters", count),
            ("passages", count),
            ("pages", arrow.list_(count)),
            ("text", arrow.large_string()),
        ]
    )


def passages_schema(arrow: Any) -> Any:
    """Return the schema of the table of passages, without the vectors, which come when needed.

    `searched` is the document's title, the lines of the passage's context, and the passage, with
    a line end after each but the last.
    """
    text, count = arrow.string(), arrow.int64()
    return arrow.schema(
        [
            ("write", text),
            ("document", text),
            ("start", count),
            ("end", count),
            ("page", count),
            ("searched", text),
        ]
    )
