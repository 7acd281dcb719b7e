"""Parts: the other half of a question such as "who founded it, and when did it close?"."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from semqa.engines.extractive.compose import Pick, span_text, words_of
from semqa.engines.extractive.evidence import evidence, trust

if TYPE_CHECKING:
    from semqa.engines.extractive.inquiry import Inquiry
    from semqa.engines.extractive.reading import Reading

__all__ = ["other_part"]


def other_part(inquiry: Inquiry, reading: Reading, pick: Pick, room: int) -> Pick | None:
    """Return the sentence that answers what the quote of the same source leaves unanswered.

    It must hold a word of the missing part of the question besides an answer of its kind.

    Args:
        inquiry: what is asked.
        reading: the source.
        pick: what is quoted of it already.
        room: most words.
    """
    passage, relevance = reading.passage, reading.relevance
    spans = [span_text(passage, s.first, s.last) for s in passage.sentences]
    quoted = [span in pick.span or pick.span in span for span in spans]
    for kind, stems in inquiry.parts:
        asked = replace(inquiry, kind=kind, parts=())
        held = evidence(passage, asked) >= trust(asked).least
        answers = [
            bool(held[s.first : s.last].any())
            and (not stems or bool(stems & set(passage.stems[s.first : s.last])))
            for s in passage.sentences
        ]
        if any(answer and there for answer, there in zip(answers, quoted, strict=True)):
            continue
        for i in sorted(range(len(spans)), key=lambda i: -relevance.brief[i]):
            if answers[i] and not quoted[i]:
                other = Pick(
                    pick.source, spans[i], start=passage.starts[passage.sentences[i].first]
                )
                return other if words_of(other) <= room else None
    return None
