"""Exemplars: solved questions to show to a model, and how to choose them: `knn`, `random` or `fixed`."""

from __future__ import annotations

import hashlib
import unicodedata
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from semqa.data.jsonl import shown
from semqa.errors import InputError
from semqa.prompting.prompt import Exemplar
from semqa.quotes import QuotedAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from semqa.data.quotesum import Question, Reference
    from semqa.retrieval.encoder import TextEncoder

_IGNORED = frozenset("PZC")
"""Unicode categories that do not tell questions apart: punctuation, spaces, control characters."""


def question_key(question: str) -> str:
    """Return what two spellings of one question have in common.

    Case, white space, punctuation and compatibility forms (full width, ligatures) do not count.

    Example:
        >>> question_key("Who's  sang it?") == question_key("whos sang IT")
        True
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", question).casefold())
    kept = "".join(c for c in folded if unicodedata.category(c)[0] not in _IGNORED)
    return unicodedata.normalize("NFKC", kept)


class ExemplarPool:
    """Exemplars, each question once: the first of those that are the same question.

    A question never sees itself. It is known by its text (`question_key`), and by its qid where the
    pool was told which questions will be asked.
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
        """Return the places of the exemplars that a question may see."""
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


class PoolSelector(ABC):
    """Chooses exemplars from a pool.

    Args:
        up_to: whether fewer will do where there are fewer, but at least one.
    """

    def __init__(self, pool: ExemplarPool, *, up_to: bool = False) -> None:
        self._pool = pool
        self._up_to = up_to

    @abstractmethod
    def _ranked(self, question: str, allowed: list[int]) -> Sequence[int]:
        """Return places in the pool, the most useful first."""

    @abstractmethod
    def _settings(self) -> dict[str, object]:
        """Return what the choice depends on besides the pool, ready for JSON."""

    def select(self, question: str, count: int) -> list[Exemplar]:
        """Choose `count` exemplars, the most useful first."""
        allowed = self._pool.candidates(question, self._least(count))
        chosen = self._ranked(question, allowed)[:count]
        if len(chosen) < self._least(count):
            raise InputError(
                f"must name at least {count} exemplars besides the question itself, got {len(chosen)}.",
                field="exemplars",
            )
        return [self._pool.exemplars[place] for place in chosen]

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """See that there are enough for each question, and do what `select` needs for all at once."""
        for question in questions:
            self._pool.candidates(question, self._least(count))

    def identity(self) -> dict[str, object]:
        """Return what the choice depends on, ready for JSON."""
        made = {**self._settings(), "pool_sha256": self._pool.sha256}
        return {**made, "up_to": True} if self._up_to else made

    def _least(self, count: int) -> int:
        return min(count, 1) if self._up_to else count


class FixedExemplars(PoolSelector):
    """Chooses the first exemplars of a pool, or those that are named.

    The first is taken for the most useful: in a prompt it stands next to the question and is the
    last to be dropped. The next one takes the place of one that is the question itself.

    Args:
        qids: the ones to choose, the most useful first; None for all, in the pool's order.
    """

    def __init__(
        self, pool: ExemplarPool, qids: Sequence[str] | None = None, *, up_to: bool = False
    ) -> None:
        super().__init__(pool, up_to=up_to)
        by_qid = {exemplar.qid: place for place, exemplar in enumerate(pool.exemplars)}
        for qid in qids or ():
            if qid not in by_qid:
                raise InputError(
                    f"names the qid {shown(qid)}, which is not among the {len(by_qid)} questions.",
                    field="exemplars",
                    value=qid,
                )
        self._places = range(len(pool)) if qids is None else [by_qid[qid] for qid in qids]
        self._qids = None if qids is None else list(qids)

    def _ranked(self, question: str, allowed: list[int]) -> Sequence[int]:  # noqa: ARG002
        seen = set(allowed)
        return [place for place in dict.fromkeys(self._places) if place in seen]

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """See that enough are named for each question."""
        for question in questions:
            self.select(question, count)

    def _settings(self) -> dict[str, object]:
        return {"strategy": "fixed", "qids": self._qids}


