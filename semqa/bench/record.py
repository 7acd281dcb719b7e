"""One finished example of a run, as a row of ``examples.jsonl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from semqa.data.jsonl import describe
from semqa.errors import InputError
from semqa.quotes import FreeText, QuotedAnswer, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.data.jsonl import Row
    from semqa.engines.generation import Generation
    from semqa.metrics import ExampleScores
    from semqa.quotes import Quote

MOST = 1e15
"""Largest number allowed in a row, so that sums fit in a float with enough precision."""


class Asked(NamedTuple):
    """Input and output of the model for one answer.

    Every field except `exemplars` is None if the engine does not report it.

    Attributes:
        written: the raw output, before parsing and repair.
    """

    exemplars: tuple[str, ...]
    prompt_tokens: int | None = None
    new_tokens: int | None = None
    finished: bool | None = None
    constraint: str | None = None
    breach: str | None = None
    repaired: int | None = None
    dropped: int | None = None
    prompt: str | list[dict[str, str]] | None = None
    written: str | None = None

    @classmethod
    def by(cls, made: Generation, *, chat: bool = True) -> Self:
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
        asked: input and output of the model; None without a model or an answer. Its fields are
            written as fields of the row.
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
    spans: Sequence[Mapping[str, object]]
    verdict: Verdict
    asked: Asked | None = None

    @classmethod
    def of(
        cls,
        key: str,
        qid: str,
        question: str,
        answer: QuotedAnswer,
        scores: ExampleScores | None,
        seconds: float,
        error: str | None,
        asked: Asked | None = None,
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
            scores=shown_scores(scores),
            seconds=round(seconds, 6),
            asked=asked,
            spans=[_span(quote) for quote in answer.quotes],
            verdict=answer.verdict(question),
        )

    @classmethod
    def read(cls, row: Row) -> Record:
        """Parse a row; `asked` is None if the row has no exemplars field."""
        fields = {name: _typed(row, name, kind) for name, kind in _FIELDS.items()}
        for name, count in fields["quotes"].items():
            _check(row, name, count, int)
        if fields["verdict"] not in set(Verdict):
            raise _wrong(row, fields["verdict"], "verdict", " or ".join(Verdict))
        error = None if row.fields.get("error") is None else row.text("error")
        asked = None
        if row.fields.get("exemplars") is not None:
            given = {
                name: _typed(row, name, kind)
                for name, kind in _ASKED.items()
                if row.fields.get(name) is not None
            }
            asked = Asked(**{**given, "exemplars": tuple(given["exemplars"])})
        verdict = Verdict(fields.pop("verdict"))
        return cls(**fields, error=error, verdict=verdict, asked=asked)

    def to_dict(self) -> dict[str, object]:
        """Return the row, ready for JSON."""
        row = {name: getattr(self, name) for name in self.__slots__ if name != "asked"}
        given = self.asked._asdict() if self.asked is not None else {}
        return row | {name: value for name, value in given.items() if value is not None}


def shown_scores(scores: ExampleScores | None) -> dict[str, object]:
    """Return scores as stored in a row."""
    shown = {} if scores is None else scores.to_dict()
    shown.pop("qid", None)
    return shown


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


_FIELDS: dict[str, type] = {
    **dict.fromkeys(("id", "qid", "question", "prediction", "verdict"), str),
    **dict.fromkeys(("quotes", "scores"), dict),
    **dict.fromkeys(("words", "free_words", "sources_quoted"), int),
    "seconds": float,
    "spans": list,
}
_ASKED: dict[str, type] = {
    "exemplars": list,
    **dict.fromkeys(("prompt_tokens", "new_tokens", "repaired", "dropped"), int),
    "finished": bool,
    **dict.fromkeys(("constraint", "breach", "written"), str),
    "prompt": object,
}
_NOUNS = {str: "a string", dict: "an object", list: "an array", bool: "true or false"}


def _typed(row: Row, name: str, kind: type) -> Any:
    value = row.text(name) if kind is str else row.fields.get(name)
    _check(row, name, value, kind)
    return value


def _check(row: Row, name: str, value: object, kind: type) -> None:
    if kind not in (int, float):
        if not isinstance(value, kind):
            raise _wrong(row, value, name, _NOUNS[kind])
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(row, value, name, "a number")
    elif abs(value) > MOST:
        raise _wrong(row, value, name, f"a number of at most {MOST:g}")


def _wrong(row: Row, value: object, name: str, rule: str) -> InputError:
    return InputError(
        f"must be {rule}, got {describe(value)}.",
        field=name,
        where=row.where,
        hint="Delete the line to run the example again.",
    )
