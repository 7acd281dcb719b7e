"""`semqa eval tofueval`, as a user gives it; the judge is the lexical one, which needs no model."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from semqa.data.jsonl import write_jsonl
from tests.attribution.commands import Command, command_in
from tests.engines.openai.server import Answer, Asked, serving

DOCUMENTS = [
    {
        "doc_id": "d1",
        "source": "LEE: The council votes on the bridge on Monday.\n"
        "ORTIZ: The repair costs two million dollars. The state pays half of it.",
    },
    {"doc_id": "d2", "source": "HOST: The mill closed in 1998. Rents rose that year."},
]
SUMMARIES = [
    {
        "doc_id": "d1",
        "topic": "Bridge",
        "model_name": "a",
        "summary": "The council votes on the bridge on Monday. The repair costs nine million dollars.",
    },
    {"doc_id": "d2", "topic": "Mill", "model_name": "b", "summary": "The mill closed in 1998."},
]
HEADER = ["doc_id", "topic", "model_name", "sent_idx", "summ_sent", "sent_label", "exp", "type"]


def write_table(path: Path, rows: list[list[str]], header: list[str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@pytest.fixture
def semqa(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    write_jsonl(tmp_path / "docs.jsonl", DOCUMENTS)
    write_jsonl(tmp_path / "summaries.jsonl", SUMMARIES)
    rows = [
        ["d1", "Bridge", "a", "1", SUMMARIES[0]["summary"].split(". ")[0] + ".", "yes", "", ""],
        [
            "d1",
            "Bridge",
            "a",
            "2",
            "The repair costs nine million dollars.",
            "no",
            "",
            "Contradiction",
        ],
        ["d1", "Bridge", "Model-Extra", "1", "The state pays all.", "no", "", "Contradiction"],
        ["d2", "Mill", "b", "1", "The mill closed in 1998.", "yes", "", ""],
    ]
    for split in ("dev", "test"):
        write_table(tmp_path / f"toy_factual_eval_{split}.csv", rows, HEADER)
    (tmp_path / "toy_topic_category.json").write_text('{"Bridge": "main", "Mill": "marginal"}')
    points = [
        ["d1", "Bridge", "['1. The council votes on Monday.', '2. A ship sank.']"],
        ["d2", "Mill", ""],
    ]
    write_table(tmp_path / "toy_completeness.csv", points, ["doc_id", "topic", "key_points"])
    run = command_in(tmp_path, monkeypatch, capsys)
    return lambda *args: run("eval", "tofueval", *args)


def test_rates(semqa: Command) -> None:
    files = ("toy_factual_eval_dev.csv", "toy_factual_eval_test.csv")
    found = semqa("rates", *files, "--topics", "toy_topic_category.json", "--json")
    assert "left out: 2 sentences by Model-Extra" in found.err
    rates = {
        tuple(rate[name] for name in ("dataset", "category", "split", "model", "level")): rate
        for rate in found.json["rates"]
    }
    assert rates["toy", "main", "dev", "all", "sentence"]["percent"] == 50
    assert rates["toy", "main", "all", "a", "sentence"]["errors"] == 2
    assert rates["toy", "all", "test", "all", "summary"]["percent"] == 50
    assert found.json["errors"]["exploded"] == {"Contradiction": 2}
    table = semqa("rates", *files, "--topics", "toy_topic_category.json").out
    assert "marginal" in table
    assert "Contradiction" in table


def replies(asked: Asked) -> Answer:
    """What a model may answer to each of the prompts."""
    text = asked.body["messages"][-1]["content"]
    if "Reply with one number" in text:
        return Answer("4")
    return Answer("No" if "nine million" in text else "Yes")


@pytest.fixture
def model() -> Iterator[tuple[str, ...]]:
    """Options that choose a model behind an endpoint, which answers by `replies`."""
    with serving(replies) as server:
        yield ("--judge", "engine:openai:m", "--judge-url", server.url)


@pytest.mark.parametrize("method", ["explained", "entailment"])
def test_judge_then_score(semqa: Command, method: str, model: tuple[str, ...]) -> None:
    files = ("toy_factual_eval_dev.csv", "toy_factual_eval_test.csv")
    options = ("--method", method, *(model if method != "entailment" else ()))
    judged = semqa("judge", *files, "-d", "docs.jsonl", *options, "-o", "j.json")
    assert judged.code == 0
    assert "inconsistent" in judged.out
    found = semqa("score", *files, "-p", "j.json", "--topics", "toy_topic_category.json", "--json")
    (evaluator,) = found.json["results"]["evaluators"]
    assert evaluator["scored"] == (method == "entailment")
    cells = {(c["dataset"], c["category"], c["level"]): c for c in evaluator["runs"][0]["cells"]}
    assert cells["toy", "all", "sentence"]["balanced_accuracy"] == 100
    assert cells["toy", "main", "summary"]["tp"] == 1


def test_evaluators_are_compared_with_the_first(semqa: Command, model: tuple[str, ...]) -> None:
    files = ("toy_factual_eval_dev.csv", "toy_factual_eval_test.csv")
    semqa("judge", *files, "-d", "docs.jsonl", "-o", "entailed.json")
    semqa("judge", *files, "-d", "docs.jsonl", "--method", "direct", "-o", "asked.json", *model)
    options = ("-p", "entailed.json", "-p", "asked.json", "--resamples", "200")
    found = semqa("score", *files, *options, "--json").json
    (sentence, summary) = found["results"]["tests"]
    assert (sentence["level"], sentence["difference"]) == ("sentence", 0)
    assert summary["a"] == "asked"
    assert "against the first" in semqa("score", *files, *options).out


def test_kappa_is_correlated_with_balanced_accuracy(semqa: Command) -> None:
    """Three sentences are annotated yes, no, yes; each evaluator has two runs."""
    runs = {
        "a": (("yes", "no", "yes"), ("no", "no", "yes")),
        "b": (("yes", "no", "yes"), ("yes", "no", "yes")),
        "c": (("yes", "no", "no"), ("no", "no", "yes")),
    }
    texts = (("d1", "Bridge", "a", 1), ("d1", "Bridge", "a", 2), ("d2", "Mill", "b", 1))
    for name, labels in runs.items():
        rows = [
            f"{doc},{topic},{model},{n}.0,{label},{run}"
            for run, given in enumerate(labels)
            for (doc, topic, model, n), label in zip(texts, given, strict=True)
        ]
        head = "doc_id,topic,model_name,sent_idx,label,run"
        Path(f"{name}.csv").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    score = ("score", "toy_factual_eval_test.csv", "-p", "a.csv", "-p", "b.csv", "-p", "c.csv")
    results = semqa(*score, "--json").json["results"]
    found = results["kappa_and_bacc"]
    first = results["evaluators"][0]
    assert first["self_agreement"]["mean"]["value"] == pytest.approx(0.4)
    means = {(c["category"], c["level"]): c["balanced_accuracy"] for c in first["mean"]}
    assert means["all", "sentence"] == 87.5
    # Kappa and BAcc: a 0.4 and 87.5, b 1 and 100, c -0.5 and 75.
    kappas, accuracies = (0.4, 1, -0.5), (87.5, 100, 75)
    pearson = statistics.correlation(kappas, accuracies)
    assert found == {"toy": {"n": 3, "pearson": pytest.approx(pearson), "spearman": 1}}
    shown = semqa(*score).out
    assert "kappa between runs, toy: 0.400" in shown
    assert "kappa and BAcc of 3 evaluators, toy: Pearson 0.993" in shown


def test_scores_of_another_metric_come_as_a_column_of_the_released_file(semqa: Command) -> None:
    lines = Path("toy_factual_eval_test.csv").read_text(encoding="utf-8").splitlines()
    scored = [lines[0] + ",score", *(f"{line},{n / 10}" for n, line in enumerate(lines[1:]))]
    Path("summac.csv").write_text("\n".join(scored) + "\n", encoding="utf-8")
    found = semqa(
        "score", "toy_factual_eval_test.csv", "-p", "summac.csv", "--threshold", "0.05", "--json"
    ).json["results"]["evaluators"]
    assert [(each["name"], each["scored"]) for each in found] == [("summac", True)]
    (cell,) = (
        c
        for c in found[0]["runs"][0]["cells"]
        if (c["dataset"], c["category"], c["level"]) == ("toy", "all", "sentence")
    )
    assert (cell["n"], cell["fp"]) == (3, 1)  # without Model-Extra
    Path("summac.csv").write_text("\n".join([scored[0], lines[1] + ",", *scored[2:]]) + "\n")
    some = ("score", "toy_factual_eval_test.csv", "-p", "summac.csv", "--threshold", "0.05")
    (found,) = semqa(*some, "--json").json["results"]["evaluators"]
    assert found["scored"], "the annotators' label is no prediction where a score is missing"
    Path("summac.csv").write_text("\n".join([scored[0], lines[1] + ",x"]) + "\n")
    failed = semqa("score", "toy_factual_eval_test.csv", "-p", "summac.csv")
    assert "summac.csv:2: score must be a number" in failed.err


def test_repeated_runs_sample_at_the_papers_temperature(semqa: Command) -> None:
    """Section 5: three runs at temperature 0.7, and Cohen's kappa between them."""

    def reply(asked: Asked) -> Answer:
        said = "No" if asked.body["seed"] == 2 else "Yes"
        return Answer('{"answer": "' + said + '"}')

    with serving(reply) as server:
        judged = ("judge", "summaries.jsonl", "-d", "docs.jsonl", "--method", "direct")
        url = ("--judge-url", server.url)
        done = semqa(*judged, "--judge", "engine:openai:m", *url, "--runs", "3", "-o", "runs.json")
        assert done.code == 0, done.err
        asked = [each.body for each in server.asked]
        assert {(body["temperature"], body["seed"]) for body in asked} == {
            (0.7, 1),
            (0.7, 2),
            (0.7, 3),
        }
        assert all(body["response_format"]["type"] == "json_schema" for body in asked)
        again = semqa(*judged, "--judge", "engine:openai:m,temperature=0.3,seed=9", *url)
        assert again.code == 0, again.err
        body = server.asked[-1].body
        assert (body["model"], body["temperature"], body["seed"]) == ("m", 0.3, 9)
    scored = semqa("score", "toy_factual_eval_test.csv", "-p", "runs.json", "--allow-missing")
    assert "kappa between runs, toy:" in scored.out
    assert semqa(*judged, "--runs", "3").code == 2  # no language model


