"""Filters the answers of questions, in this order.

1. *Length*: drop passages with too few or too many words.
2. *Score*: drop passages if the score of a QA model is below a threshold.
3. *One passage per page*: keep the passage with the best score on each page.
4. *Near-equal answers*: of two equal answers, keep the one with the better score. Answers are equal
   if their edit distance is small, if they share most of their words, or if a judge finds that each
   entails the other. Answers with different numbers are never equal: "12 May" is not "13 May".

Questions with fewer than two remaining answers are dropped.

Source: Schuster et al. 2024, section 4.1, for the filters. We could not compare with the numbers in
the paper, so the thresholds are ours; see `Rules` for their basis. The exception for numbers is
ours, and so is the order: the paper chooses one passage per page first, and loses the page if that
passage is too short. Filtering by length first also saves model calls.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rapidfuzz.distance import Levenshtein

from semqa.attribution.judges import Judge, Pair, Reading, Span, create_judge, unless_too_long
from semqa.attribution.judges.base import Ability, TooLongError
from semqa.metrics.text import normalise_answer
from semqa.questions.records import CollectedQuestion, PassageAnswer

if TYPE_CHECKING:
    from semqa.questions.rules import Rules


@lru_cache(maxsize=4)
def create_judge_once(spec: str, device: str | None, ability: Ability) -> Judge:
    """Create a judge that has an ability, or return the one created before."""
    judge = create_judge(spec, {"device": device})
    judge.require(ability)
    return judge


def check_judges(rules: Rules) -> None:
    """Create the judges, to detect invalid names before reading any input."""
    create_judge_once(rules.qa, rules.device, "answer")
    if rules.equivalence != "none":
        create_judge_once(rules.equivalence, rules.device, "entailment")


class Filtered(NamedTuple):
    """The remaining questions, and numbers after each filter, such as ``pages.answers``."""

    questions: list[CollectedQuestion]
    counts: dict[str, int]


def filter_questions(rules: Rules, found: Sequence[CollectedQuestion]) -> Filtered:
    """Apply all filters to a block of questions, with one batch per judge."""
    counts: Counter[str] = Counter()

    def after(name: str, questions: Iterable[CollectedQuestion]) -> list[CollectedQuestion]:
        left = [each for each in questions if has_several_answers(each.answers)]
        counts[f"{name}.questions"] += len(left)
        counts[f"{name}.answers"] += sum(len(each.answers) for each in left)
        return left

    short = after("length", (_with(each, _within_length(each.answers, rules)) for each in found))
    scored = after("scored", _scored(short, rules))
    return Filtered(_finish(scored, rules, after), dict(counts))


def filter_again(question: CollectedQuestion, rules: Rules) -> CollectedQuestion:
    """Apply the filters after the score to a question again, for example after merging."""
    left = _finish([question], rules, lambda _, questions: [*questions])
    return left[0]


def _finish(
    found: list[CollectedQuestion],
    rules: Rules,
    after: Callable[[str, Iterable[CollectedQuestion]], list[CollectedQuestion]],
) -> list[CollectedQuestion]:
    choose = one_per_page if rules.one_per_page else without_overlap
    found = after("pages", (_with(each, choose(each.answers)) for each in found))
    # Stable, so ties stay in order.
    found = [_with(q, sorted(q.answers, key=lambda each: -each.score)) for q in found]

    least, most = rules.least_edits, rules.most_overlap
    found = after("edits", (_distinct(q, lambda a, b: few_edits(a, b, least)) for q in found))
    found = after("words", (_distinct(q, lambda a, b: same_words(a, b, most)) for q in found))
    if rules.equivalence != "none":
        pairs = iter(_equivalent(found, rules))
        found = after("equivalence", (_distinct(q, _in(next(pairs))) for q in found))
    return after("most", (_with(each, each.answers[: rules.most_sources]) for each in found))


def _with(question: CollectedQuestion, answers: Iterable[PassageAnswer]) -> CollectedQuestion:
    return replace(question, answers=tuple(answers))


def has_several_answers(answers: Sequence[PassageAnswer]) -> bool:
    """Whether there are at least two different answers in at least two passages."""
    return (
        len({normalise_answer(each.answer) for each in answers}) > 1
        and len({each.text for each in answers}) > 1
    )


def _scored(questions: Sequence[CollectedQuestion], rules: Rules) -> list[CollectedQuestion]:
    judge = create_judge_once(rules.qa, rules.device, "answer")
    # The score depends on the question and passage only, not on the answer.
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


def one_per_page(answers: Sequence[PassageAnswer]) -> list[PassageAnswer]:
    """Return the answer with the best score of each page, in order; ties go to the first."""
    best: dict[str, PassageAnswer] = {}
    for each in answers:
        page = each.title.casefold()
        if page not in best or each.score > best[page].score:
            best[page] = each
    return list(best.values())


def without_overlap(answers: Sequence[PassageAnswer]) -> list[PassageAnswer]:
    """Return answers with non-overlapping passages, one passage per answer, in order.

    If two passages overlap, the answer that is in fewer passages is kept, because it has fewer
    alternatives; ties go to the better score.
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


