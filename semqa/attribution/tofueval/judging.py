"""What judges are asked: topics, summaries, consistency, types of errors, completeness, relevance.

Consistency is judged by three methods. ``direct`` and ``explained`` ask a language model for a verdict, the
latter with an explanation after it; ``entailment`` takes the probability that the document entails the
text, a score that a threshold turns into a verdict. Completeness is the share of a topic's key points that
a summary makes. Relevance is rated from 1 to 5; 1 and 2 count as 0, the others as 1.

Source: Tang et al. 2024, TofuEval, sections 3 to 5 and appendix F.4; the prompts are ours. The annotators'
judgements of completeness and relevance are not released.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from semqa.attribution.judges.base import (
    Pair,
    TooLongError,
    able,
    unless_too_long,
)
from semqa.attribution.judges.replies import (
    read_consistency,
    read_points,
    read_rating,
    read_topics,
    verdict_schema,
)
from semqa.attribution.prompts import JudgePrompt
from semqa.attribution.records import must_be, read_record_rows
from semqa.attribution.sentences import split_sentences
from semqa.attribution.tofueval.data import (
    ERROR_TYPES,
    SummaryKey,
    by_summary,
    find_error_types,
    read_annotations,
)
from semqa.data.jsonl import shown
from semqa.errors import InputError
from semqa.metrics.statistics import Statistic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from semqa.attribution.judges.base import Judge
    from semqa.attribution.tofueval.data import Document
    from semqa.attribution.tofueval.meta import Level
    from semqa.data.jsonl import Row


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
    """A judge's verdict on a text.

    Attributes:
        judged: the text.
        inconsistent: the verdict; None if the reply has none that can be read, or
            the text is too long for the judge.
        score: of consistency, in [0, 1]; None if the judge gave a verdict alone.
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
        judge: answers prompts or judges entailment, as the method needs.
        method: one of `METHODS`.
        prompt: in place of the method's own; gets ``document``, ``topic``, ``text`` and ``level``.

    Raises:
        InputError: a document is missing, or the judge cannot do this.
    """
    check_documents(texts, documents)
    if method == "entailment":
        entails = able(judge, "entailment")
        pairs = [Pair(documents[each.key.doc_id].text, each.text) for each in texts]
        judged = unless_too_long(entails.entailment, pairs)
        return [
            Judgement(each, None)
            if isinstance(found, TooLongError)
            else Judgement(each, not found.entailed, found.entailment)
            for each, found in zip(texts, judged, strict=True)
        ]
    model = able(judge, "complete")
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
        lambda some: model.complete(some, max_new_tokens=_TOKENS[method], schema=schema), filled
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
    """Read a row that `Judgement.to_dict` made, and parse its reply again.

    Raises:
        InputError: a field is missing or of the wrong type.
    """
    key = SummaryKey(
        row.text("dataset", ""), row.text("doc_id"), row.text("topic"), row.text("model_name")
    )
    index, score = row.fields.get("sent_idx"), row.fields.get("score")
    if index is not None and (isinstance(index, bool) or not isinstance(index, int)):
        raise must_be(row, "sent_idx", "the number of the sentence")
    judged = Judged(key, index, row.text("text"))
    if row.fields.get("reply") is not None:
        return read_reply(judged, row.text("reply"))
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise must_be(row, "score", "a number")
    label = row.fields.get("label")
    if label not in ("yes", "no", None):
        raise must_be(row, "label", "yes, no or null")
    return Judgement(judged, None if label is None else label == "no", score)


def check_documents(texts: Sequence[Judged], documents: Mapping[str, Document]) -> None:
    """Check that there is a document for every text.

    Raises:
        InputError: one is missing.
    """
    missing = sorted({each.key.doc_id for each in texts} - documents.keys())
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(
            f"There is no document {missing[0]!r}{more}.",
            hint="Add it with --documents (the release has ids alone: see docs/attribution/tofueval.md).",
        )


def read_texts(
    paths: Iterable[Path | str], level: Level, leave_out: frozenset[str] = frozenset()
) -> list[Judged]:
    """Read the texts to judge, each once.

    A CSV file holds annotated sentences (its labels are not looked at). Anything else is JSON lines,
    or a record, of rows with ``doc_id``, ``topic``, ``summary`` and perhaps ``model_name`` and
    ``dataset``; such a summary is cut into sentences numbered from 1.

    Args:
        paths: the files; ``-`` is standard input, for JSON lines.
        level: sentences, or whole summaries.
        leave_out: models to leave out of annotated files.

    Raises:
        InputError: a file or row is invalid, a summary is there twice, or there is none.
    """
    found: list[Judged] = []
    for path in paths:
        if PurePath(path).suffix.lower() == ".csv":
            annotated = _annotated(path, level)
            found += [each for each in annotated if each.key.model not in leave_out]
        else:
            found += _written(path, level)
    unique: dict[tuple[SummaryKey, int | None], Judged] = {}
    for each in found:
        # The release repeats a row; what differs under one name cannot be told apart in results.
        known = unique.setdefault((each.key, each.index), each)
        if known.text != each.text:
            raise InputError(
                f"There are two summaries of {shown(each.key.doc_id)} on {shown(each.key.topic)} by {shown(each.key.model)}.",
                hint="Give each its model_name.",
            )
    if not unique:
        raise InputError("There are no summaries in these files.")
    return list(unique.values())


def whole_summaries(texts: Iterable[Judged]) -> list[tuple[SummaryKey, str]]:
    """Return summaries, read at the level of summaries, with their texts."""
    return [(each.key, each.text) for each in texts]


def read_wanted(path: Path | str) -> list[tuple[str, str]]:
    """Read which document is to be summarised on which topic.

    Rows have ``doc_id`` and ``topic``, or ``topics``, an array.

    Raises:
        InputError: the file or a row is invalid, or there is none.
    """
    found: dict[tuple[str, str], None] = {}
    for row in read_record_rows(path):
        topics = row.fields.get("topics")
        if topics is None:
            topics = [row.text("topic")]
        if not isinstance(topics, list) or not all(isinstance(each, str) for each in topics):
            raise must_be(row, "topics", "an array of strings")
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


def _written(path: Path | str, level: Level) -> list[Judged]:
    found = []
    for row in read_record_rows(path):
        text = row.text("summary", "") or row.text("text", "")
        key = SummaryKey(
            row.text("dataset", "").casefold(),
            row.text("doc_id").strip(),
            row.text("topic").strip(),
            row.text("model_name", "").strip() or "summary",
        )
        if not text.strip():
            raise InputError("is empty.", field="summary", where=row.where)
        if level == "summary":
            found.append(Judged(key, None, " ".join(text.split())))
        else:
            parts = enumerate(split_sentences(text), 1)
            found += [Judged(key, number, part) for number, part in parts]
    return found


class Classified(NamedTuple):
    """The types of errors of a sentence; empty if the reply names none."""

    judged: Judged
    errors: tuple[str, ...]
    reply: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON-ready object."""
        key = self.judged.key
        return {
            "dataset": key.dataset,
            "doc_id": key.doc_id,
            "topic": key.topic,
            "model_name": key.model,
            "sent_idx": self.judged.index,
            "text": self.judged.text,
            "types": list(self.errors),
            "reply": self.reply,
        }


