"""What is dropped from the answers of a question, and in which order.

1. *Length*: passages of too few or too many words go.
2. *Score*: a QA model reads question and passage; what it answers less surely than a threshold goes.
3. *One passage a page*: of a page's passages the one with the best score stays.
4. *Near-equal answers*: of two that say the same, the one with the better score stays. They say the
   same if few edits make one the other, if they share most of their words, or if a judge finds that
   each entails the other. Two answers with different numbers never do: "12 May" is not "13 May".

A question with fewer than two answers left goes, too.

Source: Schuster et al. 2024, section 4.1, for what is filtered. We have not had the paper's text to
compare numbers with, so no number here claims to be the paper's; `Rules` says what each rests on.
The exception for numbers is ours, and so is the order: the paper looks at the length after the page, and
so loses a page whose best passage is too short. Looking first also spares the model work.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rapidfuzz.distance import Levenshtein

from semqa.attribution.judges import Pair, Reading, create_judge, unless_too_long
from semqa.attribution.judges.base import TooLongError, able
from semqa.metrics.text import normalise_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from semqa.attribution.judges import AnsweringJudge, EntailmentJudge, Span
    from semqa.questions.records import Answered, Collected
    from semqa.questions.rules import Rules


@lru_cache(maxsize=4)
def _answering(spec: str, device: str | None) -> AnsweringJudge:
    return able(create_judge(spec, {"device": device}), "answer")


@lru_cache(maxsize=4)
def _entailing(spec: str, device: str | None) -> EntailmentJudge:
    return able(create_judge(spec, {"device": device}), "entailment")


def check_judges(rules: Rules) -> None:
    """Create the judges, so that a wrong name is found before anything is read."""
    _answering(rules.qa, rules.device)
    if rules.equivalence:
        _entailing(rules.equivalence, rules.device)


class Task(NamedTuple):
    """Questions that are filtered together, here or elsewhere."""

    rules: Rules
    questions: Sequence[Collected]


class Filtered(NamedTuple):
    """What is left.

    Attributes:
        counts: questions and answers after each filter, such as ``pages.answers``.
    """

    questions: list[Collected]
    counts: dict[str, int]


def filter_questions(task: Task) -> Filtered:
    """Apply all filters to questions; one call asks each judge once."""
    rules, found = task.rules, [*task.questions]
    counts: Counter[str] = Counter()

    def after(name: str, questions: Iterable[Collected]) -> list[Collected]:
        left = [each for each in questions if has_several(each.answers)]
        counts[f"{name}.questions"] += len(left)
        counts[f"{name}.answers"] += sum(len(each.answers) for each in left)
        return left

    found = after("length", (_with(each, _of_length(each.answers, rules)) for each in found))
    found = after("scored", _scored(found, rules))
    return Filtered(_finish(found, rules, after), dict(counts))


def filter_again(question: Collected, rules: Rules) -> Collected:
    """Return a question of scored answers with those that still pass, such as after a merger."""
    left = _finish([question], rules, lambda _, questions: [*questions])
    return left[0]


def _finish(
    found: list[Collected],
    rules: Rules,
    after: Callable[[str, Iterable[Collected]], list[Collected]],
) -> list[Collected]:
    """Apply what follows the score."""
    if rules.one_per_page:
        found = after("pages", (_with(each, one_per_page(each.answers)) for each in found))
    else:
        found = after("pages", (_with(each, without_overlap(each.answers)) for each in found))
    found = [_with(each, by_score(each.answers)) for each in found]
    ways: tuple[tuple[str, Callable[[str, str], bool]], ...] = (
        ("edits", lambda a, b: few_edits(a, b, rules.least_edits)),
        ("words", lambda a, b: same_words(a, b, rules.most_overlap)),
    )
    for name, same in ways:
        found = after(name, (_with(each, _distinct(each.answers, same)) for each in found))
    if rules.equivalence:
        equal = [
            lambda a, b, pairs=pairs: frozenset((a, b)) in pairs
            for pairs in _equivalent(found, rules)
        ]
        found = after(
            "equivalence",
            (
                _with(each, _distinct(each.answers, same))
                for each, same in zip(found, equal, strict=True)
            ),
        )
    return after("most", (_with(each, each.answers[: rules.most_sources]) for each in found))


def _with(question: Collected, answers: Iterable[Answered]) -> Collected:
    return replace(question, answers=tuple(answers))


def has_several(answers: Sequence[Answered]) -> bool:
    """Whether there are two different answers or more, in two passages or more."""
    return (
        len({normalise_answer(each.answer) for each in answers}) > 1
        and len({each.text for each in answers}) > 1
    )


def _scored(questions: Sequence[Collected], rules: Rules) -> list[Collected]:
    judge = _answering(rules.qa, rules.device)
    # A passage answers a question as surely for each of its answers.
    readings = list(
        dict.fromkeys(
            Reading(each.question, answer.text) for each in questions for answer in each.answers
        )
    )
    answered: list[Span | TooLongError | None] = unless_too_long(judge.answer, readings)
    spans = dict(zip(readings, answered, strict=True))
    found = []
    for each in questions:
        kept = []
        for answer in each.answers:
            span = spans[Reading(each.question, answer.text)]
            score = 0.0 if span is None or isinstance(span, TooLongError) else span.score
            if score >= rules.least_score:
                kept.append(answer._replace(score=round(score, 6)))
        found.append(_with(each, kept))
    return found


def by_score(answers: Sequence[Answered]) -> list[Answered]:
    """Return answers with the best score first; of equal ones, in their order."""
    return sorted(answers, key=lambda each: -each.score)


def one_per_page(answers: Sequence[Answered]) -> list[Answered]:
    """Return the answer with the best score of each page, the first of equal ones, in their order."""
    best: dict[str, Answered] = {}
    for each in answers:
        page = each.title.casefold()
        if page not in best or each.score > best[page].score:
            best[page] = each
    return list(best.values())


def without_overlap(answers: Sequence[Answered]) -> list[Answered]:
    """Return answers whose passages do not overlap, one a passage, in their order.

    Of two that overlap the one stays whose answer is in fewer passages, for it has no other place; of
    equal ones the one with the better score. An answer that has its passage takes no other one.
    """
    keys = [normalise_answer(each.answer) for each in answers]
    places = Counter(keys)
    rarest = sorted(range(len(answers)), key=lambda at: (places[keys[at]], -answers[at].score))
    kept: list[int] = []
    for at in rarest:
        if not any(
            keys[at] == keys[other] or overlap(answers[at], answers[other]) for other in kept
        ):
            kept.append(at)
    return [answers[at] for at in sorted(kept)]


OVERLAP = 8
"""Words in a row that two passages of a page share only if they are cut from the same place."""


def overlap(one: Answered, other: Answered) -> bool:
    """Whether two passages are of one page and share `OVERLAP` words in a row.

    A passage of fewer words overlaps where all of it is in the other.
    """
    if one.title.casefold() != other.title.casefold():
        return False
    a, b = one.text.split(), other.text.split()
    if len(a) > len(b):
        a, b = b, a
    size = min(OVERLAP, len(a))
    there = {tuple(b[start : start + size]) for start in range(len(b) - size + 1)}
    return any(tuple(a[start : start + size]) in there for start in range(len(a) - size + 1))


def _of_length(answers: Sequence[Answered], rules: Rules) -> list[Answered]:
    return [
        each for each in answers if rules.least_words <= len(each.text.split()) <= rules.most_words
    ]


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@lru_cache(maxsize=2**16)
def _words(answer: str) -> frozenset[str]:
    return frozenset(normalise_answer(answer).split())


def other_numbers(one: str, other: str) -> bool:
    """Whether each of two answers has a number that the other lacks.

    Example:
        >>> other_numbers("12 May 1990", "13 May 1990"), other_numbers("May 1990", "1990")
        (True, False)
    """
    a, b = set(_NUMBER.findall(one)), set(_NUMBER.findall(other))
    return bool(a - b) and bool(b - a)


def few_edits(one: str, other: str, least: float) -> bool:
    """Whether two answers are equal by their characters.

    Levenshtein's distance of the normalised answers, as a share of the longer one's length, is below
    `least`, or they are the same.

    Example:
        >>> few_edits("the late 19th century", "late 19th century", 0.3)
        True
        >>> few_edits("1943", "1944", 0.3)
        False
    """
    if other_numbers(one, other):
        return False
    a, b = normalise_answer(one), normalise_answer(other)
    return a == b or Levenshtein.normalized_distance(a, b) < least


def same_words(one: str, other: str, most: float) -> bool:
    """Whether two answers are equal by their words: intersection over union is at least `most`.

    Example:
        >>> same_words("Bing Crosby", "Crosby", 0.5), same_words("Bing Crosby", "Josh Gates", 0.5)
        (True, False)
    """
    if other_numbers(one, other):
        return False
    a, b = _words(one), _words(other)
    return bool(a | b) and len(a & b) / len(a | b) >= most


def _distinct(answers: Sequence[Answered], same: Callable[[str, str], bool]) -> list[Answered]:
    """Return answers of which none is the same as one before it."""
    kept: list[Answered] = []
    for each in answers:
        if not any(same(each.answer, other.answer) for other in kept):
            kept.append(each)
    return kept


def _equivalent(questions: Sequence[Collected], rules: Rules) -> list[set[frozenset[str]]]:
    """Return the pairs of answers that a judge takes for equal, question by question."""
    judge = _entailing(rules.equivalence, rules.device)
    asked: dict[tuple[int, frozenset[str]], tuple[Pair, Pair]] = {}
    for number, each in enumerate(questions):
        for at, one in enumerate(each.answers):
            for other in each.answers[at + 1 :]:
                if other_numbers(one.answer, other.answer):
                    continue
                pair = statement(each.question, one.answer), statement(each.question, other.answer)
                key = number, frozenset((one.answer, other.answer))
                asked[key] = Pair(*pair), Pair(*pair[::-1])
    pairs = [pair for both in asked.values() for pair in both]
    judged = unless_too_long(judge.entailment, pairs)
    equal: list[set[frozenset[str]]] = [set() for _ in questions]
    for place, (number, answers) in enumerate(asked):
        both = judged[2 * place : 2 * place + 2]
        if all(
            not isinstance(each, TooLongError) and each.entailment >= rules.least_equivalence
            for each in both
        ):
            equal[number].add(answers)
    return equal


def statement(question: str, answer: str) -> str:
    """Return an answer as a judge of equivalence reads it: after its question."""
    return f"{question} {answer}"


def counts_of(counts: Mapping[str, int], name: str) -> tuple[int, int]:
    """Return how many questions and answers there were after a step."""
    return counts.get(f"{name}.questions", 0), counts.get(f"{name}.answers", 0)
