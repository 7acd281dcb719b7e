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
"""Largest number in a row; sums of such numbers are exact enough and fit into a float."""


class Asked(NamedTuple):
    """What a model was given for one answer, and what it wrote.

    Each field but the first is None if the engine does not report it.

    Attributes:
        written: the raw text, before anything was parsed or repaired.
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
        """Return what a generation tells."""
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

    @classmethod
    def read(cls, row: Row) -> Self | None:
        """Read it from a row; None if no model was asked."""
        if row.fields.get("exemplars") is None:
            return None
        prompt = row.fields.get("prompt")
        if prompt is not None and not isinstance(prompt, str):
            prompt = _list(row, "prompt", dict)
        counts = {name: _count(row, name) for name in ("repaired", "dropped")}
        return cls(
            tuple(_list(row, "exemplars", str)),
            _count(row, "prompt_tokens"),
            _count(row, "new_tokens"),
            _typed(row, "finished", bool, "true or false"),
            _typed(row, "constraint", str, "a string"),
            _typed(row, "breach", str, "a string"),
            **counts,
            prompt=prompt,
            written=_typed(row, "written", str, "a string"),
        )


@dataclass(frozen=True, slots=True)
class Record:
    """One answer and what became of it.

    Attributes:
        scores: result of `ExampleScores.to_dict`, for readers of the file; results are computed from
            `prediction`. Empty if only predictions were wanted.
        seconds: time of the engine; questions answered together have equal shares.
        asked: what a model was given and wrote; None if none was asked, or there is no answer. Its
            fields are written among the others.
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
        """Make the record of an answer that was just given; it is empty if there is an error."""
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
        """Read a row."""
        fields = row.fields
        quotes = _required(row, "quotes", dict, "an object")
        return cls(
            id=row.text("id"),
            qid=row.text("qid"),
            question=row.text("question"),
            prediction=row.text("prediction"),
            error=None if fields.get("error") is None else row.text("error"),
            quotes={name: int(_number(row, n, "quotes")) for name, n in quotes.items()},
            words=int(_number(row, fields.get("words"), "words")),
            free_words=int(_number(row, fields.get("free_words"), "free_words")),
            sources_quoted=int(_number(row, fields.get("sources_quoted"), "sources_quoted")),
            scores=_required(row, "scores", dict, "an object"),
            seconds=_number(row, fields.get("seconds"), "seconds"),
            asked=Asked.read(row),
            spans=_list(row, "spans", dict),
            verdict=_verdict(row),
        )

    def to_dict(self) -> dict[str, object]:
        """Return the row."""
        row = {name: getattr(self, name) for name in self.__slots__ if name != "asked"}
        told = self.asked._asdict() if self.asked is not None else {}
        return row | {name: value for name, value in told.items() if value is not None}


def shown_scores(scores: ExampleScores | None) -> dict[str, object]:
    """Return scores as a row has them."""
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


def _verdict(row: Row) -> Verdict:
    """Return the verdict; rows of earlier versions have none, and theirs is worked out."""
    if "verdict" in row.fields:
        told = row.text("verdict")
        if told not in set(Verdict):
            raise _wrong(row, told, "verdict", " or ".join(Verdict))
        return Verdict(told)
    answer = QuotedAnswer.parse(row.text("prediction"), ())
    if answer.abstained:
        return Verdict.ABSTAINED
    spans = _list(row, "spans", dict)
    if _count(row, "dropped") or any(span.get("status") != "verified" for span in spans):
        return Verdict.UNVERIFIED
    if not answer.quotes or answer.claims(row.text("question")):
        return Verdict.UNQUOTED
    return Verdict.QUOTED


def _typed(row: Row, name: str, kind: type, noun: str) -> Any:
    """Return a field of this type, or None if it is missing."""
    return None if row.fields.get(name) is None else _required(row, name, kind, noun)


def _required(row: Row, name: str, kind: type, noun: str) -> Any:
    value = row.fields.get(name)
    if not isinstance(value, kind):
        raise _wrong(row, value, name, noun)
    return value


def _list(row: Row, name: str, kind: type) -> list[Any]:
    value = row.fields.get(name)
    if not isinstance(value, list) or not all(isinstance(each, kind) for each in value):
        noun = "strings" if kind is str else "objects"
        raise _wrong(row, value, name, f"an array of {noun}")
    return value


def _count(row: Row, name: str) -> int | None:
    value = row.fields.get(name)
    return None if value is None else int(_number(row, value, name))


def _number(row: Row, value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(row, value, name, "a number")
    if abs(value) > MOST:
        raise _wrong(row, value, name, f"a number of at most {MOST:g}")
    return value


def _wrong(row: Row, value: object, name: str, rule: str) -> InputError:
    return InputError(
        f"must be {rule}, got {describe(value)}.",
        field=name,
        where=row.where,
        hint="Remove the line to run the example again.",
    )
