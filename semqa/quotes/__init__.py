"""The quoted answer and its parts: `Source`, `Quote`, `QuotedAnswer`."""

from semqa.quotes.answer import ABSTENTION, QuotedAnswer
from semqa.quotes.quote import (
    Claim,
    Field,
    FreeText,
    Occurrence,
    Quote,
    Segment,
    Source,
    Status,
    Verdict,
)

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
