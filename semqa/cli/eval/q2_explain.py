"""Why a response has its Q²: its questions and answers, for a person at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semqa.attribution.judges.base import Entailment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["explanation"]


def explanation(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about one response.

    Args:
        row: of a record, as `semqa.attribution.q2.ResponseScore.to_dict` gives it.
    """
    label = {None: "", True: "; people: inconsistent", False: "; people: consistent"}
    yield (
        f"{row['id']}: Q² {_figure(row['q2'])}, without NLI {_figure(row['q2_no_nli'])}"
        f"{label[row['inconsistent']]}"
    )
    yield f"  response:  {_line(row['response'])}"
    yield f"  knowledge: {_line(row['knowledge'])}"
    dropped: dict[str, int] = {}
    for question in row["questions"]:
        if question["rejected"] is not None:
            dropped[question["rejected"]] = dropped.get(question["rejected"], 0) + 1
            continue
        answer, entailment = question["knowledge_answer"], question["entailment"]
        says = "nothing" if answer is None else f"“{_line(answer['text'])}”"
        verdict = "" if entailment is None else f", {Entailment(**entailment).relation}"
        yield (
            f"  {_line(question['question'])} response: “{_line(question['span'])}”, knowledge: "
            f"{says}{verdict}: {_figure(question['q2'])}"
        )
    if row["fallback"] is not None:
        verdict = Entailment(**row["fallback"]).relation
        yield f"  no valid question; the whole response, given the knowledge: {verdict}"
    if dropped:
        reasons = ", ".join(f"{count} {reason}" for reason, count in dropped.items())
        yield f"  dropped: {reasons}"


def _line(text: str) -> str:
    return " ".join(text.split())


def _figure(value: float | None) -> str:
    return "unscored" if value is None else f"{value:.2f}"
