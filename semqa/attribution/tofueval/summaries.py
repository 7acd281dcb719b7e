"""Topics of dialogues, and summaries on one topic, asked of a language model.

Source: Tang et al. 2024, TofuEval, section 3: three topics a document, summaries of fewer than fifty
words; the prompts are ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.attribution.judges.base import CompletingJudge
from semqa.attribution.judges.replies import read_topics
from semqa.attribution.prompts import JudgePrompt
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.judges.base import Judge
    from semqa.attribution.tofueval.released import Document

__all__ = ["TOPICS", "WORDS", "Summary", "Topics", "find_topics", "summarise"]

TOPICS = 3
WORDS = 50


class Topics(NamedTuple):
    """The topics of a document.

    Attributes:
        doc_id: the document.
        topics: at most as many as were asked for; none where the reply names none.
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
    replies = _complete(
        judge, [prompt.fill(document=each.text, count=count) for each in documents], 40 * count
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
        words: that a summary must have fewer of; said, not enforced.
        model: what the summaries are by; by default the judge's name.
        prompt: in place of our own; gets ``document``, ``topic`` and ``words``.

    Raises:
        InputError: the judge answers no prompts.
    """
    prompt = prompt or JudgePrompt.load("tofueval-summary")
    filled = [
        prompt.fill(document=document.text, topic=topic, words=words) for document, topic in wanted
    ]
    replies = _complete(judge, filled, 4 * words)
    return [
        Summary(document.doc_id, topic, model or judge.name, " ".join(reply.split()))
        for (document, topic), reply in zip(wanted, replies, strict=True)
    ]


def _complete(judge: Judge, prompts: Sequence[str], tokens: int) -> list[str]:
    if not isinstance(judge, CompletingJudge):
        raise InputError(
            f"judge: got {judge.name!r}, which answers no prompts, expected one that does; choose "
            "such as engine:transformers:MODEL"
        )
    return judge.complete(prompts, max_new_tokens=tokens)
