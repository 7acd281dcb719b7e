"""A judge that needs no model: it compares words, by rules that are written here.

It is there so that everything runs on a bare machine, and as a floor for other judges. It knows no
synonyms, no syntax and no world: a paraphrase is neutral to it, and words that are all there in
another order are entailed. Do not report its figures as those of a metric.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from semqa.attribution.judges.base import Entailment
from semqa.attribution.judges.lexical_prompts import judge_prompt
from semqa.attribution.judges.lexical_questions import answer_reading, questions_for
from semqa.attribution.judges.lexical_words import Token, read_tokens, sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.judges.base import Pair, Reading, Schema, Span

__all__ = ["LexicalJudge"]

_VERSION = 5
"""Counted up with each change of the rules, so that no result of older ones is taken for theirs."""

_MIDDLE = 0.75
"""Share of the hypothesis's content words in the premise at which entailment is an even bet."""

_STEEP = 14.0
_MISSING_FIXED = 0.02
"""Probability of entailment where the premise lacks a number or a name of the hypothesis."""

_ALIKE = 0.7
"""Share of content words from which two sentences speak of the same thing, so that a negation in
one of them, or another number, contradicts."""


class LexicalJudge:
    """Judges by words alone: deterministic, in microseconds, and weak.

    Entailment: the share of the hypothesis's content words (without function words, inflections
    taken off) that the premise holds, put through a logistic curve. A number or a name that the
    premise lacks is never entailed. Where one sentence of the premise holds nearly the same words,
    a negation in one of the two, or another number in its place, is a contradiction. Questions in
    the hypothesis claim nothing and are passed over; a hypothesis that claims nothing is neutral.

    Answers: the sentence that holds most of the question's words, and in it the run of other words
    that stands where the question asks, and is of the kind that it asks for. Questions: the
    sentence of the answer with a question word in the answer's place. Completions: of prompts that
    it recognises, those of semqa above all (`semqa.attribution.judges.lexical_prompts`); it refuses
    others.

    Attributes:
        name: ``lexical``.
        identity: the version of the rules.

    Example:
        >>> from semqa.attribution.judges import Pair
        >>> judge = LexicalJudge()
        >>> premise = "Ann Lee opened the bridge in 1932."
        >>> [each.entailed for each in judge.entailment(
        ...     [Pair(premise, "The bridge was opened by Ann Lee."),
        ...      Pair(premise, "Ann Lee opened the bridge in 1933."),
        ...      Pair(premise, "Ann Lee did not open the bridge.")])]
        [True, False, False]
    """

    def __init__(self) -> None:
        self.name = "lexical"
        self.identity = f"lexical/{_VERSION}"

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        """Return how each hypothesis stands to its premise, by its words."""
        return [_entailment(pair.premise, pair.hypothesis) for pair in pairs]

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        """Return the span that answers each question, or None where too few words are shared."""
        return [answer_reading(reading) for reading in readings]

    def ask(self, readings: Sequence[tuple[str, str]], *, count: int = 5) -> list[list[str]]:
        """Return each answer's sentence with a question word in its place; no answer, no question."""
        return [questions_for(answer, passage)[:count] for answer, passage in readings]

    def complete(
        self,
        prompts: Sequence[str],
        *,
        max_new_tokens: int = 256,  # noqa: ARG002  (a verdict is short)
        schema: Schema | None = None,  # noqa: ARG002
    ) -> list[str]:
        """Return what each prompt asks for, such as a verdict, in the prompt's own words for it.

        Raises:
            InputError: a prompt asks for anything else, which takes a language model.
        """
        return [judge_prompt(prompt, _entailment) for prompt in prompts]


_CLAUSE = re.compile(r"[,;:()–—]+\s|\s(?:but|although|though|while|whereas)\s")


class _Claim(NamedTuple):
    """What a text says, as far as words tell.

    Attributes:
        content: the keys of its content words.
        fixed: those of them that are numbers or names.
        numbers: those of them that are numbers.
        denied: the content words of each clause that denies, an odd number of times.
    """

    content: frozenset[str]
    fixed: frozenset[str]
    numbers: frozenset[str]
    denied: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, text: str) -> _Claim:
        tokens = read_tokens(text)
        clauses = [read_tokens(clause) for clause in _CLAUSE.split(text)]
        return cls(
            _content(tokens),
            frozenset(token.key for token in tokens if token.content and token.fixed),
            frozenset(token.key for token in tokens if token.number),
            tuple(_content(clause) for clause in clauses if _denies(clause)),
        )

    def denies(self, other: frozenset[str]) -> bool:
        """Whether a clause denies something about these words."""
        return any(clause & other for clause in self.denied)


def _content(tokens: Sequence[Token]) -> frozenset[str]:
    return frozenset(token.key for token in tokens if token.content)


def _denies(tokens: Sequence[Token]) -> bool:
    return sum(token.negation for token in tokens) % 2 == 1


def _entailment(premise: str, hypothesis: str) -> Entailment:
    claims = [_Claim.of(text) for text in sentences(hypothesis) if not text.endswith("?")]
    claims = [claim for claim in claims if claim.content]
    if not claims:
        return _of(0.0, 0.0)
    known, given = _known(premise)
    judged = [_judge(claim, known, given) for claim in claims]
    # All of several sentences must follow; one that is contradicted contradicts the whole.
    return _of(min(each[0] for each in judged), max(each[1] for each in judged))


@lru_cache(maxsize=256)
def _known(premise: str) -> tuple[frozenset[str], tuple[_Claim, ...]]:
    """Return the words of a premise, and what its sentences say; a premise often comes again."""
    words = frozenset(token.key for token in read_tokens(premise))
    return words, tuple(_Claim.of(text) for text in sentences(premise))


def _judge(claim: _Claim, known: frozenset[str], given: Sequence[_Claim]) -> tuple[float, float]:
    """Return how probable it seems that a claim follows, and that its contrary does."""
    covered = len(claim.content & known) / len(claim.content)
    follows = 1 / (1 + math.exp(-_STEEP * (covered - _MIDDLE)))
    missing = claim.fixed - known
    if missing:
        follows = min(follows, _MISSING_FIXED)
    contrary = 0.0
    nearest = max(given, key=lambda each: len(claim.content & each.content), default=None)
    if nearest is not None:
        plain = claim.content - claim.numbers
        alike = len(plain & nearest.content) / len(plain) if plain else 0.0
        # A clause that shares no word with the other text may deny what it will.
        denied = claim.denies(nearest.content) != nearest.denies(claim.content)
        other = bool(claim.numbers - nearest.numbers) and bool(nearest.numbers - claim.numbers)
        # Another number in place of one that the whole premise lacks, and nothing else is missing.
        if alike >= _ALIKE and (denied or (other and missing and missing <= claim.numbers)):
            contrary = 0.9 * alike
            follows = min(follows, 0.05)
    return follows, contrary


def _of(follows: float, contrary: float) -> Entailment:
    contradiction = contrary * (1 - follows)
    return Entailment(follows, 1 - follows - contradiction, contradiction)
