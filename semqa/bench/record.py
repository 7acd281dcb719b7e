"""One finished example of a run, as a row of ``examples.jsonl``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Self

from annotated_types import Interval

from semqa.data.jsonl import Row, read_as
from semqa.engines.base import Generation
from semqa.metrics import ExampleScores
from semqa.quotes import FreeText, Quote, QuotedAnswer, Verdict

Count = Annotated[int, Interval(ge=0, le=10**15)]
"""A number that fits in a float when many are added."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """Input and output of the model for one answer.

    Every field except `exemplars` is None if the engine does not report it.

    Attributes:
        written: the raw output, before parsing and repair.
    """

    exemplars: tuple[str, ...]
    prompt_tokens: Count | None = None
    new_tokens: Count | None = None
    finished: bool | None = None
    constraint: str | None = None
    breach: str | None = None
    repaired: Count | None = None
    dropped: Count | None = None
    prompt: str | list[dict[str, str]] | None = None
    written: str | None = None

    @classmethod
    def by(cls, made: Generation, *, chat: bool) -> Self:
        """Make it from a generation."""
        repairs = made.repairs
        return cls(
            tuple(exemplar.qid for exemplar in made.prompt.exemplars),
            made.prompt_tokens,
            made.new_tokens,
            made.finished,
            made.constraint,
            made.breach,
            None if repairs is None else sum(each is not None for each in repairs.quotes),
            None if repairs is None else len(repairs.dropped),
            [turn.to_dict() for turn in made.prompt.messages] if chat else made.prompt.text,
            made.text if made.written is None else made.written,
        )


@dataclass(frozen=True, slots=True)
class Record:
    """One answer, its scores and how it was produced.

    Attributes:
        scores: result of `ExampleScores.to_dict`, for information only: results are computed from
            `prediction`.
        seconds: time taken by the engine; a batch is divided equally among its questions.
        call: input and output of the model; None without a model or an answer. Its fields are
            written as fields of the row.
    """

    id: str
    qid: str
    question: str
    prediction: str
    error: str | None
    quotes: Mapping[str, Count]
    words: Count
    free_words: Count
    sources_quoted: Count
    scores: Mapping[str, object]
    seconds: Annotated[float, Interval(ge=0, le=1e15)]
    spans: Sequence[Mapping[str, object]]
    verdict: Verdict
    call: ModelCall | None = None

    @classmethod
    def of(
        cls,
        key: str,
        qid: str,
        question: str,
        answer: QuotedAnswer,
        scores: ExampleScores,
        seconds: float,
        error: str | None,
        call: ModelCall | None = None,
    ) -> Record:
        """Make the record of a new answer; the answer is empty if there is an error."""
        free = [s.text for s in answer.segments if isinstance(s, FreeText)]
        return cls(
            id=key,
            qid=qid,
            question=question,
            prediction=answer.marked,
            error=error,
            quotes=answer.counts,
            words=len(answer.plain.split()),
            free_words=sum(len(text.split()) for text in free),
            sources_quoted=len({quote.source for quote in answer.quotes if quote.verified}),
            scores={name: value for name, value in scores.to_dict().items() if name != "qid"},
            seconds=round(seconds, 6),
            call=call,
            spans=[_span(quote) for quote in answer.quotes],
            verdict=answer.verdict(question),
        )

    @classmethod
    def read(cls, row: Row) -> Record:
        """Parse a row; `call` is None if the row has no exemplars field."""
        record = read_as(cls, row, "Delete the line to run the example again.")
        if row.fields.get("exemplars") is None:
            return record
        return replace(record, call=read_as(ModelCall, row))

    def to_dict(self) -> dict[str, object]:
        """Return the row, ready for JSON."""
        row = {name: getattr(self, name) for name in self.__slots__ if name != "call"}
        given = asdict(self.call) if self.call is not None else {}
        return row | {name: value for name, value in given.items() if value is not None}


def _span(quote: Quote) -> dict[str, object]:
    span: dict[str, object] = {
        "source": quote.source,
        "text": quote.text,
        "status": quote.status.value,
    }
    if quote.verified:
        span |= {"field": quote.field, "start": quote.source_start, "end": quote.source_end}
    if quote.cut:
        span["cut"] = True
    if quote.repaired is not None:
        span["repaired"] = quote.repaired.to_dict()
    return span
