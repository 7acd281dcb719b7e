"""The task in lm-evaluation-harness itself: a model that replays answers, and a tiny one."""

from __future__ import annotations

import importlib.util
import json
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from semqa.errors import InputError
from semqa.harness import HarnessSettings, QuestionSet, harness_path
from semqa.harness.quotesum import MEANS
from tests.models import save

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from semqa.metrics import Report

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("lm_eval") is None,
        reason="needs lm-evaluation-harness: pip install -e '.[harness]'",
    ),
    pytest.mark.filterwarnings("ignore"),  # of the harness and what it imports
]

Run = Any


@pytest.fixture(scope="module")
def replay() -> Callable[..., Any]:
    """Call as ``replay(answers, data=…, …)``: evaluate a model that replays answers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import lm_eval
        from lm_eval.api.model import LM
        from lm_eval.tasks import TaskManager

    class Replay(LM):  # type: ignore[misc]  # untyped, or not installed
        tokenizer_name = "replay"

        def __init__(self, answers: dict[str, str], system: bool, budget: int | None) -> None:
            super().__init__()
            self.answers, self.system = answers, system
            self.asked: list[Any] = []
            if budget is not None:
                self.max_length = budget + 256
                self.tok_encode = str.split

        def generate_until(self, requests: Any) -> list[str]:
            self.asked = [request.args for request in requests]
            return [self.answers[request.doc["qid"]] for request in requests]

        def loglikelihood(self, requests: Any) -> Any:
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

        def apply_chat_template(self, turns: Any) -> str:
            shown = [turn for turn in turns if self.system or turn["role"] != "system"]
            return json.dumps(shown)

    def run(answers: dict[str, str], *, system: bool = True, **given: Any) -> Any:
        own = {"chat": False, "shots": None, "instruction": None, "budget": None}
        chosen = {name: given.pop(name, default) for name, default in own.items()}
        model = Replay(answers, system, chosen["budget"])
        found = lm_eval.simple_evaluate(
            model=model,
            tasks=["quotesum"],
            task_manager=TaskManager(
                include_path=str(harness_path("lm_eval")),
                include_defaults=False,
                metadata={
                    name: value if isinstance(value, bool | int) else str(value)
                    for name, value in given.items()
                },
            ),
            num_fewshot=chosen["shots"],
            apply_chat_template=chosen["chat"],
            system_instruction=chosen["instruction"],
            log_samples=True,
        )
        return found, model.asked

    return run


def test_the_scores_are_ours(
    replay: Run, data: Path, answers: dict[str, str], expected: Report
) -> None:
    found, _ = replay(answers, data=data)
    scores = found["results"]["quotesum"]
    for name in (*MEANS, "semqa"):
        assert scores[f"{name},none"] == pytest.approx(expected.value(name), rel=0, abs=1e-9)
    assert expected.estimates["sem_recall"].n == 3, "one answer must be without recall"
    rows = {row["doc"]["qid"]: row for row in found["samples"]["quotesum"]}
    for row in expected.examples:
        assert rows[row.qid].get("sem_recall") == row.sem_recall
        assert rows[row.qid]["rougeLsum"] == row.rougeLsum
    known = found["configs"]["quotesum"]["metadata"]["quotesum"]
    assert known["data"] == data.name
    assert known["prompts"]["template"] == "zero-shot"


def test_the_prompts_are_ours(
    replay: Run, data: Path, train: Path, answers: dict[str, str]
) -> None:
    questions = QuestionSet(HarnessSettings(data=str(data), train=str(train), exemplars="random"))
    own = questions.prompt("PAQ_0", questions.builder())
    _, asked = replay(answers, data=data)
    assert asked[0][0] == own.text
    assert asked[0][1]["until"] == list(own.stop)
    assert asked[0][1]["max_gen_toks"] == 256
    _, asked = replay(answers, data=data, chat=True)
    assert json.loads(asked[0][0]) == [message.to_dict() for message in own.messages]
    assert asked[0][1]["until"] == []
    few = questions.prompt("PAQ_0", questions.builder(2, seed=1234))  # the harness's seed
    _, asked = replay(answers, data=data, train=train, exemplars="random", shots=2, chat=True)
    assert json.loads(asked[0][0]) == [message.to_dict() for message in few.messages]
    assert len(few.messages) == 6
    _, asked = replay(answers, data=data, train=train, exemplars="random", shots=2)
    assert asked[0][0] == few.text


def test_a_template_without_system_turn_loses_nothing(
    replay: Run, data: Path, answers: dict[str, str]
) -> None:
    questions = QuestionSet(HarnessSettings(data=str(data)))
    own = questions.prompt("PAQ_0", questions.builder())
    _, asked = replay(answers, data=data, chat=True, system=False)
    assert json.loads(asked[0][0]) == [message.to_dict() for message in own.folded]
    _, asked = replay(answers, data=data, chat=True, instruction="Be brief.")
    first = json.loads(asked[0][0])[0]
    assert first == {"role": "system", "content": f"Be brief.\n\n{own.messages[0].content}"}


def test_exemplars_are_left_out_of_prompts_that_are_too_long(
    replay: Run, data: Path, train: Path, answers: dict[str, str]
) -> None:
    few = {"data": data, "train": train, "exemplars": "random", "chat": True}
    lengths = []
    for shots in (0, 1, 2):
        _, asked = replay(answers, shots=shots, prompt="qsum", **few)
        lengths.append(max(len(str(each[0]).split()) for each in asked))
    found, asked = replay(answers, shots=2, budget=lengths[1], **few)
    assert {len(json.loads(each[0])) for each in asked} <= {4, 6}
    assert max(len(each[0].split()) for each in asked) <= lengths[1]
    fewer = sum(len(json.loads(each[0])) == 4 for each in asked)
    assert fewer > 0
    assert found["configs"]["quotesum"]["metadata"]["quotesum"]["prompts_with_fewer"] == fewer
    with pytest.raises(InputError, match=r"question PAQ_\d: The prompt has .*fit=False"):
        replay(answers, shots=2, budget=lengths[0] - 20, **few)
    _, asked = replay(answers, shots=2, budget=lengths[0] - 20, fit=False, **few)
    assert {len(json.loads(each[0])) for each in asked} == {6}


def test_without_a_chat_template_the_model_named_tells_its_length(
    replay: Run, data: Path, train: Path, answers: dict[str, str], tmp_path: Path
) -> None:
    from transformers import AutoTokenizer

    model = save("llama-chat", tmp_path)
    tokens = AutoTokenizer.from_pretrained(model)
    few = {"data": data, "train": train, "exemplars": "random", "shots": 2}
    _, asked = replay(answers, **few)
    longest = max(len(tokens(each[0])["input_ids"]) for each in asked)
    _, same = replay(answers, pretrained=model, max_length=longest + 256, **few)
    assert [each[0] for each in same] == [each[0] for each in asked]
    _, cut = replay(answers, pretrained=model, max_length=longest + 255, **few)
    assert [each[0] for each in cut] != [each[0] for each in asked]
    assert all(len(tokens(each[0])["input_ids"]) < longest for each in cut)
    assert all(each[0].split(maxsplit=3)[:3] == asked[0][0].split(maxsplit=3)[:3] for each in cut)
