"""Definitions of terms, as in contracts.

"Who is the landlord?" is answered by 'between Anna Berg (hereinafter the "Landlord") and …', and
"What are ancillary costs?" by '"Ancillary Costs" means heating and water.'
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semqa.engines.extractive.matching import Match

__all__ = ["defining_rows"]

_QUOTE = "[\"'“”„‘’«»]"
_ASKS = re.compile(
    r"\W*(?:(?:who|what)(?:'s|’s| is| are| does| do)|what (?:is|are) meant by|define)"
    rf"(?: the terms?)?(?: an?\b| the\b)?\s+{_QUOTE}?((?:[\w&/’'-]+ ){{0,3}}?[\w&/-]+){_QUOTE}?"
    r"(?: mean| stand for)?(?: (?:in|under) (?:the|this) \w+)?\W*",
    re.IGNORECASE,
)
"""A question for a term of up to four words."""


def defining_rows(found: Match) -> list[int]:
    """Return the rows that define the term that a question asks for.

    They have it in brackets after what it stands for, or in quotation marks before "means". None do
    for abbreviations, because their long form may not answer the question.
    """
    asked = _ASKS.fullmatch(found.question)
    if asked is None or asked[1].isupper():
        return []
    term = r"\s+".join(map(re.escape, asked[1].split()))
    defines = re.compile(
        rf"\w\W{{1,3}}\([^()\"“„‘«]{{0,40}}{_QUOTE}(?:the |an? )?{term}{_QUOTE}[^()]{{0,60}}\)"
        rf"|\w\W{{1,3}}\((?:(?:herein\w++|called|together|collectively|jointly|each|the|an?)[, ]++)*+{term}\)"
        rf"|{_QUOTE}{term}{_QUOTE},? (?:shall )?(?:means?|refers? to|(?:is|are) defined as)\b",
        re.IGNORECASE,
    )
    return [
        row for row, (s, u) in enumerate(found.places) if defines.search(found.sources[s].texts[u])
    ]