class SeededExemplars(PoolSelector):
    """Chooses at random, by a seed and the question.

    The choice depends neither on the order in which questions are asked, nor on that of the pool:
    each exemplar draws a lot from seed, question and its own question, and the lowest lots win.
    Hence a choice of fewer is the beginning of a choice of more.
    """

    def __init__(self, pool: ExemplarPool, seed: int = 0, *, up_to: bool = False) -> None:
        super().__init__(pool, up_to=up_to)
        self._seed = seed

    def _ranked(self, question: str, allowed: list[int]) -> Sequence[int]:
        key = question_key(question)

        def lot(place: int) -> bytes:
            own = question_key(self._pool.exemplars[place].question)
            text = f"{self._seed}\0{key}\0{own}"
            return hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()

        return sorted(allowed, key=lot)

    def _settings(self) -> dict[str, object]:
        return {"strategy": "random", "seed": self._seed}


class NearestExemplars(PoolSelector):
    """Chooses by the cosine similarity of embedded questions, the nearest first.

    Equally near ones keep the order of the pool. The pool is embedded when it is first needed.
    """

    def __init__(self, pool: ExemplarPool, encoder: TextEncoder, *, up_to: bool = False) -> None:
        super().__init__(pool, up_to=up_to)
        self._encoder = encoder
        self._known: dict[str, NDArray[np.float32]] = {}

    def _ranked(self, question: str, allowed: list[int]) -> Sequence[int]:
        self._embed([question])
        places = np.array(allowed, dtype=np.intp)
        similarity = self._vectors[places] @ self._known[question]  # [candidates]
        # Rounded, so that the last bits of a sum do not decide between equals.
        order = np.argsort(-similarity.round(6), kind="stable")
        nearest: list[int] = places[order].tolist()
        return nearest

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """Embed the pool and these questions."""
        super().prepare(questions, count)
        self._embed(questions)

    def _embed(self, questions: Sequence[str]) -> None:
        _ = self._vectors
        new = [question for question in dict.fromkeys(questions) if question not in self._known]
        if new:
            self._known.update(zip(new, _unit(self._encoder.encode(new)), strict=True))

    def _settings(self) -> dict[str, object]:
        return {
            "strategy": "knn",
            "encoder": self._encoder.name,
            "encoder_id": self._encoder.identity(),
        }

    @cached_property
    def _vectors(self) -> NDArray[np.float32]:
        """The questions of the pool, float32[exemplars, width]."""
        return _unit(self._encoder.encode([each.question for each in self._pool.exemplars]))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale each row to length 1; a row of zeros stays one."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: NDArray[np.float32] = vectors / np.where(lengths > 0, lengths, np.float32(1))
    return unit


STRATEGIES = ("knn", "random", "fixed", "fixed:QID,QID")
"""What `create_selector` takes."""


def check_strategy(strategy: str) -> None:
    """See that there is such a strategy, before anything is read for it."""
    name, colon, qids = strategy.partition(":")
    if name not in ("knn", "random", "fixed") or (colon and (name != "fixed" or not qids.strip())):
        raise InputError(
            f"must be one of {', '.join(STRATEGIES)}, got {strategy!r}.",
            field="exemplars",
            value=strategy,
        )


def named_qids(strategy: str) -> list[str]:
    """Return the qids that ``fixed:QID,QID`` names, each once; none for other strategies.

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
    encoder: Callable[[], TextEncoder],
) -> PoolSelector:
    """Create a selector from the name of its strategy.

    Args:
        strategy: ``knn`` for the nearest questions, ``random``, ``fixed`` for the first of the
            pool, or ``fixed:`` with qids, separated by commas.
        up_to: whether fewer exemplars will do where there are fewer.
        encoder: makes the encoder; called for ``knn`` only.

    Raises:
        InputError: there is no such strategy, or a qid is not in the pool.
    """
    check_strategy(strategy)
    name, _, _ = strategy.partition(":")
    if name == "knn":
        return NearestExemplars(pool, encoder(), up_to=up_to)
    if name == "random":
        return SeededExemplars(pool, seed, up_to=up_to)
    return FixedExemplars(pool, named_qids(strategy) or None, up_to=up_to)
