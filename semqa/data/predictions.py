"""Predictions: one answer text per question id, read and matched with the questions.

A line is ``{"qid": …, "prediction": …}``; other fields are ignored, so that a benchmark's per-example
file serves as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.data.jsonl import read_rows, shown
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from semqa.data.quotesum import Question

__all__ = ["match_predictions", "read_predictions"]

_LISTED = 5


def read_predictions(path: Path | str) -> dict[str, str]:
    """Read a file of predictions.

    Args:
        path: the file; ``-`` is standard input.

    Returns:
        The answer text by question id, in file order; a text may be empty.

    Raises:
        InputError: the file or a line is not usable, or a question has two predictions.
    """
    predictions: dict[str, str] = {}
    places: dict[str, str] = {}
    for row in read_rows(path):
        qid, text = row.text("qid"), row.text("prediction")
        if qid in places:
            raise InputError(
                f"{row.where}: doubled qid: got {shown(qid)} as at {places[qid]}, expected one "
                "prediction for each question; drop one of the lines"
            )
        places[qid] = row.where
        predictions[qid] = text
    return predictions


def match_predictions(
    questions: Sequence[Question],
    predictions: Mapping[str, str],
    *,
    allow_missing: bool = False,
    name: str = "predictions",
) -> list[str]:
    """Return the prediction of each question, in the questions' order.

    Args:
        questions: all questions to score.
        predictions: the answer text by question id.
        allow_missing: take a missing prediction as an empty answer.
        name: what messages call the predictions, such as their file.

    Raises:
        InputError: a prediction is for no question, or a question has none.

    Example:
        >>> from semqa.data.quotesum import Question
        >>> from semqa.quotes.source import Source
        >>> match_predictions([Question("q1", "Who?", (Source("Bing."),), ())], {"q1": "[ 1 Bing ]"})
        ['[ 1 Bing ]']
    """
    known = {question.qid for question in questions}
    unknown = [qid for qid in predictions if qid not in known]
    if unknown:
        raise InputError(
            f"{name}: unknown qid: got {shown(unknown[0])}{_more(len(unknown) - 1)}, expected the ids "
            f"of the {len(known)} questions; {_advice(unknown[0], known)}"
        )
    missing = [question.qid for question in questions if question.qid not in predictions]
    if missing and not allow_missing:
        listed = ", ".join(shown(qid) for qid in missing[:_LISTED])
        raise InputError(
            f"{name}: missing predictions: got none for {len(missing)} of {len(questions)} questions "
            f"({listed}{_more(len(missing) - _LISTED)}), expected one for each; add them, or allow "
            "missing ones (--allow-missing)"
        )
    return [predictions.get(question.qid, "") for question in questions]


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""


def _advice(qid: str, known: set[str]) -> str:
    from rapidfuzz import process

    # Sorted, so that the same file gives the same advice in every process.
    best = process.extractOne(qid, sorted(known), score_cutoff=60)
    if best is None:
        return "check that predictions and references belong together"
    return f"did you mean {shown(best[0])}?"