def classify_errors(
    sentences: Sequence[Judged],
    documents: Mapping[str, Document],
    judge: Judge,
    prompt: JudgePrompt | None = None,
) -> list[Classified]:
    """Ask which errors sentences make that are known to err.

    Args:
        sentences: the sentences.
        documents: by their ids.
        judge: answers prompts.
        prompt: in place of our own; gets ``document``, ``topic``, ``text`` and ``types``.

    Raises:
        InputError: a document is missing, or the judge answers no prompts.
    """
    check_documents(sentences, documents)
    model = able(judge, "complete")
    prompt = prompt or JudgePrompt.load("tofueval-error-types")
    types = [error._asdict() for error in ERROR_TYPES]
    filled = [
        prompt.fill(
            document=documents[each.key.doc_id].text,
            topic=each.key.topic,
            text=each.text,
            types=types,
        )
        for each in sentences
    ]
    replies = model.complete(filled, max_new_tokens=64)
    return [
        Classified(each, find_error_types(reply), reply)
        for each, reply in zip(sentences, replies, strict=True)
    ]


TOPICS = 3
WORDS = 50


class Topics(NamedTuple):
    """The topics of a document.

    Attributes:
        doc_id: the document.
        topics: at most as many as were asked for; empty if the reply names none.
        reply: what the model wrote.
    """

    doc_id: str
    topics: tuple[str, ...]
    reply: str


