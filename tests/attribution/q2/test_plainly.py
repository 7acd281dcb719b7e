"""Q² in batches against Q² by plain loops, one question at a time."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from hypothesis import given
from hypothesis import strategies as st

from semqa.attribution.judges import Entailment, Judge, Pair, Reading, Span
from semqa.attribution.q2 import Q2, Response, Settings
from semqa.attribution.q2.spans import InformativeSpan
from tests.attribution.fake_judge import LABELS

WORDS = ("the", "in", "old", "bridge", "Ann", "a")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)


class DrawnJudge(Judge):
    """Has an opinion of everything: what a seed makes of the words."""

    name = identity = "drawn"

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def draw(self, *parts: str, sides: int) -> int:
        """Return a number below `sides`; the same for the same parts."""
        return (sum(map(ord, "/".join(parts))) * 7919 + self.seed) % 1009 % sides

    def ask(self, readings: Sequence[tuple[str, str]], *, count: int = 5) -> list[list[str]]:
        return [
            [
                f"{'you' if self.draw(answer, passage, str(n), sides=4) == 0 else 'q'} {answer} {n}?"
                for n in range(self.draw(answer, passage, sides=count + 1))
            ]
            for answer, passage in readings
        ]

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        found: list[Span | None] = []
        for question, passage in readings:
            if self.draw(question, passage, sides=4) == 0:
                found.append(None)
                continue
            words = passage.split()
            first = self.draw(question, passage, "first", sides=len(words))
            text = " ".join(words[first : first + 1 + self.draw(question, sides=2)])
            asked = " ".join(question.split()[1:-1])
            if self.draw(question, sides=3) and asked in passage:
                text = asked
            start = passage.index(text)
            found.append(Span(text, start, start + len(text), 0.5))
        return found

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        labels = list(LABELS.values())
        return [labels[self.draw(*pair, sides=3)] for pair in pairs]


class Words:
    """Every word is a span, and so is the first word again."""

    name = "words"

    def spans(self, text: str) -> list[InformativeSpan]:
        words = [*text.split(), text.split(maxsplit=1)[0]]
        return [InformativeSpan(word, 0, len(word)) for word in words]

    def personal(self, question: str) -> bool:
        return question.startswith("you")


def cleaned(text: str, dropped: Sequence[str]) -> list[str]:
    kept = "".join(c for c in text.lower() if c not in string.punctuation)
    return [word for word in kept.split() if word not in dropped]


def f1(a: list[str], b: list[str]) -> float:
    same = sum((Counter(a) & Counter(b)).values())
    return 2 * same / (len(a) + len(b)) if same else float(not a and not b)


def plainly(
    judge: DrawnJudge, response: Response, settings: Settings
) -> tuple[float, float | None]:
    """Return Q² and Q² without NLI as the paper, or the released code, describes them."""
    official = settings.official
    dropped = ("a", "an", "the", "in", "our") if official else ("a", "an", "the")
    with_nli, without = [], []
    asked_about: list[str] = []
    for span in Words().spans(response.text):
        if span.text.lower() in asked_about and not official:
            continue
        asked_about.append(span.text.lower())
        (questions,) = judge.ask([(span.text, response.text)], count=settings.beams)
        for question in questions:
            if question.startswith("you"):
                continue
            (own,) = judge.answer([Reading(question, response.text)])
            wanted = cleaned(span.text, dropped)
            if own is None or cleaned(own.text, dropped) != wanted or not (wanted or official):
                continue
            (found,) = judge.answer([Reading(question, response.knowledge)])
            if found is None:
                with_nli.append(0.0)
                without.append(0.0)
            else:
                other = cleaned(found.text, dropped)
                overlap = f1(wanted, other) if wanted and other else 0.0
                (verdict,) = judge.entailment(
                    [Pair(f"{question} {found.text}.", f"{question} {span.text}.")]
                )
                same = overlap == 1 if official else wanted == other
                worth = {"entailment": 1.0, "contradiction": 0.0, "neutral": overlap}
                label = max(verdict._fields, key=lambda name: getattr(verdict, name))
                with_nli.append(1.0 if same else worth[label])
                without.append(overlap)
            break
    if with_nli:
        return fmean(with_nli), fmean(without)
    knowledge = response.knowledge.lower() if official else response.knowledge
    (verdict,) = judge.entailment([Pair(knowledge, response.text)])
    label = max(verdict._fields, key=lambda name: getattr(verdict, name))
    whole = {"entailment": 1.0, "contradiction": 0.0, "neutral": 0.5}[label]
    return whole, whole if official else None


@given(
    st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=20),
    st.integers(0, 1008),
    st.builds(Settings, beams=st.integers(1, 5), official=st.booleans()),
)
def test_batches_give_what_plain_loops_give(
    texts: list[tuple[str, str]], seed: int, settings: Settings
) -> None:
    judge = DrawnJudge(seed)
    responses = [Response(str(n), *pair) for n, pair in enumerate(texts)]
    for response, found in zip(
        responses, Q2(judge, Words(), settings).score(responses), strict=True
    ):
        assert (found.q2, found.q2_no_nli) == plainly(judge, response, settings)
