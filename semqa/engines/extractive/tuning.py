"""The engine's hand-set constants.

A value was kept if it did not lower the cross-validated SEMQA of ``scripts/fit_extractive.py``; the
same holds for the trust table in `evidence`. Decreasing or increasing any one of them by half gains
at most 0.2 points, less than the variation between fold seeds, and loses up to 3.2; SUPPLIED,
TYPICAL_LENGTH and LENGTH_SHARE matter most.

"Worth" is expected F1, from 0 to 1. Lengths are in words.
"""

from __future__ import annotations

COVERAGE = 0.45
"""How much less relevant than the best source, as a proportion, a kept source may be."""

# How sentences relate to the question.

REACH = 6.0
"""Distance over which the proximity to a question word decays by a factor e."""

ANSWER_REACH, QUERY_REACH = 10.0, 12.0
"""The same for the features of words near an answer, and near a question word."""

SOFT = 0.6
"""Weight of a related word; the question's own word has weight 1."""

IN_TITLE = 0.1
"""Weight, in a sentence, of a question word that also occurs in the source's title."""

SUPPLIED = 0.5
"""Credit that a sentence gets for a question word in its source's title or subject."""

COMMON = 0.3
"""Minimum weight of a term, however common it is."""

CONTEXT = 0.25
"""Relative weight of a word that occurs only in an earlier question."""

SUBJECT_WORDS = 8
"""Maximum length of a sentence's subject."""

TYPICAL_LENGTH, LONGEST_COUNTED, LENGTH_SHARE = 22, 60, 0.4
"""Length normalisation of a sentence's cover: the neutral length, the length above which the penalty
no longer grows, and the strength of the penalty."""

EVIDENCE_BONUS = 0.25
"""Bonus for full evidence, added to the cover of a sentence."""

# The worth of a span.

TITLE_MARGIN = 0.05
"""How much a title must add to be quoted."""

FRAGMENT = 0.03
"""Penalty for a span that begins without its subject and has no title before it."""

LOWER, LOWER_BARE = 0.12, 0.25
"""The same if it begins in lower case: with a subject of its own, and without."""

OFF_TOPIC = 0.85
"""Factor for a span if its sentence lacks words of the question beyond the title, but another has some."""

NAMED = 0.2
"""Bonus for a title before a span that has an unresolved reference."""

BROKEN_OFF = 0.06
"""Penalty for a span that is cut off at the end of its source."""

LEAST = 0.5
"""If the best quote does not fit, the share of its worth that a replacement needs."""

LONGEST_PAIR = 50
"""Maximum number of words of two sentences quoted as one."""
