"""One finished example of a run, as the journal keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from semqa.data.jsonl import describe
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from semqa.data.jsonl import Row
    from semqa.metrics import ExampleScores
    from semqa.quotes import QuotedAnswer

__all__ = ["Record"]


@dataclass(frozen=True, slots=True)
class Record:
    """One answer and what became of it.

    Attributes:
        id: names it in the run.
        qid: the question.
        question: the question, in words.
        prediction: the answer, with canonical marks.
        error: why there is no answer; None where there is one.
        quotes: how many quotes have each status.
        words: words of the plain answer.
        free_words: how many of them stand outside of quotes.
        sources_quoted: sources that a verified quote names.
        scores: as `semqa.metrics.ExampleScores.to_dict` gives them, for readers of the file; the
            results are computed from `prediction`.
        seconds: what the engine took; of questions answered together, an equal share.
        exemplars: for an engine that asks a model, the qids of the exemplars in the prompt, as they
            stand there; None for others.
    """

    id: str
    qid: str
    question: str
    prediction: str
    error: str | None
    quotes: Mapping[str, int]
    words: int
    free_words: int
    sources_quoted: int
    scores: Mapping[str, object]
    seconds: float
    exemplars: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        key: str,
        question: str,
        answer: QuotedAnswer,
        scores: ExampleScores,
        seconds: float,
        error: str | None,
        exemplars: tuple[str, ...] | None = None,
    ) -> Record:
        """Make the record of an answer that was just given."""
        from semqa.quotes import FreeText

        free = [s.text for s in answer.segments if isinstance(s, FreeText)]
        shown = scores.to_dict()
        return cls(
            id=key,
            qid=str(shown.pop("qid")),
            question=question,
            prediction=answer.marked,
            error=error,
            quotes=answer.counts,
            words=len(answer.plain.split()),
            free_words=sum(len(text.split()) for text in free),
            sources_quoted=len({quote.source for quote in answer.quotes if quote.verified}),
            scores=shown,
            seconds=round(seconds, 6),
            exemplars=exemplars,
        )

    @classmethod
    def read(cls, row: Row) -> Record:
        """Read a record from a journal.

        Raises:
            InputError: a field is missing or of the wrong type.
        """
        error = row.fields.get("error")
        return cls(
            id=row.text("id"),
            qid=row.text("qid"),
            question=row.text("question"),
            prediction=row.text("prediction"),
            error=None if error is None else row.text("error"),
            quotes={
                name: int(_number(row, value, "quotes"))
                for name, value in _object(row, "quotes").items()
            },
            words=int(_number(row, row.fields.get("words"), "words")),
            free_words=int(_number(row, row.fields.get("free_words"), "free_words")),
            sources_quoted=int(_number(row, row.fields.get("sources_quoted"), "sources_quoted")),
            scores=_object(row, "scores"),
            seconds=_number(row, row.fields.get("seconds"), "seconds"),
            exemplars=_texts(row, "exemplars"),
        )

    def to_dict(self) -> dict[str, object]:
        """Return the record as a journal's row."""
        return {
            name: getattr(self, name)
            for name in self.__slots__
            if name != "exemplars" or self.exemplars is not None
        }


def _object(row: Row, name: str) -> dict[str, object]:
    value = row.fields.get(name)
    if not isinstance(value, dict):
        raise _wrong(row, value, name, "an object")
    return value


def _texts(row: Row, name: str) -> tuple[str, ...] | None:
    value = row.fields.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise _wrong(row, value, name, "an array of strings")
    return tuple(value)


def _number(row: Row, value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(row, value, name, "a number")
    return value


def _wrong(row: Row, value: object, name: str, rule: str) -> InputError:
    return InputError(
        f"{row.where}: not a row of a run: got {describe(value)} in the field {name!r}, expected "
        f"{rule}; remove the line to have the example run again"
    )
