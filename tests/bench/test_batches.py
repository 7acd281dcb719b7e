"""Runs of engines that answer several questions at once, and that ask a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from semqa import InputError, QuotedAnswer, Source
from semqa.bench import Plan, run
from semqa.engines import Request
from semqa.engines.base import Generation
from semqa.errors import UnavailableError
from semqa.history import Exchange
from semqa.prompting import Prompt, PromptBuilder
from semqa.retrieval.settings import PromptSettings
from tests.bench.test_run import many_questions, rows_of, without_times
from tests.cli.conftest import EXAMPLES

DATA = EXAMPLES / "quotesum.jsonl"
RANDOM = PromptSettings(train=DATA, shots=1, exemplars="random")


class Model:
    """Quotes the first word of the first source, and says how many were asked together."""

    name = "fake:model"
    batch_size = 3
    chat = True

    def __init__(self, prompts: PromptBuilder | None) -> None:
        self.prompts = prompts
        self.batches: list[list[str]] = []
        self.fail_after: int | None = None

    def answer(self, question: str, sources: Sequence[Source], history: Any = ()) -> QuotedAnswer:
        return self.generate([Request(question, sources)])[0].read(sources)

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        for request in requests:
            if "town 4?" in request.question:
                raise InputError("too long")
        if self.fail_after is not None and len(self.batches) >= self.fail_after:
            raise UnavailableError("gone")
        self.batches.append([request.question for request in requests])
        return [
            Generation(
                f"{len(requests)} [ 1 {r.sources[0].text.split()[0]} ]",
                self.prompt(*r),
                100 + k,
                7,
                finished=k != 1,
            )
            for k, r in enumerate(requests)
        ]

    def prompt(self, question: str, sources: Sequence[Source], history: Any = ()) -> Prompt:
        assert self.prompts is not None
        return self.prompts.build(question, sources)


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> list[Model]:
    """The engines that were created, in order; they take any option."""
    made: list[Model] = []

    def create(spec: str, options: dict[str, Any]) -> Model:
        if spec != "fake:model":
            raise InputError(f"Unknown engine: got {spec!r}")
        made.append(Model(options.get("prompts")))
        return made[-1]

    monkeypatch.setattr("semqa.bench.plan.create_engine", create)
    return made


def plan(data: Path = DATA, **more: Any) -> Plan:
    return Plan(data, "fake:model", **({"prompts": RANDOM} | more))


def test_questions_are_answered_together(tmp_path: Path, models: list[Model]) -> None:
    data = many_questions(tmp_path / "many.jsonl", 8)
    results: Any = run(plan(data), tmp_path / "run")
    # The second group holds a question that cannot be answered, so each of it was asked alone.
    assert [len(batch) for batch in models[0].batches] == [3, 1, 1, 2]
    assert (results["failed"], results["failures"]) == (1, [{"id": "q4", "error": "too long"}])
    rows = rows_of(tmp_path / "run")
    assert [row["id"] for row in rows] == [f"q{k}" for k in range(8)]
    assert [row["prediction"][:1] for row in rows] == ["3", "3", "3", "1", "", "1", "2", "2"]
    assert rows[4]["error"] == "too long"
    assert all(row["seconds"] >= 0 for row in rows)


def test_resumed_in_the_middle_of_a_group_asks_the_same_together(
    tmp_path: Path, models: list[Model]
) -> None:
    data = many_questions(tmp_path / "many.jsonl", 8)
    run(plan(data), tmp_path / "whole")
    for kept in range(9):
        folder = tmp_path / f"resumed-{kept}"
        folder.mkdir()
        for name in ("run.json", "examples.jsonl"):
            lines = (tmp_path / "whole" / name).read_bytes().splitlines(keepends=True)
            cut = (
                lines if name == "run.json" else [*lines[:kept], *[x[:9] for x in lines[kept:][:1]]]
            )
            (folder / name).write_bytes(b"".join(cut))
        run(plan(data), folder)
        assert without_times(folder) == without_times(tmp_path / "whole")


def test_the_results_say_how_many_exemplars_there_were(
    tmp_path: Path, models: list[Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    two = PromptSettings(train=DATA, shots=2, exemplars="random")
    results: Any = run(plan(prompts=two), tmp_path / "all")
    assert results["exemplars"] == {
        "asked": 2, "up_to": False, "fewest": 2, "most": 2, "mean": 2, "prompts_with_fewer": 0,
    }  # fmt: skip
    limits = {"alone?": 10**9, "opened?": 2_000, "expensive?": 4_000}

    def narrow(
        self: Model, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> Prompt:
        del history
        assert self.prompts is not None
        return self.prompts.build(
            question,
            sources,
            count_tokens=lambda p: len(p.text),
            limit=limits[question.rsplit(maxsplit=1)[-1]],
        )

    monkeypatch.setattr(Model, "prompt", narrow)
    results = run(plan(prompts=two), tmp_path / "some")
    counts = [len(row["exemplars"]) for row in rows_of(tmp_path / "some")]
    assert (min(counts), max(counts)) == (0, 2)
    assert results["exemplars"] == {
        "asked": 2, "up_to": False, "fewest": 0, "most": 2, "mean": sum(counts) / 3,
        "prompts_with_fewer": sum(count < 2 for count in counts),
    }  # fmt: skip
    assert run(Plan(DATA, "human"), tmp_path / "none")["exemplars"] is None


def test_what_an_engine_tells_of_its_model_is_in_the_record(
    tmp_path: Path, models: list[Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    results: Any = run(plan(), tmp_path / "run")
    rows = rows_of(tmp_path / "run")
    told = [(row["prompt_tokens"], row["new_tokens"], row["finished"]) for row in rows]
    assert told == [(100, 7, True), (101, 7, False), (102, 7, True)]
    assert all(len(row["exemplars"]) == 1 for row in rows)
    assert results["tokens"] == {
        "prompt_mean": 101, "prompt_most": 102, "new_mean": 7, "new_most": 7, "cut_off": 1,
    }  # fmt: skip
    assert run(plan(), tmp_path / "run")["tokens"] == results["tokens"]
    rows[0]["finished"] = "yes"
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "run" / "examples.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="finished must be true or false"):
        run(plan(), tmp_path / "run")


def test_the_record_names_prompt_and_exemplars(tmp_path: Path, models: list[Model]) -> None:
    import hashlib

    from semqa.prompting import Template

    results: Any = run(plan(options={"temperature": 0.5}), tmp_path)
    config = results["config"]
    assert config == json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert config["prompts"]["template"] == "qsum"
    assert config["prompts"]["sha256"] == Template.load("qsum").sha256
    assert config["prompts"]["exemplars"]["strategy"] == "random"
    assert config["train_sha256"] == hashlib.sha256(DATA.read_bytes()).hexdigest()
    assert config["options"] == {"temperature": 0.5}
    assert {"torch", "transformers"} <= set(config["model_versions"])
    qids = [row["qid"] for row in rows_of(tmp_path)]
    for row in rows_of(tmp_path):
        (exemplar,) = row["exemplars"]
        assert exemplar in qids
        assert exemplar != row["qid"]


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"options": {"seed": 1}}, "options"),
        ({"prompts": PromptSettings(train=DATA, shots=1, exemplars="random", seed=1)}, "prompts"),
        ({"prompts": PromptSettings(prompt="zero-shot", train=DATA, shots=1, exemplars="random")}, "prompts"),
    ],
)  # fmt: skip
def test_another_way_of_asking_is_another_run(
    changed: dict[str, Any], key: str, tmp_path: Path, models: list[Model]
) -> None:
    run(plan(), tmp_path)
    with pytest.raises(InputError, match=f"holds another run: its {key}"):
        run(plan(**changed), tmp_path)


def test_a_changed_template_or_train_file_is_another_run(
    tmp_path: Path, models: list[Model]
) -> None:
    template, train = tmp_path / "own.jinja", tmp_path / "train.jsonl"
    text = "{{ question }}{% for s in sources %}{{ s.title }}{{ s.text }}{% endfor %}"
    template.write_text(text, encoding="utf-8")
    train.write_bytes(DATA.read_bytes())
    settings = PromptSettings(prompt=str(template), train=train, shots=1, exemplars="fixed")
    run(plan(prompts=settings), tmp_path / "run")
    renamed = tmp_path / "renamed.jsonl"
    renamed.write_bytes(train.read_bytes())
    same = PromptSettings(prompt=str(template), train=renamed, shots=1, exemplars="fixed")
    run(plan(prompts=same), tmp_path / "run")
    # White space that makes no difference to any question still is another file.
    train.write_bytes(DATA.read_bytes() + b"\n")
    with pytest.raises(InputError, match="holds another run: its train_sha256"):
        run(plan(prompts=settings), tmp_path / "run")
    train.write_bytes(DATA.read_bytes())
    template.write_text(text + "!", encoding="utf-8")
    with pytest.raises(InputError, match="holds another run: its prompts"):
        run(plan(prompts=settings), tmp_path / "run")


def test_too_few_exemplars_are_found_before_anything_is_written(
    tmp_path: Path, models: list[Model]
) -> None:
    settings = PromptSettings(train=DATA, shots=3, exemplars="random")
    with pytest.raises(InputError, match="must be at most 2"):
        run(plan(prompts=settings), tmp_path / "run")
    pipe = PromptSettings(train=Path("/dev/stdin"), shots=1, exemplars="random")
    with pytest.raises(InputError, match="must be a regular file"):
        run(plan(prompts=pipe), tmp_path / "run")
    with pytest.raises(InputError, match="Unknown engine"):
        run(Plan(DATA, "other:model", prompts=RANDOM), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert models == []