class Summary(NamedTuple):
    """A summary of a document on a topic."""

    doc_id: str
    topic: str
    model: str
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return the row of a file of summaries."""
        return {
            "doc_id": self.doc_id,
            "topic": self.topic,
            "model_name": self.model,
            "summary": self.text,
        }


def find_topics(
    documents: Sequence[Document],
    judge: Judge,
    *,
    count: int = TOPICS,
    prompt: JudgePrompt | None = None,
) -> list[Topics]:
    """Ask for the topics of each document.

    Args:
        documents: the dialogues.
        judge: answers prompts.
        count: of topics.
        prompt: in place of our own; gets ``document`` and ``count``.

    Raises:
        InputError: the judge answers no prompts.
    """
    prompt = prompt or JudgePrompt.load("tofueval-topics")
    replies = able(judge, "complete").complete(
        [prompt.fill(document=each.text, count=count) for each in documents],
        max_new_tokens=40 * count,
    )
    return [
        Topics(document.doc_id, read_topics(reply, count), reply)
        for document, reply in zip(documents, replies, strict=True)
    ]


def summarise(
    wanted: Sequence[tuple[Document, str]],
    judge: Judge,
    *,
    words: int = WORDS,
    model: str = "",
    prompt: JudgePrompt | None = None,
) -> list[Summary]:
    """Ask for a summary of each document on its topic.

    Args:
        wanted: documents and topics.
        judge: answers prompts.
        words: exclusive maximum of a summary's words, as the prompt says; not enforced.
        model: what the summaries are by; by default the judge's name.
        prompt: in place of our own; gets ``document``, ``topic`` and ``words``.

    Raises:
        InputError: the judge answers no prompts.
    """
    prompt = prompt or JudgePrompt.load("tofueval-summary")
    filled = [
        prompt.fill(document=document.text, topic=topic, words=words) for document, topic in wanted
    ]
    replies = able(judge, "complete").complete(filled, max_new_tokens=4 * words)
    return [
        Summary(document.doc_id, topic, model or judge.name, " ".join(reply.split()))
        for (document, topic), reply in zip(wanted, replies, strict=True)
    ]


HIGHEST_RATING = 5
LEAST_RELEVANT = 3

NO_POINTS = "the topic has no key points"
UNREAD = "the reply says nothing of a key point"


class Coverage(NamedTuple):
    """Which key points a summary makes.

    Attributes:
        key: the summary.
        made: for each point whether it is made; None if the reply does not say.
        reply: what a language model wrote; None if entailment was judged.
    """

    key: SummaryKey
    made: tuple[bool | None, ...]
    reply: str | None = None

    @property
    def score(self) -> Statistic:
        """Completeness of the summary, in [0, 1]."""
        return completeness(self.made)

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON-ready object."""
        row: dict[str, Any] = {
            "dataset": self.key.dataset,
            "doc_id": self.key.doc_id,
            "topic": self.key.topic,
            "model_name": self.key.model,
            "made": list(self.made),
            "completeness": self.score.value,
        }
        if self.score.unscored is not None:
            row["unscored"] = self.score.unscored
        return row if self.reply is None else {**row, "reply": self.reply}


