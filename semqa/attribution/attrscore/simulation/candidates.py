"""Wrong answers of the right kind: those of other questions, or the same with other figures."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from semqa.attribution.attrscore.simulation.kinds import asked_for, kind_of, varied
from semqa.attribution.attrscore.simulation.matching import Forms, Needle

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from semqa.attribution.attrscore.simulation.qa import QAItem

__all__ = ["Candidate", "Candidates"]

_TRIED = 50
"""Candidates drawn from each pool before the next pool is tried."""

_VARIED = 20


class Candidate(NamedTuple):
    """A wrong answer.

    Attributes:
        source: ``another question``, or ``other figures``.
    """

    text: str
    kind: str
    source: str


class Candidates:
    """The answers of a data set by kind and by what is asked for."""

    def __init__(self, items: Sequence[QAItem]) -> None:
        pools: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        for item in items:
            kind, asked = kind_of(item.answers[0]), asked_for(item.question)
            key = Forms.of(item.answers[0]).words
            for pool in ((kind, asked), (kind, "")):
                pools[pool].setdefault(key, item.answers[0])
        self._pools = {name: tuple(pool.values()) for name, pool in pools.items()}

    def of(self, item: QAItem, rng: Random) -> Iterator[Candidate]:
        """Yield wrong answers to a question, the most alike first.

        Those of questions that ask for the same come before others of the same kind, and both
        before the answer with other figures. None is equal to, within, or around an answer of the
        question, whichever way it is written.

        Args:
            item: the question.
            rng: draws; the same state yields the same.
        """
        kind = kind_of(item.answers[0])
        right = Needle.of(item.answers)
        forms = [Forms.of(answer) for answer in item.answers]

        def wrong(text: str) -> bool:
            needle = Needle.of([text])
            return (
                needle.sayable
                and not right.within(Forms.of(text))
                and not any(needle.within(form) for form in forms)
            )

        tried: set[str] = set()
        for pool in ((kind, asked_for(item.question)), (kind, "")):
            texts = self._pools.get(pool, ())
            for text in rng.sample(texts, min(_TRIED, len(texts))):
                if text not in tried and wrong(text):
                    tried.add(text)
                    yield Candidate(text, kind, "another question")
        for _ in range(_VARIED):
            made = varied(item.answers[0], kind, rng)
            if made is not None and made not in tried and wrong(made):
                tried.add(made)
                yield Candidate(made, kind, "other figures")
