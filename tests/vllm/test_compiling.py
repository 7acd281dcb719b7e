"""Constraints are compiled once, kept as long as there is room, and set-ups are looked at."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from semqa import InputError, Source
from semqa.decoding import CopyConstraint, QuotePolicy
from semqa.decoding.vllm import ConstraintRequest, answers
from semqa.decoding.vllm.answers import ConstraintCache
from semqa.decoding.vllm.engine import NAME, check_setup
from tests.decoding.vocabularies import straddling_vocabulary

VOCABULARY = straddling_vocabulary()


def asked(text: str, **settings: Any) -> ConstraintRequest:
    return ConstraintRequest((Source(text, "title"),), QuotePolicy(**settings), "Who?")


def test_what_is_the_same_is_compiled_once() -> None:
    cache = ConstraintCache(VOCABULARY)
    first = cache.get(asked("White Christmas"), [])
    assert cache.get(asked("White Christmas"), []) is first
    others = [
        cache.get(asked("White Christmas."), []),
        cache.get(asked("White Christmas", free="any"), []),
        cache.get(asked("White Christmas"), ["i"]),
        cache.get(ConstraintRequest((Source("White Christmastitle"),), question="Who?"), []),
        cache.get(ConstraintRequest((Source("White Christmas", "title"),), question="Why?"), []),
    ]
    assert len({id(one) for one in (first, *others)}) == 6
    assert len(cache) == 6
    assert isinstance(first.result(), CopyConstraint)
    assert first.result().sources == (Source("White Christmas", "title"),)
    assert others[2].result().sources == (Source("[ [", "["),)


def test_the_cache_is_bounded_and_drops_the_oldest() -> None:
    cache = ConstraintCache(VOCABULARY, max_bytes=350_000)
    kept = [cache.get(asked(f"text {number}"), []) for number in range(3)]
    assert cache.get(asked("text 0"), []) is kept[0]
    cache.get(asked("text 3"), [])
    assert len(cache) == 3
    assert cache.get(asked("text 0"), []) is kept[0]
    assert cache.get(asked("text 1"), []) is not kept[1]


def test_a_constraint_larger_than_the_cache_is_compiled_anyway() -> None:
    cache = ConstraintCache(VOCABULARY, max_bytes=10)
    assert cache.get(asked("text"), []).result() is not None
    assert cache.get(asked("other"), []).result() is not None
    assert len(cache) == 1


def test_failures_are_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ConstraintCache(VOCABULARY)

    def failing(*_: Any, **__: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(answers, "CopyConstraint", failing)
        with pytest.raises(MemoryError):
            cache.get(asked("text"), []).result()
    assert cache.get(asked("text"), []).result() is not None
    assert len(cache) == 1


def test_sizes_are_overestimated() -> None:
    """What a constraint takes, by the bytes of its tables, distances included."""
    text = "The bridge was opened in 1932 by a mayor who had never crossed it. " * 300
    constraint = CopyConstraint(VOCABULARY, [Source(text)])
    view = constraint.view((), 0)
    taken = sum(array.nbytes for array in view.arrays.values())
    assert taken < 100_000 + answers._BYTES_PER_CHARACTER * len(text)


class CopyConstraintProcessor:
    """Stands for the real one, which cannot be imported without vLLM."""


CopyConstraintProcessor.__module__ = "semqa.decoding.vllm.processor"


def config(listed: list[Any] | None, **model: Any) -> Any:
    speculative = model.pop("speculative", None)
    return SimpleNamespace(
        model_config=SimpleNamespace(logits_processors=listed, **model),
        speculative_config=speculative,
    )


@pytest.mark.parametrize(
    "listed", [NAME, f"{NAME.replace(':', '.processor:')}", CopyConstraintProcessor]
)
@pytest.mark.parametrize("second", [False, True])
def test_set_ups_that_are_heard(listed: Any, second: bool) -> None:
    check_setup(config(["other:One", listed]), CopyConstraintProcessor, second_runner=second)


def test_the_second_runner_hears_plugins_too() -> None:
    check_setup(config(None), CopyConstraintProcessor, second_runner=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (config(None), "is installed as a plugin only"),
        (config(["other:CopyConstraintProcessor"]), "is installed as a plugin only"),
        (config([NAME, NAME]), "is loaded 2 times"),
        (
            config([NAME], speculative=SimpleNamespace(rejection_sample_method="synthetic")),
            "^rejection_sample_method ",
        ),
        (config([NAME], is_diffusion=True), "Diffusion"),
    ],
)
def test_set_ups_that_are_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_setup(given, CopyConstraintProcessor, second_runner=False)