def completeness(made: Sequence[bool | int | None]) -> Statistic:
    """Return the share of key points that a summary makes; unscored if there are none.

    Example:
        >>> completeness([1, 0, 1, 1]).value, completeness([]).unscored
        (0.75, 'the topic has no key points')
    """
    if not made:
        return Statistic.none(NO_POINTS)
    known = [each for each in made if each is not None]
    if len(known) < len(made):
        return Statistic.none(UNREAD, len(made))
    return Statistic(sum(map(bool, known)) / len(made), len(made))


def mean_completeness(scores: Iterable[Statistic]) -> Statistic:
    """Return the mean over summaries of those that are scored."""
    values = [score.value for score in scores if score.value is not None]
    if not values:
        return Statistic.none("no summary is scored")
    return Statistic(fmean(values), len(values))


def judge_coverage(
    summaries: Sequence[tuple[SummaryKey, str]],
    points: Mapping[SummaryKey, Sequence[str]],
    judge: Judge,
    prompt: JudgePrompt | None = None,
    *,
    by_prompt: bool = False,
) -> list[Coverage]:
    """Judge which key points summaries make.

    Args:
        summaries: what they are, and their texts.
        points: the key points of each.
        judge: judges entailment or answers prompts.
        prompt: in place of our own; gets ``topic``, ``text`` and ``points``.
        by_prompt: ask by prompt, all points of a summary at once; otherwise a point is made where
            the summary entails it.

    Raises:
        InputError: the judge cannot do this.
    """
    if by_prompt:
        model = able(judge, "complete")
        prompt = prompt or JudgePrompt.load("tofueval-key-points")
        asked = [each for each in summaries if points[each[0]]]
        replies = model.complete(
            [prompt.fill(topic=key.topic, text=text, points=points[key]) for key, text in asked],
            max_new_tokens=16 + 8 * max((len(points[key]) for key, _ in asked), default=0),
        )
        said = {key: reply for (key, _), reply in zip(asked, replies, strict=True)}
        return [
            Coverage(key, tuple(read_points(said[key], len(points[key]))), said[key])
            if key in said
            else Coverage(key, ())
            for key, _ in summaries
        ]
    entails = able(judge, "entailment")
    pairs = [Pair(text, point) for key, text in summaries for point in points[key]]
    found = iter(entails.entailment(pairs) if pairs else ())
    return [Coverage(key, tuple(next(found).entailed for _ in points[key])) for key, _ in summaries]


def rate_relevance(
    summaries: Sequence[tuple[SummaryKey, str]], judge: Judge, prompt: JudgePrompt | None = None
) -> list[tuple[int | None, str]]:
    """Ask for ratings of relevance, from 1 to 5.

    Args:
        summaries: what they are, and their texts.
        judge: answers prompts.
        prompt: in place of our own; gets ``topic`` and ``text``.

    Returns:
        Of each summary the rating (None if the reply has none) and the reply.

    Raises:
        InputError: the judge answers no prompts.
    """
    model = able(judge, "complete")
    prompt = prompt or JudgePrompt.load("tofueval-relevance")
    filled = [prompt.fill(topic=key.topic, text=text) for key, text in summaries]
    return [(read_rating(reply), reply) for reply in model.complete(filled, max_new_tokens=16)]


def is_relevant(rating: float) -> bool:
    """Return whether a rating counts as relevant: 3, 4 and 5 do, 1 and 2 do not.

    Raises:
        InputError: the rating is not from 1 to 5.

    Source: Tang et al. 2024, appendix F.4.

    Example:
        >>> [is_relevant(rating) for rating in (2, 3, 5)]
        [False, True, True]
    """
    if not 1 <= rating <= HIGHEST_RATING:
        raise InputError(
            f"must be from 1 to {HIGHEST_RATING}, got {rating}.", field="rating", value=rating
        )
    return rating >= LEAST_RELEVANT


def mean_relevance(ratings: Iterable[float | None]) -> Statistic:
    """Return the share of ratings that count as relevant; None is left out.

    Example:
        >>> round(mean_relevance([3, 5, 2]).value, 2)
        0.67
    """
    known = [is_relevant(rating) for rating in ratings if rating is not None]
    return Statistic(fmean(known), len(known)) if known else Statistic.none("no rating")
