"""The quoted answer and its parts: `Source`, `Quote`, `QuotedAnswer`."""

from semqa.quotes.answer import ABSTENTION, QuotedAnswer
from semqa.quotes.quote import Claim, FreeText, Occurrence, Quote, Segment, Status, Verdict
from semqa.quotes.source import Field, Source

__all__ = [
    "ABSTENTION",
    "Claim",
    "Field",
    "FreeText",
    "Occurrence",
    "Quote",
    "QuotedAnswer",
    "Segment",
    "Source",
    "Status",
    "Verdict",
]
