"""Training data for AttrScore made of questions and answers.

*Attributable*: a question, its answer and its passage as they are. *Contradictory*: the answer is
replaced by a wrong one of its kind, or the answer stays and every place of it in the passage is
replaced so. *Extrapolatory*: the passage is replaced by the one that is nearest by BM25 and holds no
form of the answer.

Source: Yue et al. 2023, data simulated from question answering. Answers are used as the data set has
them, without being put into sentences. How a wrong answer is chosen and what counts as a form of the
answer is ours.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from semqa.attribution.attrscore.example import Example
from semqa.attribution.attrscore.label import LABELS
from semqa.attribution.attrscore.simulation.candidates import Candidates
from semqa.attribution.attrscore.simulation.matching import Forms, Needle, occurrences
from semqa.attribution.attrscore.simulation.negatives import Negatives
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa.attribution.attrscore.label import Label
    from semqa.attribution.attrscore.simulation.qa import QAItem

__all__ = ["Simulation", "simulate", "substituted"]

ANSWER = "answer substitution"
CONTEXT = "context substitution"


@dataclass(frozen=True, slots=True)
class Simulation:
    """Simulated examples, as many of each label.

    Attributes:
        examples: in a seeded order.
        failed: how often a question could not be given a label, by how it was tried.
        dropped: examples left out to make the labels equal in number.
    """

    examples: tuple[Example, ...]
    failed: Counter[str]
    dropped: int


def simulate(
    items: Sequence[QAItem],
    *,
    per_label: int | None = None,
    every_label: bool = False,
    seed: int = 0,
    on_progress: Callable[[int, int | None], None] | None = None,
) -> Simulation:
    """Make examples of the three labels, as many of each.

    The same data set and settings give the same examples; what becomes of a question does not
    depend on how others fared, but for the label that it is given.

    Args:
        items: questions with answers and passages.
        per_label: at most so many of each label; by default as many as there can be.
        every_label: make an example of each label of every question, instead of one example a
            question. A model cannot tell labels by questions then; but a split into training and
            test has to be made by question.
        seed: of order and draws.
        on_progress: called with how many questions are done, and of how many.

    Raises:
        InputError: not even one example of each label can be made.
        MissingExtraError: bm25s is not installed.
    """
    maker = _Maker(items, seed)
    made: dict[Label, list[tuple[int, Example]]] = {label: [] for label in LABELS}
    order = Random(seed).sample(range(len(items)), len(items))  # noqa: S311  (no secret)
    for done, number in enumerate(order, start=1):
        turns = sorted(LABELS, key=lambda label: len(made[label]))
        if per_label is not None:
            turns = [label for label in turns if len(made[label]) < per_label]
        if not turns:
            break
        for label in turns:
            example = maker.make(items[number], label)
            if example is not None:
                made[label].append((done, example))
                if not every_label:
                    break
        if on_progress is not None:
            on_progress(done, len(items))
    least = min(len(each) for each in made.values())
    if not least:
        missing = ", ".join(label for label in LABELS if not made[label])
        reasons = "; ".join(f"{count} times {reason}" for reason, count in maker.failed.items())
        raise InputError(
            f"simulation: no balance: got no {missing} example of {len(items)} questions"
            f"{f' ({reasons})' if reasons else ''}, expected one of each label at least; give more "
            "questions, with more passages"
        )
    kept = sorted(
        (each for examples in made.values() for each in examples[:least]),
        key=lambda each: (each[0], LABELS.index(each[1].label or "Attributable")),
    )
    return Simulation(
        tuple(example for _, example in kept),
        maker.failed,
        sum(map(len, made.values())) - len(kept),
    )


class _Maker:
    """Makes the examples of one data set."""

    def __init__(self, items: Sequence[QAItem], seed: int) -> None:
        self._seed = seed
        self._candidates = Candidates(items)
        self._negatives = Negatives([item.context for item in items])
        self._ways: Final[Counter[str]] = Counter()
        self.failed: Counter[str] = Counter()

    def make(self, item: QAItem, label: Label) -> Example | None:
        """Return an example with this label, or None where none can be made of the question."""
        match label:
            case "Attributable":
                how: dict[str, object] = {"made": "as is"}
                return self._example(item, label, item.answers[0], item.context, how)
            case "Extrapolatory":
                return self._extrapolatory(item)
            case "Contradictory":
                # The way that was taken less often; the other one where it fails.
                ways = sorted((ANSWER, CONTEXT), key=lambda way: self._ways[way])
                for way in ways:
                    made = self._by_answer(item) if way == ANSWER else self._by_context(item)
                    if made is not None:
                        self._ways[way] += 1
                        return made
                    self.failed[f"no {way}"] += 1
        return None

    def _extrapolatory(self, item: QAItem) -> Example | None:
        answers = Needle.of(item.answers)
        found = self._negatives.find(item.question, item.context, answers)
        if found is None or not answers.sayable:
            self.failed["no passage without the answer"] += 1
            return None
        how: dict[str, object] = {"made": "BM25 negative", "rank": found.rank}
        return self._example(item, "Extrapolatory", item.answers[0], found.text, how)

    def _by_answer(self, item: QAItem) -> Example | None:
        for wrong in self._candidates.of(item, self._draws(item, ANSWER)):
            how: dict[str, object] = {
                "made": ANSWER,
                "was": item.answers[0],
                "kind": wrong.kind,
                "source": wrong.source,
            }
            return self._example(item, "Contradictory", wrong.text, item.context, how)
        return None

    def _by_context(self, item: QAItem) -> Example | None:
        answers = Needle.of(item.answers)
        for wrong in self._candidates.of(item, self._draws(item, CONTEXT)):
            text, count = substituted(item.context, item.answers, wrong.text)
            if not count or answers.within(Forms.of(text)):
                continue  # written in a way that cannot be found to the letter
            how: dict[str, object] = {
                "made": CONTEXT,
                "substitute": wrong.text,
                "places": count,
                "kind": wrong.kind,
                "source": wrong.source,
            }
            return self._example(item, "Contradictory", item.answers[0], text, how)
        return None

    def _draws(self, item: QAItem, way: str) -> Random:
        return Random(f"{self._seed}\0{item.id}\0{way}")  # noqa: S311  (no secret)

    def _example(
        self, item: QAItem, label: Label, answer: str, reference: str, how: dict[str, object]
    ) -> Example:
        return Example(
            id=f"{item.id}-{label.lower()}",
            query=item.question,
            answer=answer,
            reference=reference,
            label=label,
            how={**how, "question": item.id},
        )


def substituted(text: str, answers: Sequence[str], substitute: str) -> tuple[str, int]:
    """Replace every place of an answer in a text, the longest forms first.

    Returns:
        The new text, and how many places there were.

    Example:
        >>> substituted("Ann Lee came. Lee sang.", ["Ann Lee", "Lee"], "Bob Ray")
        ('Bob Ray came. Bob Ray sang.', 2)
    """
    taken: list[tuple[int, int]] = []
    for answer in sorted(answers, key=len, reverse=True):
        for start, end in occurrences(text, answer):
            if all(end <= a or b <= start for a, b in taken):
                taken.append((start, end))
    for start, end in sorted(taken, reverse=True):
        text = text[:start] + substitute + text[end:]
    return text, len(taken)