def test_completeness_and_relevance(semqa: Command, model: tuple[str, ...]) -> None:
    asked = ("completeness", "summaries.jsonl", "-k", "toy_completeness.csv")
    found = semqa(*asked, "--json").json
    assert found["results"]["a"]["value"] == 0.5
    assert found["results"]["b"]["reasons"] == {"the topic has no key points": 1}
    assert "50.0% of key points, over 1 summaries" in semqa(*asked).out
    rated = semqa("relevance", "summaries.jsonl", "--json", *model).json["results"]
    assert rated["all"] == {"n": 2, "relevance": 1, "unread": 0}


def test_mistakes(semqa: Command) -> None:
    def message(*args: str) -> str:
        found = semqa(*args)
        assert (found.code, found.out) == (2, ""), found
        return found.err

    test = "toy_factual_eval_test.csv"
    write_jsonl(Path("d2.jsonl"), DOCUMENTS[1:])
    write_jsonl(
        Path("p.jsonl"),
        [{"doc_id": "d1", "topic": "Bridge", "model_name": "a", "sent_idx": 1, "label": "yes"}],
    )
    assert "Name at" in message("rates")
    assert "--predictions" in message("score", test)
    assert "left out" in message("score", test, "-p", "p.jsonl")
    assert semqa("score", test, "-p", "p.jsonl", "--allow-missing").code == 0
    assert "--split must be test or all" in message(
        "score", test, "-p", "p.jsonl", "--split", "train"
    )
    assert "No documents" in message("judge", test)
    assert "not found" in message("judge", test, "-d", "d2.jsonl")
    assert "no topic of the dataset 'toy'" in message(
        "rates", test, "--topics", _renamed("toy_topic_category.json", "other_topic_category.json")
    )
    assert "--key-points has no row for the document 'd1'" in message(
        "completeness",
        "summaries.jsonl",
        "-k",
        _renamed("toy_completeness.csv", "k.csv", "d1", "d9"),
    )


def _renamed(path: str, name: str, old: str = "", new: str = "") -> str:
    text = Path(path).read_text("utf-8")
    Path(name).write_text(text.replace(old, new) if old else text, encoding="utf-8")
    return name
