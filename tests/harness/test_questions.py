"""What both harnesses share: data, prompts, scores. None of them needs to be installed here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.errors import InputError
from semqa.harness import HarnessSettings, QuestionSet, harness_path
from semqa.harness.quotesum import corpus_semqa
from semqa.metrics import ExampleScores, summarise

if TYPE_CHECKING:
    from pathlib import Path


SCORES = st.none() | st.floats(0, 100)


@given(st.lists(st.tuples(SCORES, SCORES), max_size=8))
def test_the_corpus_score_is_that_of_the_report(pairs: list[tuple[float | None, ...]]) -> None:
    rows = [
        ExampleScores(str(n), lsum, lsum, lsum, lsum, f1, f1, f1, None, {"semqa": "of a corpus"})
        for n, (f1, lsum) in enumerate(pairs)
    ]
    expected = summarise(rows, resamples=0).value("semqa")
    got = corpus_semqa((row.sem_f1, row.rougeLsum) for row in rows)
    assert math.isnan(got) if expected is None else got == pytest.approx(expected, abs=1e-9)


def test_canonical_accepts_sloppy_marks(data: Path, answers: dict[str, str]) -> None:
    strict = QuestionSet(HarnessSettings(data=str(data)))
    forgiving = QuestionSet(HarnessSettings(data=str(data), canonical=True))
    neat = "[ 1 Ada Holm ] did, [ 2 opened in 1954 ]"
    assert forgiving.score("PAQ_3", answers["PAQ_3"]) == strict.score("PAQ_3", neat)
    assert strict.score("PAQ_3", answers["PAQ_3"]) != strict.score("PAQ_3", neat)


def test_a_question_is_never_its_own_exemplar(data: Path, train: Path) -> None:
    questions = QuestionSet(HarnessSettings(data=str(data), train=str(train), exemplars="random"))
    builder = questions.builder(2)
    for each in questions.questions:
        prompt = questions.prompt(each.qid, builder)
        assert prompt.template == "qsum"
        assert len(prompt.exemplars) == 2
        assert each.qid not in {exemplar.qid for exemplar in prompt.exemplars}
    assert questions.prompt("PAQ_0", questions.builder()).template == "zero-shot"


def test_data_is_named_by_argument_environment_or_cache(
    data: Path, train: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEMQA_CACHE", str(tmp_path))
    with pytest.raises(InputError, match="semqa data fetch quotesum --split test"):
        QuestionSet(HarnessSettings(split="test"))
    with pytest.raises(InputError, match="semqa data fetch quotesum --split train"):
        QuestionSet(HarnessSettings(data=str(data))).builder(1)
    monkeypatch.setenv("SEMQA_QUOTESUM", str(train))
    assert QuestionSet(HarnessSettings()).path == train
    assert QuestionSet(HarnessSettings(data=str(data))).path == data


@pytest.mark.parametrize(("name", "value"), [("data", 3), ("split", None), ("canonical", "yes")])
def test_arguments_of_the_wrong_type_are_named(name: str, value: object) -> None:
    with pytest.raises(InputError, match=f"^{name} must be"):
        HarnessSettings.among({name: value, "pretrained": "gpt2"})


def test_the_command_prints_the_path_alone() -> None:
    from typer.testing import CliRunner

    from semqa.cli.main import app

    done = CliRunner().invoke(app, ["harness", "path", "lm_eval"])
    assert done.stdout == f"{harness_path('lm_eval')}\n"
    assert CliRunner().invoke(app, ["harness", "path", "helm"]).exit_code == 2
