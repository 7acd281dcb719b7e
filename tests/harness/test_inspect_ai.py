"""The task in inspect_ai itself: a model that replays answers, and a tiny one."""

from __future__ import annotations

import gc
import importlib.util
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from semqa.harness import HarnessSettings, QuestionSet, harness_path
from semqa.harness.quotesum import MEANS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from semqa.metrics import Report

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("inspect_ai") is None,
        reason="needs inspect_ai: pip install -e '.[harness]'",
    ),
    pytest.mark.filterwarnings("ignore"),  # of the harness and what it imports
]

Run = Any


@pytest.fixture(scope="module")
def evaluate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Call as ``evaluate(model, data=…, …)``; the task is found in its file, as a user's is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import inspect_ai

    folder = tmp_path_factory.mktemp("logs")

    def run(model: Any, **arguments: Any) -> Any:
        (log,) = inspect_ai.eval(
            f"{harness_path('inspect_ai')}@quotesum",
            model=model,
            task_args={n: v if isinstance(v, int) else str(v) for n, v in arguments.items()},
            display="none",
            log_dir=str(folder),
        )
        assert log.status == "success", log.error
        return log

    yield run
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()  # the harness leaves streams open, and a warning of that ends the session


@pytest.fixture(scope="module")
def replaying(data: Path) -> Callable[[dict[str, str]], Any]:
    """Make a model that replays answers, told apart by the question in the last turn."""

    def make(answers: dict[str, str]) -> Any:
        from inspect_ai.model import ModelOutput, ModelUsage, get_model

        texts = {
            each.question: answers[each.qid]
            for each in QuestionSet(HarnessSettings(data=str(data))).questions
        }

        def answer(turns: Any, *_: Any) -> Any:
            asked = turns[-1].text.rpartition("Question: ")[2].partition("\n")[0]
            output = ModelOutput.from_content("mockllm/model", texts[asked])
            output.usage = ModelUsage()  # or else the mock counts tokens with a download
            return output

        return get_model("mockllm/model", custom_outputs=answer, memoize=False)

    return make


def figures(log: Any) -> dict[str, float]:
    found = {each.name: each.metrics["mean"].value for each in log.results.scores[1:]}
    return found | {"semqa": log.results.scores[0].metrics["semqa"].value}


def test_the_scores_are_ours(
    evaluate: Run, replaying: Run, data: Path, answers: dict[str, str], expected: Report
) -> None:
    log = evaluate(replaying(answers), data=data)
    found = figures(log)
    assert found.keys() == {*MEANS, "semqa"}
    for name, value in found.items():
        assert value == pytest.approx(expected.value(name), rel=0, abs=1e-9)
    recall = next(each for each in log.results.scores if each.name == "sem_recall")
    assert (recall.scored_samples, recall.unscored_samples) == (3, 1)
    assert log.eval.metadata["data"] == data.name


def test_the_prompts_are_ours(
    evaluate: Run, replaying: Run, data: Path, train: Path, answers: dict[str, str]
) -> None:
    questions = QuestionSet(HarnessSettings(data=str(data), train=str(train), exemplars="random"))
    few = questions.prompt("PAQ_0", questions.builder(2, seed=5))
    more = {"train": train, "exemplars": "random", "shots": 2, "seed": 5}
    log = evaluate(replaying(answers), data=data, **more)
    sample = next(each for each in log.samples if each.id == "PAQ_0")
    turns = [{"role": turn.role, "content": turn.text} for turn in sample.input]
    assert turns == [message.to_dict() for message in few.messages]
    log = evaluate(replaying(answers), data=data, form="completion", **more)
    sample = next(each for each in log.samples if each.id == "PAQ_0")
    assert sample.input == few.text
    assert log.eval.model_generate_config.stop_seqs is None
    assert log.plan.config.stop_seqs == list(few.stop)


def test_a_log_can_be_scored_again(
    evaluate: Run, replaying: Run, data: Path, answers: dict[str, str]
) -> None:
    import inspect_ai

    from semqa.harness.inspect_ai.task import quotesum_scorer

    log = evaluate(replaying(answers), data=data)
    again = inspect_ai.score(
        log, quotesum_scorer(data=str(data)), action="overwrite", display="none"
    )
    assert figures(again) == figures(log)
