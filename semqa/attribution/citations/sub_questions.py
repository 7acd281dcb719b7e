"""The sub-questions of a QuoteSum question: what a complete answer settles, each with its short answer.

QuoteSum keeps AmbigQA's readings of a question in one column, a reading a source, with " | " between;
a bar without blanks is between two wordings of one reading. Rows from PAQ have none, for their sources
answer one question differently.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from semqa.attribution.citations.examples import ShortAnswers

if TYPE_CHECKING:
    from semqa.data.quotesum import Question

__all__ = ["NO_SUB_QUESTIONS", "SubQuestions", "sub_questions"]

_BETWEEN = re.compile(r"\s+\|\s+")

NO_SUB_QUESTIONS = "the question has no sub-questions"


class SubQuestions(NamedTuple):
    """Sub-questions, or why there are none.

    Attributes:
        pairs: each with its short answers.
        unscored: why there are none; None where there are.
    """

    pairs: tuple[ShortAnswers, ...]
    unscored: str | None = None


def sub_questions(question: Question) -> SubQuestions:
    """Return the readings of a question with the short answers of the sources that they go with.

    A reading that several sources answer is one sub-question, and any of its short answers will do. Of
    several wordings of one the first is asked.
    Readings that cannot be told to which source they belong are left alone.

    Args:
        question: with the columns ``disambig_questions`` and ``short_ans_k`` in its references.

    Source: Stelmakh et al. 2022, ASQA, section 4, whose question-answer pairs are these.

    Example:
        >>> from semqa.data.quotesum import Question, Reference
        >>> row = Reference("r", "", "", ("1942", "1943"), "When in the US? | When in the UK?")
        >>> sub_questions(Question("q", "When?", (), (row,))).pairs[1]
        ShortAnswers(question='When in the UK?', answers=('1943',))
    """
    answers: dict[int, list[str]] = {}
    for reference in question.references:
        for number, answer in enumerate(reference.source_answers, 1):
            if answer.strip() and answer not in answers.setdefault(number, []):
                answers[number].append(answer)
    numbers = [number for number in sorted(answers) if answers[number]]
    said = [each.disambiguation for each in question.references if each.disambiguation.strip()]
    if not said:
        return SubQuestions((), NO_SUB_QUESTIONS)
    wordings = [part.split("|") for part in _BETWEEN.split(said[0].strip())]
    asked = [next((each.strip() for each in part if each.strip()), "") for part in wordings]
    if len(asked) != len(numbers):
        numbers = list(question.numbers)  # a part for each source, answered or not
    if len(asked) != len(numbers):
        return SubQuestions(
            (), "the question has another number of sub-questions than of sources and short answers"
        )
    merged: dict[str, tuple[str, list[str]]] = {}
    for part, number in zip(asked, numbers, strict=True):
        if part and answers.get(number):
            _, kept = merged.setdefault(" ".join(part.casefold().split()), (part, []))
            kept += [answer for answer in answers[number] if answer not in kept]
    pairs = tuple(ShortAnswers(part, tuple(kept)) for part, kept in merged.values())
    return SubQuestions(pairs, None if pairs else NO_SUB_QUESTIONS)
