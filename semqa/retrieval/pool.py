"""The solved questions that exemplars are chosen from, and which of them a question may not see."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING

from semqa.errors import InputError
from semqa.prompting.exemplar import Exemplar
from semqa.quotes import QuotedAnswer
from semqa.retrieval.same import question_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semqa.data.quotesum import Question, Reference

__all__ = ["ExemplarPool", "best_reference"]


class ExemplarPool:
    """Exemplars, each question once: the first of those that are the same question.

    A question never sees itself. It is known by its text (`question_key`), and by its qid where the
    pool was told which questions will be asked.

    Args:
        exemplars: what may be chosen.
        asked: text and qid of questions that will be asked.

    Attributes:
        exemplars: what may be chosen, in the order given.
    """

    def __init__(
        self, exemplars: Iterable[Exemplar], asked: Iterable[tuple[str, str]] = ()
    ) -> None:
        once: dict[str, Exemplar] = {}
        for exemplar in exemplars:
            once.setdefault(question_key(exemplar.question), exemplar)
        self.exemplars = tuple(once.values())
        self._keys = tuple(once)
        self._qids: dict[str, set[str]] = {}
        for text, qid in asked:
            self._qids.setdefault(question_key(text), set()).add(qid)

    @classmethod
    def of(
        cls, questions: Iterable[Question], asked: Iterable[tuple[str, str]] = ()
    ) -> ExemplarPool:
        """Make a pool of QuoteSum questions, each with its `best_reference`."""
        return cls(map(_exemplar, questions), asked)

    def candidates(self, question: str, count: int) -> list[int]:
        """Return the places of the exemplars that a question may see.

        Args:
            question: the question that is asked.
            count: how many there must be at least.

        Raises:
            InputError: there are fewer.
        """
        key = question_key(question)
        qids = self._qids.get(key, set())
        kept = [
            place
            for place, (own, exemplar) in enumerate(zip(self._keys, self.exemplars, strict=True))
            if own != key and exemplar.qid not in qids
        ]
        if len(kept) < count:
            left_out = len(self.exemplars) - len(kept)
            itself = " besides the question itself" if left_out else ""
            raise InputError(
                f"must be at most {len(kept)}, the number of questions to choose from{itself}, got {count}.",
                field="shots",
                value=count,
            )
        return kept

    @cached_property
    def sha256(self) -> str:
        """Digest of all that is in the pool."""
        digest = hashlib.sha256()
        for exemplar in self.exemplars:
            digest.update(repr(exemplar).encode("utf-8", "backslashreplace") + b"\0")
        return digest.hexdigest()

    def __len__(self) -> int:
        return len(self.exemplars)


def _exemplar(question: Question) -> Exemplar:
    reference = best_reference(question.references, question)
    return Exemplar(
        question.question, question.sources, reference.text, question.qid, reference.unique_id
    )


def best_reference(references: Sequence[Reference], question: Question) -> Reference:
    """Choose the answer that shows best what is wanted.

    That is one that quotes, all verified; of those, the one that quotes the most sources; of
    those, the first in the file.
    """

    def goodness(reference: Reference) -> tuple[bool, int]:
        answer = QuotedAnswer.parse(reference.text, question.sources)
        return answer.verified, len({quote.source for quote in answer.quotes if quote.verified})

    return max(references, key=goodness)  # the first of equals
