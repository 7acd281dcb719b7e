"""A judge that goes on where something is too long for it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from semqa.attribution.judges import (
    Entailment,
    Pair,
    PatientJudge,
    Reading,
    Span,
    TooLongError,
    create_judge,
)
from semqa.attribution.judges.base import abilities_of


class Short:
    """A judge of texts of three characters at most."""

    name = "short"
    identity = "short 1"

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        self._check([pair.hypothesis for pair in pairs])
        return [Entailment(1.0, 0.0, 0.0) for _ in pairs]

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        self._check([reading.question for reading in readings])
        return [Span(reading.passage, 0, len(reading.passage), 1.0) for reading in readings]

    def ask(self, readings: Sequence[tuple[str, str]], *, count: int = 5) -> list[list[str]]:
        self._check([answer for answer, _ in readings])
        return [[answer + "?"] * count for answer, _ in readings]

    def complete(
        self,
        prompts: Sequence[str],
        *,
        max_new_tokens: int = 256,
        schema: object = None,  # noqa: ARG002
    ) -> list[str]:
        self._check(prompts)
        return [prompt * max_new_tokens for prompt in prompts]

    def _check(self, texts: Sequence[str]) -> None:
        if any(len(text) > 3 for text in texts):
            raise TooLongError("too long")


def test_what_is_too_long_says_nothing_and_is_counted() -> None:
    judge = PatientJudge(Short())
    texts = ["ab", "abcd", "c"]
    assert [each.entailed for each in judge.entailment([Pair("p", t) for t in texts])] == [
        True, False, True,
    ]  # fmt: skip
    assert judge.entailment([Pair("p", "abcd")]) == [Entailment(0.0, 1.0, 0.0)]
    found = judge.answer([Reading(t, "p") for t in texts])
    assert found == [Span("p", 0, 1, 1.0), None, Span("p", 0, 1, 1.0)]
    assert judge.ask([(t, "p") for t in texts], count=1) == [["ab?"], [], ["c?"]]
    assert judge.complete(texts, max_new_tokens=2) == ["abab", "", "cc"]
    assert judge.too_long == 5


def test_it_can_what_the_other_can() -> None:
    class Entailing:
        name = identity = "e"

        def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
            return [Entailment(1.0, 0.0, 0.0) for _ in pairs]

    judge = PatientJudge(Entailing())
    assert abilities_of(judge) == {"entailment"}
    lexical = create_judge("lexical")
    assert PatientJudge(lexical).identity == lexical.identity


def test_other_mistakes_are_not_kept_silent() -> None:
    class Broken(Short):
        def _check(self, texts: Sequence[str]) -> None:
            raise ValueError(f"broken by {len(texts)}")

    judge = PatientJudge(Broken())
    with pytest.raises(ValueError, match="broken"):
        judge.complete(["a"])
