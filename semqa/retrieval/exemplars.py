"""Strategies that choose exemplars (solved questions) for a prompt: `knn`, `random` and `fixed`."""

from __future__ import annotations

import hashlib
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from semqa.data.jsonl import shown
from semqa.data.quotesum import Question, Reference
from semqa.errors import InputError
from semqa.prompting.prompt import Exemplar
from semqa.quotes import QuotedAnswer
from semqa.retrieval.encoder import SentenceEncoder, unit

_IGNORED = frozenset("PZC")
"""Unicode categories that `question_key` ignores: punctuation, spaces, control characters."""


def question_key(question: str) -> str:
    """Return a key that is equal for different spellings of a question.

    It ignores case, white space, punctuation and compatibility forms (full width, ligatures).

    Example:
        >>> question_key("Who's  sang it?") == question_key("whos sang IT")
        True
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", question).casefold())
    kept = "".join(c for c in folded if unicodedata.category(c)[0] not in _IGNORED)
    return unicodedata.normalize("NFKC", kept)


class ExemplarPool:
    """A pool of exemplars without duplicate questions; the first of several is kept.

    A question is never an exemplar for itself. It is recognised by its text (`question_key`), and by
    its qid if `asked` contains its text and qid.
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
        """Create a pool from QuoteSum questions, each with its `best_reference`."""
        return cls(map(_exemplar, questions), asked)

    def candidates(self, question: str, count: int) -> list[int]:
        """Return the indices of the exemplars that a question may see."""
        key = question_key(question)
        qids = self._qids.get(key, set())
        kept = [
            index
            for index, (own, exemplar) in enumerate(zip(self._keys, self.exemplars, strict=True))
            if own != key and exemplar.qid not in qids
        ]
        if len(kept) < count:
            left_out = len(self.exemplars) - len(kept)
            others = "other " if left_out else ""
            raise InputError(
                f"must be at most {len(kept)}, the number of {others}questions to choose from, got {count}.",
                field="shots",
                value=count,
            )
        return kept

    @cached_property
    def sha256(self) -> str:
        """Digest of the pool's content."""
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
    """Return the best answer to show: verified, then with the most sources, then the first."""

    def quality(reference: Reference) -> tuple[bool, int]:
        answer = QuotedAnswer.parse(reference.text, question.sources)
        return answer.verified, len({quote.source for quote in answer.quotes if quote.verified})

    return max(references, key=quality)  # the first of equals


class PoolSelector(ABC):
    """Chooses exemplars from a pool; with `up_to`, fewer than requested, but at least one."""

    def __init__(self, pool: ExemplarPool, *, up_to: bool = False) -> None:
        self._pool = pool
        self._up_to = up_to

    @abstractmethod
    def _ranked(self, question: str, allowed: list[int]) -> Sequence[int]:
        """Return indices in the pool, the most useful first."""

    @abstractmethod
    def _settings(self) -> dict[str, object]:
        """Return what the choice depends on besides the pool, as a JSON-ready object."""

    def select(self, question: str, count: int) -> list[Exemplar]:
        """Choose `count` exemplars, the most useful first."""
        allowed = self._pool.candidates(question, self._least(count))
        chosen = self._ranked(question, allowed)[:count]
        if len(chosen) < self._least(count):
            raise InputError(
                f"must name at least {count} exemplars other than the question, got {len(chosen)}.",
                field="exemplars",
            )
        return [self._pool.exemplars[index] for index in chosen]

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """Raise if a question has too few exemplars; subclasses also precompute their choice."""
        for question in questions:
            self._pool.candidates(question, self._least(count))

    def identity(self) -> dict[str, object]:
        """Return what the choice depends on, as a JSON-ready object."""
        made = {**self._settings(), "pool_sha256": self._pool.sha256}
        return {**made, "up_to": True} if self._up_to else made

    def _least(self, count: int) -> int:
        return min(count, 1) if self._up_to else count


class FixedExemplars(PoolSelector):
    """Chooses the first exemplars of a pool, or those named by `qids`, in that order.

    The first counts as the most useful. In a prompt it comes last, next to the question, and is
    dropped last. An exemplar that is the question itself is skipped.
    """

    def __init__(
        self, pool: ExemplarPool, qids: Sequence[str] | None = None, *, up_to: bool = False
    ) -> None:
        super().__init__(pool, up_to=up_to)
        by_qid = {exemplar.qid: place for place, exemplar in enumerate(pool.exemplars)}
        for qid in qids or ():
            if qid not in by_qid:
                raise InputError(
                    f"has an unknown qid: {shown(qid)} is not among the {len(by_qid)} questions.",
                    field="exemplars",
                    value=qid,
                )
        self._places = range(len(pool)) if qids is None else [by_qid[qid] for qid in qids]
        self._qids = None if qids is None else list(qids)

    def _ranked(self, question: str, allowed: list[int]) -> Sequence[int]:  # noqa: ARG002
        seen = set(allowed)
        return [place for place in dict.fromkeys(self._places) if place in seen]

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """Raise if too few exemplars are named for a question."""
        for question in questions:
            self.select(question, count)

    def _settings(self) -> dict[str, object]:
        return {"strategy": "fixed", "qids": self._qids}


