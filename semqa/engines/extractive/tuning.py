"""Every number of the engine that is neither fitted nor a definition.

They were set by hand and kept where the cross-validated SEMQA of ``scripts/fit_extractive.py`` did
not fall; so is the table of trust in `evidence`. Halving any one of them or adding half to it gains
at most 0.2 points there, which is less than fold seeds differ by, and loses up to 3.2, most by
SUPPLIED, TYPICAL_LENGTH and LENGTH_SHARE.

Worth is expected F1, from 0 to 1; lengths are in words.
"""

from __future__ import annotations

COVERAGE = 0.45
"""Share by which a source may be less relevant than the best and still be kept."""

# How sentences relate to the question.

REACH = 6.0
"""Distance over which the nearness to a question word falls by a factor e."""

ANSWER_REACH, QUERY_REACH = 10.0, 12.0
"""The same for the features of words beside an answer, and beside a word of the question."""

SOFT = 0.6
"""What a related word counts where the question's own word would count 1."""

IN_TITLE = 0.1
"""What a question word still tells about a sentence when the source's title holds it anyway."""

SUPPLIED = 0.5
"""What a sentence is credited with of a question word that title or subject of its source hold."""

COMMON = 0.3
"""What a term weighs however common."""

CONTEXT = 0.25
"""What a word weighs that stands only in an earlier question, against one of the question itself."""

SUBJECT_WORDS = 8
"""Longest subject of a sentence."""

TYPICAL_LENGTH, LONGEST_COUNTED, LENGTH_SHARE = 22, 60, 0.4
"""Length of a sentence that is worth its cover; the length past which it falls no more; how much of
its worth hangs on the length."""

EVIDENCE_BONUS = 0.25
"""What full evidence adds to the cover of a sentence."""

# What a span is worth.

TITLE_MARGIN = 0.05
"""How much a title must add before it is quoted."""

FRAGMENT = 0.03
"""How much more a span must be worth that begins without its subject, and no title before it."""

LOWER, LOWER_BARE = 0.12, 0.25
"""The same where it begins in lower case: with a subject of its own, and without."""

OFF_TOPIC = 0.85
"""Share of its worth that a span keeps whose sentence holds none of what is asked of the subject,
where others do."""

NAMED = 0.2
"""What a title is worth before a span that leaves open who or what is meant."""

BROKEN_OFF = 0.06
"""How much more a span must be worth that breaks off where its body does."""

LEAST = 0.5
"""Where the best quote does not fit, the share of its worth that another must have."""

LONGEST_PAIR = 50
"""Most words of two sentences quoted as one."""
