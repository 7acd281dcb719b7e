"""Judging whether summaries are consistent with their documents, by three methods.

``direct`` and ``explained`` ask a language model for a verdict, the latter with an explanation after it;
``entailment`` takes the probability that the document entails the text, a score to be turned into a
verdict by a threshold (see `tune_threshold`). Sentences or whole summaries are judged.

Source: Tang et al. 2024, TofuEval, section 5; the prompts are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from semqa.attribution.judges.base import CompletingJudge, EntailmentJudge, Pair
from semqa.attribution.judges.length import TooLongError, unless_too_long
from semqa.attribution.judges.replies import read_consistency, verdict_schema
from semqa.attribution.prompts import JudgePrompt
from semqa.attribution.tofueval.annotations import SummaryKey
from semqa.data.jsonl import describe
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.judges.base import Judge
    from semqa.attribution.tofueval.rates import Level
    from semqa.attribution.tofueval.released import Document
    from semqa.data.jsonl import Row

__all__ = [
    "METHODS",
    "PROMPTS",
    "Judged",
    "Judgement",
    "Method",
    "check_documents",
    "judge_texts",
    "judgement_of",
    "read_reply",
]

Method = Literal["direct", "explained", "entailment"]
METHODS: tuple[Method, ...] = get_args(Method)

PROMPTS = {"direct": "tofueval-judge", "explained": "tofueval-judge-explained"}
"""The prompt of each method that has one."""

_TOKENS = {"direct": 16, "explained": 256}


@dataclass(frozen=True, slots=True)
class Judged:
    """A text to judge.

    Attributes:
        key: the summary.
        index: the sentence's number in it; None for the whole summary.
        text: the sentence or summary.
    """

    key: SummaryKey
    index: int | None
    text: str

    @property
    def level(self) -> Level:
        """What it is."""
        return "summary" if self.index is None else "sentence"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge said of a text.

    Attributes:
        judged: the text.
        inconsistent: the verdict; None where the reply has none that can be read, or
            the text is too long for the judge.
        score: of consistency, in [0, 1]; None where the judge gave a verdict alone.
        reply: what a language model wrote.
    """

    judged: Judged
    inconsistent: bool | None
    score: float | None = None
    reply: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the row of a file of predictions, with the columns of the release."""
        row: dict[str, Any] = {
            "dataset": self.judged.key.dataset,
            "doc_id": self.judged.key.doc_id,
            "topic": self.judged.key.topic,
            "model_name": self.judged.key.model,
        }
        if self.judged.index is not None:
            row["sent_idx"] = self.judged.index
        row["text"] = self.judged.text
        row["label"] = {None: None, False: "yes", True: "no"}[self.inconsistent]
        if self.score is not None:
            row["score"] = self.score
        if self.reply is not None:
            row["reply"] = self.reply
        return row


def judge_texts(
    texts: Sequence[Judged],
    documents: Mapping[str, Document],
    judge: Judge,
    method: Method,
    prompt: JudgePrompt | None = None,
) -> list[Judgement]:
    """Judge texts, all at once.

    Args:
        texts: sentences and summaries.
        documents: by their ids.
        judge: answers prompts, or says what is entailed, as the method needs.
        method: one of `METHODS`.
        prompt: in place of the method's own; gets ``document``, ``topic``, ``text`` and ``level``.

    Raises:
        InputError: a document is missing, or the judge cannot do this.
    """
    check_documents(texts, documents)
    if method == "entailment":
        if not isinstance(judge, EntailmentJudge):
            raise _cannot(judge, "judge entailment")
        pairs = [Pair(documents[each.key.doc_id].text, each.text) for each in texts]
        judged = unless_too_long(judge.entailment, pairs)
        return [
            Judgement(each, None)
            if isinstance(found, TooLongError)
            else Judgement(each, not found.entailed, found.entailment)
            for each, found in zip(texts, judged, strict=True)
        ]
    if not isinstance(judge, CompletingJudge):
        raise _cannot(judge, "answer prompts")
    prompt = prompt or JudgePrompt.load(PROMPTS[method])
    schema = None
    if prompt.name == PROMPTS[method]:  # a user's own may ask for another form
        schema = verdict_schema("answer", ("Yes", "No"), explained=method == "explained")
    filled = [
        prompt.fill(
            document=documents[each.key.doc_id].text,
            topic=each.key.topic,
            text=each.text,
            level=each.level,
        )
        for each in texts
    ]
    replies = unless_too_long(
        lambda some: judge.complete(some, max_new_tokens=_TOKENS[method], schema=schema), filled
    )
    return [
        Judgement(each, None) if isinstance(reply, TooLongError) else read_reply(each, reply)
        for each, reply in zip(texts, replies, strict=True)
    ]


def read_reply(judged: Judged, reply: str) -> Judgement:
    """Return what a language model's reply says of a text."""
    consistent = read_consistency(reply)
    return Judgement(judged, None if consistent is None else not consistent, reply=reply)


def judgement_of(row: Row) -> Judgement:
    """Read a row that `Judgement.to_dict` made; a reply in it is read anew.

    Raises:
        InputError: a field is missing or of the wrong type.
    """
    key = SummaryKey(
        row.text("dataset", ""), row.text("doc_id"), row.text("topic"), row.text("model_name")
    )
    index, score = row.fields.get("sent_idx"), row.fields.get("score")
    if index is not None and (isinstance(index, bool) or not isinstance(index, int)):
        raise InputError(
            f"{row.where}: not a number: got {describe(index)} as 'sent_idx', expected the "
            "sentence's number; correct it"
        )
    judged = Judged(key, index, row.text("text"))
    if row.fields.get("reply") is not None:
        return read_reply(judged, row.text("reply"))
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise InputError(
            f"{row.where}: not a score: got {describe(score)}, expected a number; correct it"
        )
    label = row.fields.get("label")
    if label not in ("yes", "no", None):
        raise InputError(
            f"{row.where}: not a label: got {describe(label)}, expected yes, no or null; correct it"
        )
    return Judgement(judged, None if label is None else label == "no", score)


def check_documents(texts: Sequence[Judged], documents: Mapping[str, Document]) -> None:
    """See that there is a document for every text.

    Raises:
        InputError: one is missing.
    """
    missing = sorted({each.key.doc_id for each in texts} - documents.keys())
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(
            f"documents: missing: got none with the id {missing[0]!r}{more}, expected one for each "
            "summary; add them (the release has ids alone: see docs/attribution/tofueval.md)"
        )


def _cannot(judge: Judge, task: str) -> InputError:
    return InputError(
        f"judge: got {judge.name!r}, which cannot {task}, expected one that can; choose another "
        "method or judge"
    )
