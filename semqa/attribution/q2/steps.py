"""The steps that the released code saves: its questions and answers, before entailment is judged.

A row is a question about a response: ``id``, ``response``, ``cand`` (the span), ``question``,
``knowledge``, ``knowledge_ans`` and ``score`` (the overlap; -1 where no question is valid), and
sometimes ``label``. Its marks are ``[CLS]`` for no answer and ``NO_Q`` for no question.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from semqa.attribution.q2.question import Found, Question
from semqa.attribution.q2.response import Response
from semqa.attribution.q2.scores import ResponseScore
from semqa.data.jsonl import describe
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.data.jsonl import Row

__all__ = ["STEP_COLUMNS", "scores_of_steps"]

STEP_COLUMNS = ("id", "response", "cand", "question", "knowledge", "knowledge_ans", "score")

NO_ANSWER = "[CLS]"
NO_QUESTION = -1.0


def scores_of_steps(
    rows: Sequence[Row], inconsistent: bool | None = None, *, official: bool = False
) -> list[ResponseScore]:
    """Return the responses of such a table with their questions, in the order of their ids' first rows.

    Args:
        rows: of the table.
        inconsistent: the class of responses without a label.
        official: take an empty answer for the text ``nan``, as the released code reads its own
            file; otherwise it is no answer.

    Raises:
        InputError: a cell is not usable; the message names the row.
    """
    responses: dict[str, Response] = {}
    questions: dict[str, list[Question]] = {}
    for row in rows:
        key = row.text("id")
        known = responses.get(key)
        if known is None:
            label = row.text("label", "").strip()
            if label not in {"", "0", "1"}:
                raise _wrong(row, "label", "1 for inconsistent or 0 for consistent")
            responses[key] = Response(
                key,
                row.text("response"),
                row.text("knowledge"),
                label == "1" if label else inconsistent,
                where=row.where,
            )
            questions[key] = []
        elif known.knowledge != row.text("knowledge"):
            raise _wrong(row, "knowledge", "that of the other rows with its id")
        score = _score(row)
        if score == NO_QUESTION:
            continue
        answer = row.text("knowledge_ans")
        if official:
            answer = answer or "nan"
        found = None if not answer or NO_ANSWER in answer else Found(answer)
        span = row.text("cand")
        # A file of the released code states the overlap; what has no answer has none.
        stated = score if official or found is not None else None
        questions[key].append(
            Question(row.text("question"), span, span, answer=found, stated=stated)
        )
    return [
        ResponseScore(response, tuple(questions[key]), official=official, spans=len(questions[key]))
        for key, response in responses.items()
    ]


def _score(row: Row) -> float:
    try:
        score = float(row.text("score"))
    except ValueError:
        score = math.nan
    if score == NO_QUESTION or 0 <= score <= 1:
        return score
    raise _wrong(row, "score", "a number from 0 to 1, or -1 for no valid question")


def _wrong(row: Row, column: str, rule: str) -> InputError:
    return InputError(
        f"{row.where}: not a step: got {describe(row.fields.get(column))} in {column!r}, expected "
        f"{rule}; correct it"
    )
