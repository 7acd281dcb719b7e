"""Which types of errors a sentence makes, as a language model says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.attribution.judges.base import CompletingJudge
from semqa.attribution.prompts import JudgePrompt
from semqa.attribution.tofueval.judging import check_documents
from semqa.attribution.tofueval.taxonomy import ERROR_TYPES, find_error_types
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.judges.base import Judge
    from semqa.attribution.tofueval.judging import Judged
    from semqa.attribution.tofueval.released import Document

__all__ = ["Classified", "classify_errors"]


class Classified(NamedTuple):
    """The types of errors of a sentence; none where the reply names none."""

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
    if not isinstance(judge, CompletingJudge):
        raise InputError(
            f"judge: got {judge.name!r}, which answers no prompts, expected one that does; choose "
            "such as engine:transformers:MODEL"
        )
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
    replies = judge.complete(filled, max_new_tokens=64)
    return [
        Classified(each, find_error_types(reply), reply)
        for each, reply in zip(sentences, replies, strict=True)
    ]
