"""Judge the consistency, completeness and relevance of summaries.

There are three methods for consistency. ``direct`` and ``explained`` ask a language model for a
verdict, the latter with an explanation after it. ``entailment`` uses the probability that the
document entails the text: a score that a threshold turns into a verdict. Completeness is the share
of a topic's key points that a summary entails. Relevance is rated from 1 to 5; 1 and 2 count as 0,
and 3 to 5 as 1.

Source: Tang et al. 2024, TofuEval, sections 3 to 5 and appendix F.4; the prompts are ours. The
annotators' judgements of completeness and relevance are not released.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from semqa.attribution.judges import Pair, TooLongError, unless_too_long
from semqa.attribution.judges.base import Judge
from semqa.attribution.judges.replies import read_consistency, read_rating, verdict_schema
from semqa.attribution.prompts import JudgePrompt
from semqa.attribution.records import invalid_field, read_table
from semqa.attribution.sentences import split_sentences
from semqa.attribution.tofueval.data import SummaryKey, by_summary, read_annotations
from semqa.data.jsonl import Row, shown
from semqa.errors import InputError
from semqa.metrics.statistics import Statistic

if TYPE_CHECKING:
    from semqa.attribution.tofueval.meta import Level

Method = Literal["direct", "explained", "entailment"]

PROMPTS = {"direct": "tofueval-judge", "explained": "tofueval-judge-explained"}
"""Default prompts, by method."""

_TOKENS = {"direct": 16, "explained": 256}


@dataclass(frozen=True, slots=True)
class Judged:
    """A sentence of a summary, or a whole summary if `index` is None."""

    key: SummaryKey
    index: int | None
    text: str


class Judgement(NamedTuple):
    """A judge's verdict on a text.

    `inconsistent` is None if the reply is unparsed or the text is too long. The `score` of
    consistency, in [0, 1], is None if the judge only gives a verdict.
    """

    judged: Judged
    inconsistent: bool | None
    score: float | None = None
    reply: str | None = None

    def to_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = self.judged.key.to_dict()
        if self.judged.index is not None:
            row["sent_idx"] = self.judged.index
        row["text"] = self.judged.text
        row["label"] = {None: None, False: "yes", True: "no"}[self.inconsistent]
        more = {"score": self.score, "reply": self.reply}
        return row | {name: value for name, value in more.items() if value is not None}


def judge_texts(
    texts: Sequence[Judged],
    documents: Mapping[str, str],
    judge: Judge,
    method: Method,
    prompt: JudgePrompt | None = None,
) -> list[Judgement]:
    """Judge texts in one batch, with the documents by id.

    `prompt` replaces the default prompt; it gets ``document``, ``topic``, ``text`` and ``level``.
    """
    missing = sorted({each.key.doc_id for each in texts} - documents.keys())
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(
            f"Document {missing[0]!r}{more} not found.",
            hint="Add it with --documents (the release only has ids; see docs/attribution/tofueval.md).",
        )
    if method == "entailment":
        pairs = [Pair(documents[each.key.doc_id], each.text) for each in texts]
        judge.require("entailment")
        judged = unless_too_long(judge.entailment, pairs)
        return [
            Judgement(each, None)
            if isinstance(found, TooLongError)
            else Judgement(each, not found.entailed, found.entailment)
            for each, found in zip(texts, judged, strict=True)
        ]
    judge.require("complete")
    prompt = prompt or JudgePrompt.load(PROMPTS[method])
    schema = None
    if prompt.name == PROMPTS[method]:  # a user's prompt may request another format
        schema = verdict_schema("answer", ("Yes", "No"), explained=method == "explained")
    filled = [
        prompt.fill(
            document=documents[each.key.doc_id],
            topic=each.key.topic,
            text=each.text,
            level="summary" if each.index is None else "sentence",
        )
        for each in texts
    ]
    replies = unless_too_long(
        lambda some: judge.complete(some, max_new_tokens=_TOKENS[method], schema=schema), filled
    )
    judgements = []
    for each, reply in zip(texts, replies, strict=True):
        if isinstance(reply, TooLongError):
            judgements.append(Judgement(each, None))
        else:
            consistent = read_consistency(reply)
            wrong = None if consistent is None else not consistent
            judgements.append(Judgement(each, wrong, reply=reply))
    return judgements


def read_texts(
    paths: Iterable[Path | str], level: Level, leave_out: frozenset[str] = frozenset()
) -> list[Judged]:
    """Read the texts to judge, without duplicates.

    A CSV file has annotated sentences; its labels are ignored. Other files are JSON lines with
    ``doc_id``, ``topic``, ``summary``, and optionally ``model_name`` and ``dataset``. Their
    summaries are split into sentences numbered from 1. `leave_out` has models to leave out of
    annotated files.
    """
    unique: dict[tuple[SummaryKey, int | None], Judged] = {}
    for path in paths:
        if PurePath(path).suffix.lower() == ".csv":
            found = [each for each in _annotated(path, level) if each.key.model not in leave_out]
        else:
            found = _written(path, level)
        for each in found:
            # The release has a duplicate row. Different texts with one key would be mixed up.
            if unique.setdefault((each.key, each.index), each) != each:
                raise InputError(
                    f"Different summaries of {shown(each.key.doc_id)} on {shown(each.key.topic)} have the model name {shown(each.key.model)}.",
                    hint="Give each summary its own model_name.",
                )
    if not unique:
        raise InputError("The files have no summaries.")
    return list(unique.values())


def read_topics(path: Path | str) -> list[tuple[str, str]]:
    """Read (document, topic) pairs from rows with ``doc_id`` and ``topic`` or ``topics``."""
    found: dict[tuple[str, str], None] = {}
    for row in read_table(path):
        topics = row.fields.get("topics")
        if topics is None:
            topics = [row.text("topic")]
        if not isinstance(topics, list) or not all(isinstance(each, str) for each in topics):
            raise invalid_field(row, "topics", "an array of strings")
        doc_id = row.text("doc_id").strip()
        found.update(dict.fromkeys((doc_id, topic.strip()) for topic in topics))
    if not found:
        raise InputError("There are no topics.", where=str(path))
    return list(found)


def _annotated(path: Path | str, level: Level) -> list[Judged]:
    sentences = read_annotations([path])
    if level == "sentence":
        return [Judged(s.key, s.index, s.text) for s in sentences]
    found = []
    for (_, key), parts in by_summary(sentences).items():
        texts = {part.index: part.text.strip() for part in parts}
        found.append(Judged(key, None, " ".join(texts[index] for index in sorted(texts))))
    return found


def key_of(row: Row) -> SummaryKey:
    """Return the key of a row's summary."""
    return SummaryKey(
        row.text("dataset", "").casefold(),
        row.text("doc_id").strip(),
        row.text("topic").strip(),
        row.text("model_name", "").strip() or "summary",
    )


