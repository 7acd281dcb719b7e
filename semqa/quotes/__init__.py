"""The quoted answer and its parts: `Source`, `Quote`, `QuotedAnswer`."""

from semqa.quotes.answer import QuotedAnswer
from semqa.quotes.quote import FreeText, Occurrence, Quote, Segment, Status
from semqa.quotes.source import Field, Source

__all__ = [
    "Field",
    "FreeText",
    "Occurrence",
    "Quote",
    "QuotedAnswer",
    "Segment",
    "Source",
    "Status",
]
