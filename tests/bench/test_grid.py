"""Grids: what a file spans, what is wrong with it, and what becomes of its runs."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock
from numpy.typing import NDArray
from typer.testing import CliRunner, Result

from semqa.bench.report import load_runs, make_report
from semqa.cli.main import app
from semqa.errors import InputError, UnavailableError
from semqa.prompting import PromptBuilder
from tests.cli.conftest import EXAMPLES
from tests.cli.fake_model import FakeModel

DATA = EXAMPLES / "quotesum.jsonl"


class SharedModel(FakeModel):
    """A fake model that serves other settings, unless they would need it loaded anew."""

    loads = 0
    broken: str = ""

    def __init__(self, spec: str, options: Mapping[str, object]) -> None:
        if SharedModel.broken and SharedModel.broken in spec:
            raise UnavailableError("the hub is down")
        super().__init__(spec, options)
        SharedModel.loads += 1

    def with_settings(
        self, settings: Mapping[str, object], prompts: PromptBuilder | None
    ) -> SharedModel | None:
        if settings.get("dtype") != self.options.get("dtype"):
            return None
        made = SharedModel(self.name, {**settings, "prompts": prompts})
        SharedModel.loads -= 1
        return made


Bench = Callable[..., Result]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bench:
    """Call as ``bench("engine: lead-1", "--json")``: a grid in this process, with fake models."""
    real = __import__("semqa.engines", fromlist=["create_engine"]).create_engine
    loaded: list[SharedModel] = []

    def create_engine(spec: str, options: Mapping[str, object] | None = None) -> Any:
        if not spec.startswith("transformers:"):
            return real(spec, options)
        assert all(model.closed for model in loaded), "two models may not fit"
        loaded.append(SharedModel(spec, options or {}))
        return loaded[-1]

    monkeypatch.setattr("semqa.bench.plan.create_engine", create_engine)
    monkeypatch.setattr(SharedModel, "loads", 0)
    monkeypatch.setattr(SharedModel, "made", [])
    monkeypatch.chdir(tmp_path)

    def run(text: str, *args: str | Path) -> Result:
        text = textwrap.dedent(text).lstrip("\n")
        head = "" if "data:" in text else f"data: {DATA}\n"
        (tmp_path / "runs.yaml").write_text(head + text, encoding="utf-8")
        command = ["bench", "quotesum", "--config", "runs.yaml", *map(str, args)]
        if "out:" not in text:
            command += ["--out", "runs"]
        return CliRunner().invoke(app, command)

    return run


def cells_of(result: Result) -> dict[str, dict[str, Any]]:
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return {cell["label"]: cell for cell in json.loads(result.stdout)["cells"]}


def wrong(result: Result) -> str:
    assert isinstance(result.exception, InputError), (result.exception, result.output)
    return str(result.exception)


def test_lists_are_axes_and_runs_stand_besides(bench: Bench) -> None:
    result = bench(
        """
        engine: [extractive, lead-1, human]
        max-words: [20, 60]
        runs:
          - {name: mine, engine: extractive, max-words: 9}
          - engine: tail-1
        """,
        "--json",
    )
    cells = cells_of(result)
    assert list(cells) == [
        "extractive, max words 20", "extractive, max words 60", "lead-1", "human", "mine", "tail-1",
    ]  # fmt: skip
    assert {cell["state"] for cell in cells.values()} == {"done"}
    for cell in cells.values():
        config = json.loads((Path("runs") / cell["folder"] / "run.json").read_text("utf-8"))
        assert config["data_sha256"]
    config = json.loads((Path("runs") / cells["mine"]["folder"] / "run.json").read_text("utf-8"))
    assert (config["engine"], config["options"]) == ("extractive", {"max_words": 9})


def test_options_of_models_collapse_where_they_have_no_meaning(bench: Bench) -> None:
    cells = cells_of(
        bench(
            f"""
            engine: [extractive, transformers:m]
            train: {DATA}
            shots: [0, 1]
            exemplars: [random, fixed]
            constraint: [on, off]
            quote-bias: [3, 5]
            seed: 1
            """,
            "--json",
        )
    )
    # The engine asks nobody; without shots there is nothing to choose; rules need the constraint.
    assert len(cells) == 1 + (1 + 2) * (2 + 1)
    assert "extractive" in cells
    assert "transformers:m, 1 shot, random, unconstrained" in cells


def test_a_prompt_for_citations_runs_without_the_constraint_only(bench: Bench) -> None:
    text = "engine: transformers:m\nprompt: [zero-shot, alce]\nconstraint: [on, off]\n"
    result = bench(text, "--json")
    assert len(cells_of(result)) == 3
    assert "left out: transformers:m: Prompt alce asks for citations" in result.stderr
    assert wrong(bench("engine: transformers:m\nprompt: alce\n")).startswith(
        "runs.yaml:3: Prompt alce asks for citations"
    )


def test_a_model_is_loaded_once_for_its_runs(bench: Bench) -> None:
    text = """
    engine: [transformers:a, transformers:b]
    constraint: [on, off]
    temperature: [0, 0.5]
    """
    cells = cells_of(bench(text, "--json"))
    assert len(cells) == 8
    assert SharedModel.loads == 2
    text = "engine: transformers:a\ndtype: [float32, float16]\n"
    cells_of(bench(text, "--json", "--out", "others"))
    assert SharedModel.loads == 4


def test_finished_runs_are_not_run_again(bench: Bench) -> None:
    cells = cells_of(bench("engine: [lead-1, transformers:a]", "--json"))
    rows = Path("runs") / cells["transformers:a"]["folder"] / "examples.jsonl"
    before = (rows.stat().st_mtime_ns, rows.read_bytes())
    again = cells_of(bench("engine: [tail-1, lead-1, transformers:a]", "--json"))
    assert [cell["state"] for cell in again.values()] == ["done", "kept", "kept"]
    assert (rows.stat().st_mtime_ns, rows.read_bytes()) == before
    assert SharedModel.loads == 1


class CountingEncoder:
    """Counts how often it is made and asked for vectors."""

    made = 0
    asked = 0

    def __init__(self, name: str, **_: object) -> None:
        self.name = name
        CountingEncoder.made += 1

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        CountingEncoder.asked += 1
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

    def identity(self) -> str:
        return "counting"


def test_an_encoder_is_made_once_and_a_done_grid_loads_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("semqa.retrieval.encoder.SentenceEncoder", CountingEncoder)
    monkeypatch.setattr(CountingEncoder, "made", 0)
    text = f"""
    engine: transformers:m
    train: {DATA}
    shots: [1, 2]
    constraint: [on, off]
    judge: lexical
    no-judge-cache: true
    """
    assert {cell["state"] for cell in cells_of(bench(text, "--json")).values()} == {"done"}
    assert CountingEncoder.made == 1
    loads, asked = SharedModel.loads, CountingEncoder.asked
    assert {cell["state"] for cell in cells_of(bench(text, "--json")).values()} == {"kept"}
    assert (SharedModel.loads, CountingEncoder.asked) == (loads, asked)


def test_a_run_that_fails_does_not_end_the_grid(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SharedModel, "broken", "bad")
    text = "engine: [transformers:bad, lead-1, transformers:good]"
    result = bench(text, "--json")
    cells = cells_of(result)
    assert result.exit_code == 1
    assert [cell["state"] for cell in cells.values()] == ["failed", "done", "done"]
    assert cells["transformers:bad"]["error"] == "the hub is down"
    told = json.loads(Path("runs/grid.json").read_text("utf-8"))["cells"]
    assert told == list(cells.values())
    monkeypatch.setattr(SharedModel, "broken", "")
    healed = bench(text, "--json")
    assert healed.exit_code == 0
    assert [cell["state"] for cell in cells_of(healed).values()] == ["done", "kept", "kept"]


MISTAKES = [
    ("engine: lead-1\nshot: 5", "3: shot is not a valid key. Did you mean shots?"),
    ("engine: lead-1\nlimit: many", "3: limit cannot be 'many'"),
    ("engine: lead-1\nlimit: []", "3: limit needs"),
    ("engine: transformers:m\nconstraint: perhaps", "3: constraint cannot be 'perhaps': "),
    ("engine: transformers:m\nprompt: nonesuch", "3: Unknown prompt"),
    ("engine: [lead-1, lead]", "2: Unknown engine"),
    ("engine: [lead-1, lead-1]", "2: engine has the value 'lead-1' twice"),
    ("engine: lead-1\nengine: lead-2", "3: engine is set twice, first at runs.yaml:2"),
    ("engine: lead-1\ncoverage: 0.5", "3: coverage has no effect"),
    ("runs:\n- engine: human\n  max-words: 7", "4: max_words is not an option of the human row"),
    ("runs:\n- {name: a, engine: lead-1}\n- {name: a, engine: lead-2}", "4: name 'a' is already used"),
    ("engine: lead-1\nname: x", "3: name can only be set in an item of runs"),
    ("engine: lead-1\nruns: lead-2", "3: runs must be a list"),
    ("engine: lead-1\nout: [a, b]", "3: out must have one value"),
    ("engine: transformers:m\nconstraint: off\nquote-bias: 2", "4: quote-bias has no effect: no engine accepts it or"),
    ("data: none.jsonl\nengine: lead-1", "1: none.jsonl: cannot be read"),
    ("engine: transformers:m\nexemplars: random\nshots: 2\ntrain: none.jsonl", "5: none.jsonl: cannot be read"),
    ("engine: [lead-1", "2: Invalid YAML"),
    ("limit: 3", " Nothing to run"),
    ("engine: lead-1\njudge: nli", "3: Judge 'nli'"),
    ("engine: lead-1\njudge-batch-size: 4", "3: judge_batch_size needs --judge."),
    ("engine: lead-1\nworkers: 2", "3: workers needs --distributed ray."),
    ("engine: lead-1\ndistributed: ray\nworkers: 0", "4: workers cannot be '0'"),
    ("engine: transformers:m\nseed: " + str(list(range(6000))) + "\nlimit: [1, 2]", " There are 12,000 runs"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), MISTAKES, ids=[text[:40] for text, _ in MISTAKES])
def test_mistakes_are_named_before_anything_runs(bench: Bench, text: str, said: str) -> None:
    assert wrong(bench(text)).startswith(f"runs.yaml:{said}")
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "runs.yaml: The file has no settings"),
        (b"\xef\xbb\xbfengine: lead-1\nlimt: 3\n", "runs.yaml:2: limt is not a valid key"),
        (b"prompt: caf\xe9", "runs.yaml: invalid UTF-8: byte 0xe9"),
        (b"engine: lead-1\n" + b"# more\n" * 160_000, "runs.yaml: too large: "),
        (b"engine: " + b"[" * 500, "runs.yaml: Invalid YAML"),
    ],
    ids=["empty", "bom", "latin-1", "long", "deep"],
)
def test_files_that_are_no_settings_are_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "runs.yaml").write_bytes(content)
    command = ["bench", "quotesum", "--config", str(tmp_path / "runs.yaml")]
    message = wrong(CliRunner().invoke(app, [*command, "--data", str(DATA), "--out", "runs"]))
    assert message.removeprefix(f"{tmp_path}/").startswith(said)


def test_flags_typed_besides_count_for_every_run(bench: Bench) -> None:
    cells = cells_of(bench("engine: [lead-1, human]\nlimit: [1, 2, 3]", "--limit", "2", "--json"))
    assert {label: cell["answered"] for label, cell in cells.items()} == {"lead-1": 2, "human": 5}


def test_two_files_of_one_name_are_refused(bench: Bench, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "dev.jsonl").write_bytes(DATA.read_bytes())
    said = wrong(bench("data: [a/dev.jsonl, b/dev.jsonl]\nengine: lead-1"))
    assert said.startswith(
        "runs.yaml:2: data has two files with the same name, a/dev.jsonl and b/dev.jsonl"
    )
    (cell,) = cells_of(
        bench(f"data: [a/dev.jsonl, {tmp_path}/a/dev.jsonl]\nengine: lead-1", "--json")
    ).values()
    assert cell["state"] == "done"


def test_rows_hold_what_was_asked_written_and_read(bench: Bench) -> None:
    (cell,) = cells_of(bench("engine: transformers:m\nconstraint: off", "--json")).values()
    text = (Path("runs") / cell["folder"] / "examples.jsonl").read_text("utf-8")
    for row in map(json.loads, text.splitlines()):
        assert row["question"] in row["prompt"][-1]["content"]
        assert row["written"].endswith("[ 1 made up ] [ 2 ]")
        statuses = [span["status"] for span in row["spans"]]
        assert statuses[-2:] == ["fabricated", "malformed"]
        for span in row["spans"]:
            if span["status"] == "verified":
                assert span["end"] - span["start"] == len(span["text"])
    results = json.loads((Path("runs") / cell["folder"] / "results.json").read_text("utf-8"))
    assert {"platform", "python", "processor", "cpus"} <= results["machine"].keys()


def test_one_grid_one_process(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with FileLock(tmp_path / "runs" / ".grid.lock"):
        assert isinstance(bench("engine: lead-1").exception, UnavailableError)
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert "Cannot create the folder file" in wrong(bench("engine: lead-1\nout: file"))


DOCS = (Path(__file__).resolve().parents[2] / "docs" / "bench.md").read_text("utf-8")


def test_the_sample_in_the_docs_is_a_grid(bench: Bench) -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", DOCS, re.DOTALL)
    text = text.replace("dev.jsonl", str(DATA)).replace("train.jsonl", str(DATA))
    text = re.sub(r"exemplars: .*", "exemplars: [random, fixed]", text)
    text = text.replace("shots: [0, 2, 5]", "shots: [0, 1, 2]").replace("out: runs", "")
    text = text.replace("shots: 2\n", "shots: 2\n    exemplars: fixed\n")
    cells = cells_of(bench(text, "--json", "--limit", "1"))
    assert [cell["error"] for cell in cells.values() if cell["state"] != "done"] == []
    assert "ours" in cells


def test_the_docs_say_how_to_make_the_tables_of_the_paper(bench: Bench) -> None:
    keys = ("scores", "prompts", "baselines", "exemplars")
    recipes = re.findall(r"^\| Table ([\w.]+): .*?\| (`.*`) \|$", DOCS, re.MULTILINE)
    assert [name for name, _ in recipes] == ["2", "3", "5", "D.1"]
    for key, (_, recipe) in zip(keys, recipes, strict=True):
        text = "\n".join(re.findall(r"`([^`]+)`", recipe))
        for said, small in (
            ("knn", "fixed"),
            ("2, 5]", "1]"),
            ("transformers:qa=MODEL", "lexical"),
        ):
            text = text.replace(said, small)
        model = "" if "engine:" in text else "engine: transformers:m\n"
        train = f"train: {DATA}\n" if "shots:" in text else ""
        result = bench(f"{model}{train}{text}\nout: {key}\n", "--json", "--limit", "1")
        assert {cell["state"] for cell in cells_of(result).values()} == {"done"}
        assert key in {table.key for table in make_report(load_runs(Path(key))).tables}