def _written(path: Path | str, level: Level) -> list[Judged]:
    found = []
    for row in read_table(path):
        text = row.text("summary", "") or row.text("text", "")
        key = key_of(row)
        if not text.strip():
            raise InputError("is empty.", field="summary", where=row.where)
        if level == "summary":
            found.append(Judged(key, None, " ".join(text.split())))
        else:
            parts = enumerate(split_sentences(text), 1)
            found += [Judged(key, number, part) for number, part in parts]
    return found


MIN_RELEVANT = 3
NO_POINTS = "the topic has no key points"


def judge_coverage(
    summaries: Sequence[Judged], points: Mapping[SummaryKey, Sequence[str]], judge: Judge
) -> list[tuple[bool, ...]]:
    """Judge which key points each summary entails."""
    judge.require("entailment")
    pairs = [Pair(each.text, point) for each in summaries for point in points[each.key]]
    found = iter(judge.entailment(pairs) if pairs else ())
    return [tuple(next(found).entailed for _ in points[each.key]) for each in summaries]


def completeness(covered: Sequence[bool | int]) -> Statistic:
    """Return the share of key points that a summary covers; unscored without key points.

    Example:
        >>> completeness([1, 0, 1, 1]).value, completeness([]).unscored
        (0.75, 'the topic has no key points')
    """
    return Statistic.mean(list(map(bool, covered)), NO_POINTS)


def mean_completeness(scores: Iterable[Statistic]) -> Statistic:
    """Return the mean over the summaries that have a score."""
    values = [score.value for score in scores if score.value is not None]
    return Statistic.mean(values, "no summary is scored")


def rate_relevance(
    summaries: Sequence[Judged], judge: Judge, prompt: JudgePrompt | None = None
) -> list[tuple[int | None, str]]:
    """Return a rating of each summary from 1 to 5 (None if unparsed), and the reply.

    `prompt` replaces the default prompt; it gets ``topic`` and ``text``.
    """
    judge.require("complete")
    prompt = prompt or JudgePrompt.load("tofueval-relevance")
    filled = [prompt.fill(topic=each.key.topic, text=each.text) for each in summaries]
    return [(read_rating(reply), reply) for reply in judge.complete(filled, max_new_tokens=16)]


def mean_relevance(ratings: Iterable[float | None]) -> Statistic:
    """Return the share of ratings of at least 3, which count as relevant; None is ignored.

    Source: Tang et al. 2024, appendix F.4.

    Example:
        >>> round(mean_relevance([3, 5, 2]).value, 2)
        0.67
    """
    known = [rating >= MIN_RELEVANT for rating in ratings if rating is not None]
    return Statistic.mean(known, "no rating")