MIN_SHARED_WORDS = 8
"""Two passages of a page overlap if they share this many consecutive words."""


def overlap(one: PassageAnswer, other: PassageAnswer) -> bool:
    """Whether two passages are from the same page and share `MIN_SHARED_WORDS` consecutive words.

    A shorter passage overlaps if the other passage contains all of it.
    """
    if one.title.casefold() != other.title.casefold():
        return False
    a, b = one.text.split(), other.text.split()
    if len(a) > len(b):
        a, b = b, a
    size = min(MIN_SHARED_WORDS, len(a))
    windows = {tuple(b[start : start + size]) for start in range(len(b) - size + 1)}
    return any(tuple(a[start : start + size]) in windows for start in range(len(a) - size + 1))


def _within_length(answers: Sequence[PassageAnswer], rules: Rules) -> list[PassageAnswer]:
    return [
        each for each in answers if rules.least_words <= len(each.text.split()) <= rules.most_words
    ]


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@lru_cache(maxsize=2**16)
def _words(answer: str) -> frozenset[str]:
    return frozenset(normalise_answer(answer).split())


def other_numbers(one: str, other: str) -> bool:
    """Whether each of two answers contains a number that is missing in the other.

    Example:
        >>> other_numbers("12 May 1990", "13 May 1990"), other_numbers("May 1990", "1990")
        (True, False)
    """
    a, b = set(_NUMBER.findall(one)), set(_NUMBER.findall(other))
    return bool(a - b) and bool(b - a)


def few_edits(one: str, other: str, least: float) -> bool:
    """Whether two normalised answers are the same or have a small edit distance.

    The Levenshtein distance, divided by the length of the longer answer, must be below `least`.

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
    """Whether the words of two answers have an intersection over union of at least `most`.

    Example:
        >>> same_words("Bing Crosby", "Crosby", 0.5), same_words("Bing Crosby", "Josh Gates", 0.5)
        (True, False)
    """
    if other_numbers(one, other):
        return False
    a, b = _words(one), _words(other)
    return bool(a | b) and len(a & b) / len(a | b) >= most


def _distinct(question: CollectedQuestion, same: Callable[[str, str], bool]) -> CollectedQuestion:
    kept: list[PassageAnswer] = []
    for each in question.answers:
        if not any(same(each.answer, other.answer) for other in kept):
            kept.append(each)
    return _with(question, kept)


def _in(pairs: set[frozenset[str]]) -> Callable[[str, str], bool]:
    return lambda one, other: frozenset((one, other)) in pairs


def _equivalent(questions: Sequence[CollectedQuestion], rules: Rules) -> list[set[frozenset[str]]]:
    """Return the pairs of answers that a judge finds equivalent, for each question."""
    judge = create_judge_once(rules.equivalence, rules.device, "entailment")
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
    """Return the statement for the equivalence judge: the question, then the answer."""
    return f"{question} {answer}"


def counts_of(counts: Mapping[str, int], name: str) -> tuple[int, int]:
    """Return the numbers of questions and answers after a step."""
    return counts.get(f"{name}.questions", 0), counts.get(f"{name}.answers", 0)
