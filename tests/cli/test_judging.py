"""Commands with a judge: `answer --check`, `bench --judge`, `eval auto-ais`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from semqa.cli.eval.judging import JudgeOptions, judge_progress
from tests.cli.conftest import EXAMPLES, Command
from tests.engines.openai.server import Answer, serving

DATA = EXAMPLES / "quotesum.jsonl"
SOURCE = b"Bing Crosby sang it in 1942. It sold well."
CHECK = ("answer", "Who sang it?", "--check", "--judge-cache", "kept")
LINES: list[dict[str, Any]] = [
    {
        "qid": "q1",
        "question": "Who sang it?",
        "answer": "[ 1 Bing Crosby ] sang it in 1942. [ 1 Bing Crosby ] never sang it. He is dead.",
        "sources": [{"text": "Bing Crosby sang it in 1942.", "title": "Song"}],
    },
    {"id": "two", "answer": "It sold [1].", "sources": [{"text": "It sold well."}]},
]


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_check_shows_the_judge_and_the_verification(semqa: Command) -> None:
    told = semqa(*CHECK, "--format", "terminal", stdin=SOURCE)
    assert told.code == 0
    assert "✓ 1 quote, verified character for character." in told.out
    assert "Judged by lexical (a judgement, not a verification): 1 supported." in told.out
    record = semqa(*CHECK, "--json", stdin=SOURCE).json
    assert record["verified"] is True
    checks = record["checks"]
    assert (checks["judge"], checks["supported"]) == ("lexical", True)
    (sentence,) = checks["sentences"]
    assert sentence["sources"] == [1]
    assert sentence["text"] == record["plain"][sentence["plain_start"] : sentence["plain_end"]]
    assert "checks" not in semqa(*CHECK[:2], "--json", stdin=SOURCE).json


def test_pages_show_the_judgement_and_texts_stay_alone(semqa: Command) -> None:
    page = semqa(*CHECK, "--format", "html", stdin=SOURCE).out
    assert 'aria-label="Judgement"' in page
    assert "<b>✓ supported</b>" in page
    text = semqa(*CHECK, "--format", "markdown", stdin=SOURCE).out
    assert "**supported** Bing Crosby" in text
    plain = semqa(*CHECK, "--format", "plain", stdin=SOURCE)
    assert plain.out == semqa(*CHECK[:2], "--format", "plain", stdin=SOURCE).out
    assert plain.err == "Judged by lexical (a judgement, not a verification): 1 supported.\n"


def test_judge_errors_come_before_answers(fails: Callable[..., str]) -> None:
    assert "Judge 'lexicon'" in fails(*CHECK, "--judge", "lexicon", stdin=SOURCE)
    unknown = fails(*CHECK, "--judge", "engine:openai:x", "--judge-url", "nowhere", stdin=SOURCE)
    assert unknown.startswith("error: --judge-url must be an http")
    both = fails(*CHECK, "--no-judge-cache", stdin=SOURCE)
    assert "--no-judge-cache" in both


def test_a_model_behind_an_endpoint_judges(semqa: Command) -> None:
    with serving(Answer("**Contradiction**, I say.")) as server:
        given = ("--judge", "engine:openai:tiny", "--judge-url", server.url, "--json")
        told = semqa(*CHECK, *given, stdin=SOURCE)
        assert told.code == 0, told.err
        asked = len(server.asked)
        assert asked
        assert server.asked[-1].body["temperature"] == 0
        (sentence,) = told.json["checks"]["sentences"]
        assert sentence["support"] == "not supported"
        assert sentence["entailment"]["contradiction"] == 1
        # Cached judgements are not requested again.
        assert semqa(*CHECK, *given, stdin=SOURCE).json["checks"] == told.json["checks"]
        assert len(server.asked) == asked
    with serving(Answer("Well …")) as server:
        given = ("--judge", "engine:openai:tiny", "--judge-url", server.url, "--json")
        told = semqa(*CHECK, *given, stdin=SOURCE)
        assert told.json["checks"]["sentences"][0]["support"] == "unclear"
        assert told.err == "1 reply of the judge could not be parsed, and counts as neutral\n"


def test_a_custom_prompt_is_used(semqa: Command, tmp_path: Path) -> None:
    write(tmp_path / "answers.jsonl", *LINES[1:])
    (tmp_path / "own.jinja").write_text("{{ premise }} => {{ hypothesis }}", encoding="utf-8")
    run = ("eval", "auto-ais", "answers.jsonl", "--no-judge-cache", "--prompt", "own.jinja")
    with serving(Answer("entailment")) as server:
        found = semqa(*run, "--judge", "engine:openai:tiny", "--judge-url", server.url, "--json")
        assert found.json["results"]["sentences"] == 100, found.err
        asked = server.asked[-1].body["messages"][-1]["content"]
        assert asked == "It sold well. => It sold."
    refused = semqa(*run)
    assert (refused.code, "--prompt needs a language model" in refused.err) == (2, True)


def test_auto_ais_judges_answers_with_their_sources(semqa: Command, tmp_path: Path) -> None:
    write(tmp_path / "answers.jsonl", *LINES)
    run = ("eval", "auto-ais", "answers.jsonl", "--judge-cache", "kept")
    told = semqa(*run)
    assert told.code == 0, told.err
    assert re.search(r"sentences supported +50\.00 .* 4 ", told.out)
    assert "sentences: 2 supported, 2 not supported, 0 unclear" in told.out
    record = semqa(*run, "--json", "--out", "record.json").json
    assert record == json.loads((tmp_path / "record.json").read_text(encoding="utf-8"))
    assert [each["id"] for each in record["rows"]] == ["q1", "two"]
    unclear = semqa(*run, "--margin", "0.5").out
    assert "sentences: 0 supported, 1 not supported, 3 unclear" in unclear
    sentences = record["rows"][0]["checks"]["sentences"]
    assert [each["support"] for each in sentences] == ["supported", *["not supported"] * 2]


def test_auto_ais_takes_predictions_with_references(semqa: Command, tmp_path: Path) -> None:
    semqa("bench", "quotesum", "--data", DATA, "--out", "run")
    run = ("eval", "auto-ais", "run/examples.jsonl", "-r", DATA, "--no-judge-cache")
    found = semqa(*run, "--json").json
    assert found["results"]["n"]["answers"] == 3
    lines = (tmp_path / "run/examples.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "fewer.jsonl").write_text("\n".join(lines[:2]) + "\n", encoding="utf-8")
    fewer = ("eval", "auto-ais", "fewer.jsonl", "-r", DATA, "--no-judge-cache", "--json")
    told = semqa(*fewer)
    assert (told.code, "1 of 3 questions have no prediction" in told.err) == (2, True)
    assert semqa(*fewer, "--allow-missing").json["results"]["n"]["answers"] == 2


def test_a_run_is_judged_when_it_is_done_or_later(semqa: Command, tmp_path: Path) -> None:
    run = ("bench", "quotesum", "--data", DATA, "--out", "run", "--judge-cache", "kept")
    assert "--judge-cache needs --judge" in semqa(*run).err
    plain = semqa(*run[:-2], "--json").json
    assert "judged" not in plain
    judged = semqa(*run, "--judge", "lexical", "--json").json
    assert judged["results"] == plain["results"]
    found = judged["judged"]
    assert found["judge"] == "lexical"
    assert found["auto_ais"]["n"]["answers"] == found["citation_recall"]["n"] == 3
    rows = (tmp_path / "run/judged.jsonl").read_text(encoding="utf-8").splitlines()
    sentences = [s for row in rows for s in json.loads(row)["checks"]["sentences"]]
    supported = sum(sentence["support"] == "supported" for sentence in sentences)
    assert found["auto_ais"]["sentences"] == pytest.approx(100 * supported / len(sentences))
    recalls = [json.loads(row)["citations"]["recall"] for row in rows]
    assert found["citation_recall"]["value"] == pytest.approx(sum(recalls) / len(recalls))
    assert "judged by lexical" in semqa(*run, "--judge", "lexical").out


@pytest.mark.parametrize("kept", [True, False])
def test_interrupting_a_judge_reports_cached_judgements(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kept: bool
) -> None:
    judge = JudgeOptions("lexical", tmp_path if kept else None, not kept).open()
    with pytest.raises(KeyboardInterrupt), judge_progress(judge, "judging"):
        raise KeyboardInterrupt
    judge.close()
    told = capsys.readouterr().err
    assert ("run the same command again" in told) is kept
