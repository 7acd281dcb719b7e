"""One finished example of a run, as the journal keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

from semqa.data.jsonl import describe
from semqa.errors import InputError
from semqa.quotes import QuotedAnswer, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.data.jsonl import Row
    from semqa.engines.generation import Generation
    from semqa.metrics import ExampleScores
    from semqa.quotes import Quote

__all__ = ["Asked", "Record"]

MOST = 1e15
"""Largest number of a row: sums of such are exact enough, and none is too large for a float."""


class Asked(NamedTuple):
    """What a model was given for one answer, and what it wrote.

    Attributes:
        exemplars: the qids of the exemplars in the prompt, as they stand there.
        prompt_tokens: how many tokens it read; None where the engine does not tell.
        new_tokens: how many tokens it wrote; None where the engine does not tell.
        finished: whether it ended by itself; None where the engine does not tell.
        constraint: how it was kept to verbatim quotes; None where the engine does not tell.
        breach: which rule the text breaks for all that; None where it breaks none.
        repaired: quotes that were repaired; None where the engine does not repair.
        dropped: marks that lost their brackets; None likewise.
        prompt: what it was given: one text, or the messages; None where the engine does not tell.
        written: what it wrote, character for character, before anything was read or repaired; None
            likewise.
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
        """Return what stands in a generation.

        Args:
            made: the generation.
            chat: whether the model was given messages; otherwise, one text.
        """
        qids = tuple(exemplar.qid for exemplar in made.prompt.exemplars)
        repaired = dropped = None
        if made.repairs is not None:
            repaired = sum(each is not None for each in made.repairs.quotes)
            dropped = len(made.repairs.dropped)
        return cls(
            qids,
            made.prompt_tokens,
            made.new_tokens,
            made.finished,
            made.constraint,
            made.breach,
            repaired,
            dropped,
            [turn.to_dict() for turn in made.prompt.messages] if chat else made.prompt.text,
            made.text if made.written is None else made.written,
        )

    @classmethod
    def read(cls, row: Row) -> Self | None:
        """Read it from a journal's row; None where no model was asked.

        Raises:
            InputError: a field is of the wrong type.
        """
        exemplars = _texts(row, "exemplars")
        if exemplars is None:
            return None
        finished = row.fields.get("finished")
        if finished is not None and not isinstance(finished, bool):
            raise _wrong(row, finished, "finished", "true or false")
        tokens = (_count(row, "prompt_tokens"), _count(row, "new_tokens"))
        return cls(
            exemplars,
            *tokens,
            finished,
            _optional_text(row, "constraint"),
            _optional_text(row, "breach"),
            _count(row, "repaired"),
            _count(row, "dropped"),
            _prompt(row),
            _optional_text(row, "written"),
        )


@dataclass(frozen=True, slots=True)
class Record:
    """One answer and what became of it.

    Attributes:
        id: names it in the run.
        qid: the question.
        question: the question, in words.
        prediction: the answer, with canonical marks.
        error: why there is no answer; None where there is one.
        verdict: what checking the answer showed; of a missing answer, that nothing is quoted.
        quotes: how many quotes have each status.
        words: words of the plain answer.
        free_words: how many of them stand outside of quotes.
        sources_quoted: sources that a verified quote names.
        spans: each quote as it was read and checked.
        scores: as `semqa.metrics.ExampleScores.to_dict` gives them, for readers of the file; the
            results are computed from `prediction`. Empty where only predictions were wanted.
        seconds: what the engine took; of questions answered together, an equal share.
        asked: what a model was given and wrote; None for engines that ask none, and where there is
            no answer. In a row, its fields stand among the others.
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
        """Make the record of an answer that was just given.

        Args:
            key: names it in the run.
            qid: the question.
            question: the question, in words.
            answer: as it was read and checked.
            scores: None where only predictions are wanted.
            seconds: that it took.
            error: why there is no answer, in which case `answer` is empty.
            asked: what a model was given and wrote.
        """
        from semqa.quotes import FreeText

        free = [s.text for s in answer.segments if isinstance(s, FreeText)]
        shown = {} if scores is None else scores.to_dict()
        shown.pop("qid", None)
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
            scores=shown,
            seconds=round(seconds, 6),
            asked=asked,
            spans=[_span(quote) for quote in answer.quotes],
            verdict=answer.verdict(question),
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
            asked=Asked.read(row),
            spans=_spans(row),
            verdict=_verdict(row),
        )

    def to_dict(self) -> dict[str, object]:
        """Return the record as a journal's row."""
        row = {name: getattr(self, name) for name in self.__slots__ if name != "asked"}
        told = self.asked._asdict() if self.asked is not None else {}
        return row | {name: value for name, value in told.items() if value is not None}


def _span(quote: Quote) -> dict[str, object]:
    """Return a quote as a row keeps it: what it names and holds, its status, and its place."""
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
    """Return the verdict of a row; worked out for rows of earlier versions, which have none."""
    if "verdict" in row.fields:
        told = row.text("verdict")
        if told not in set(Verdict):
            raise _wrong(row, told, "verdict", " or ".join(Verdict))
        return Verdict(told)
    answer = QuotedAnswer.parse(row.text("prediction"), ())
    if answer.abstained:
        return Verdict.ABSTAINED
    if _count(row, "dropped") or any(span.get("status") != "verified" for span in _spans(row)):
        return Verdict.UNVERIFIED
    if not answer.quotes or answer.claims(row.text("question")):
        return Verdict.UNQUOTED
    return Verdict.QUOTED


def _spans(row: Row) -> list[Mapping[str, object]]:
    value = row.fields.get("spans")
    if not isinstance(value, list) or not all(isinstance(span, dict) for span in value):
        raise _wrong(row, value, "spans", "an array of objects")
    return value


def _prompt(row: Row) -> str | list[dict[str, str]] | None:
    value = row.fields.get("prompt")
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, list) or not all(isinstance(turn, dict) for turn in value):
        raise _wrong(row, value, "prompt", "a string or an array of messages")
    return value


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


def _optional_text(row: Row, name: str) -> str | None:
    return None if row.fields.get(name) is None else row.text(name)


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
        f"{row.where}: not a row of a run: got {describe(value)} in the field {name!r}, expected "
        f"{rule}; remove the line to have the example run again"
    )
