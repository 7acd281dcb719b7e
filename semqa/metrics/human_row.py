"""The human row: each reference scored as if it were a prediction, against the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.errors import InputError
from semqa.metrics.example import ExampleScores, NoReferenceError
from semqa.metrics.lcs import Vocabulary
from semqa.metrics.marked_text import MarkedText, bags_of_quotes
from semqa.metrics.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["leave_one_out"]

NO_OTHER_REFERENCE = "no other reference to compare with"


def leave_one_out(
    qid: str,
    references: Sequence[str],
    short_answers: Sequence[str],
    present: Iterable[int],
    *,
    official: bool = False,
    all_sources: bool = False,
) -> list[ExampleScores]:
    """Score each reference of one question against the other references of it.

    `summarise` of the rows of all questions is the human row. It averages over answers, not over
    questions: so do the published figures, where each answer is one example of the scorer. A
    question with a single reference gives one unscored row.

    Args:
        qid: the question.
        references: the human answers.
        short_answers: one for each reference, in the same order; "" for none.
        present: numbers of the sources that the question comes with.
        official: as for `score`.
        all_sources: as for `score`.

    Returns:
        One row for each reference, in order, all with the same qid.

    Raises:
        InputError: there is no reference, or not one short answer for each.

    Example:
        >>> rows = leave_one_out("q1", ["[ 1 May ]", "[ 1 May 1942 ]"], ["", ""], [1])
        >>> [round(row.sem_f1, 1) for row in rows]
        [66.7, 66.7]
    """
    if len(short_answers) != len(references):
        raise InputError(
            f"question {qid}: short_answers: got {len(short_answers)} for {len(references)} "
            'references, expected one for each; write "" where there is none'
        )
    if not references:
        raise NoReferenceError(
            f"question {qid}: references: got none, expected at least one; leave the question out"
        )
    if len(references) == 1:
        return [ExampleScores.without(qid, NO_OTHER_REFERENCE)]
    vocabulary = Vocabulary()
    present = tuple(present)
    texts = [
        MarkedText(text, vocabulary, learn=True, all_sources=all_sources) for text in references
    ]
    shorts = [
        bags_of_quotes(text, vocabulary, learn=True, all_sources=all_sources)
        for text in short_answers
    ]
    rows = []
    for k, text in enumerate(texts):
        target = Target(
            vocabulary,
            [*texts[:k], *texts[k + 1 :]],
            [*shorts[:k], *shorts[k + 1 :]],
            present,
            any_short_answer=any((*short_answers[:k], *short_answers[k + 1 :])),
            official=official,
            all_sources=all_sources,
        )
        rows.append(target.score_encoded(text, qid=qid))
    return rows