class RandomExemplars(PoolSelector):
    """Chooses exemplars at random, reproducibly.

    The choice does not depend on the order of the questions or of the pool: each exemplar gets a
    hash of the seed, the question and its own question, and the lowest hashes win. So a smaller
    choice is the beginning of a larger one.
    """

    def __init__(self, pool: ExemplarPool, seed: int = 0, *, up_to: bool = False) -> None:
        super().__init__(pool, up_to=up_to)
        self._seed = seed

    def _ranked(self, question: str, allowed: list[int]) -> Sequence[int]:
        asked = question_key(question)

        def digest(index: int) -> bytes:
            own = question_key(self._pool.exemplars[index].question)
            text = f"{self._seed}\0{asked}\0{own}"
            return hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()

        return sorted(allowed, key=digest)

    def _settings(self) -> dict[str, object]:
        return {"strategy": "random", "seed": self._seed}


class KnnExemplars(PoolSelector):
    """Chooses the exemplars whose questions have the highest cosine similarity to the question.

    Ties keep the order of the pool. The pool is embedded on first use.
    """

    def __init__(
        self, pool: ExemplarPool, encoder: SentenceEncoder, *, up_to: bool = False
    ) -> None:
        super().__init__(pool, up_to=up_to)
        self._encoder = encoder
        self._known: dict[str, NDArray[np.float32]] = {}

    def _ranked(self, question: str, allowed: list[int]) -> Sequence[int]:
        self._embed([question])
        indices = np.array(allowed, dtype=np.intp)
        similarity = self._vectors[indices] @ self._known[question]  # [candidates]
        # Rounded, so that floating-point errors do not break ties.
        order = np.argsort(-similarity.round(6), kind="stable")
        nearest: list[int] = indices[order].tolist()
        return nearest

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """Embed the pool and these questions."""
        super().prepare(questions, count)
        self._embed(questions)

    def _embed(self, questions: Sequence[str]) -> None:
        _ = self._vectors
        new = [question for question in dict.fromkeys(questions) if question not in self._known]
        if new:
            self._known.update(zip(new, unit(self._encoder.encode(new)), strict=True))

    def _settings(self) -> dict[str, object]:
        return {
            "strategy": "knn",
            "encoder": self._encoder.name,
            "encoder_id": self._encoder.identity(),
        }

    @cached_property
    def _vectors(self) -> NDArray[np.float32]:
        """The embedded questions of the pool, float32[exemplars, width]."""
        return unit(self._encoder.encode([each.question for each in self._pool.exemplars]))


def check_strategy(strategy: str) -> None:
    """Raise if a strategy is unknown, before files are read for it."""
    name, colon, qids = strategy.partition(":")
    if name not in ("knn", "random", "fixed") or (colon and (name != "fixed" or not qids.strip())):
        raise InputError(
            f"must be one of knn, random, fixed, fixed:QID,QID, got {strategy!r}.",
            field="exemplars",
            value=strategy,
        )


def named_qids(strategy: str) -> list[str]:
    """Return the qids in ``fixed:QID,QID`` without duplicates; empty for other strategies.

    Example:
        >>> named_qids("fixed:q3, q1,q3")
        ['q3', 'q1']
    """
    named = (qid.strip() for qid in strategy.partition(":")[2].split(","))
    return list(dict.fromkeys(qid for qid in named if qid))


def create_selector(
    strategy: str,
    pool: ExemplarPool,
    *,
    seed: int = 0,
    up_to: bool = False,
    encoder: Callable[[], SentenceEncoder],
) -> PoolSelector:
    """Create the selector for a strategy; `encoder` is called for ``knn`` only."""
    check_strategy(strategy)
    name, _, _ = strategy.partition(":")
    if name == "knn":
        return KnnExemplars(pool, encoder(), up_to=up_to)
    if name == "random":
        return RandomExemplars(pool, seed, up_to=up_to)
    return FixedExemplars(pool, named_qids(strategy) or None, up_to=up_to)
