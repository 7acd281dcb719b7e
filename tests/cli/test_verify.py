"""`semqa verify`: exit 0 only if all quotes are in their sources, or on an abstention."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from semqa.quotes import ABSTENTION
from tests.cli.conftest import EXAMPLES, Command
from tests.server.serving import APIS, asking, client

ANTARCTICA = EXAMPLES / "antarctica.jsonl"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("[2 Børge Ousland]", "quote 1 (misattributed): “Børge Ousland”: source 2 does not contain this text; it appears in source 1"),
        ("[1 Borge Ousland]", "quote 1 (fabricated): “Borge Ousland”: source 1 does not contain this text, nor does any other; nearest is “Børge Ousland” in source 1 (92% similar)"),
        ("[9 zzzz]", "quote 1 (fabricated): “zzzz”: there is no source 9"),
        ("ok [1 Ousland] but [ 1 never", "quote 2 (malformed): “[ 1 never”: its closing bracket is missing"),
    ],
)  # fmt: skip
def test_which_and_why(semqa: Command, answer: str, said: str) -> None:
    outcome = semqa("verify", "--sources", ANTARCTICA, stdin=answer.encode())
    assert outcome.code == 1
    assert said in outcome.out


def test_json(semqa: Command) -> None:
    outcome = semqa("verify", "--sources", ANTARCTICA, "--json", stdin=b"[1 1997] [1 1998]")
    assert outcome.code == 1
    record = outcome.json
    assert record["verified"] is False
    assert [quote["status"] for quote in record["quotes"]] == ["verified", "fabricated"]
    assert record["quotes"][1]["nearest"]["source"] == 1


def test_a_record_includes_its_sources(semqa: Command, tmp_path: Path) -> None:
    made = semqa("answer", "Who crossed Antarctica?", "--sources", ANTARCTICA, "--json").out
    whole = semqa("verify", "--json", stdin=made.encode())
    assert (whole.code, whole.json["answer"]) == (0, json.loads(made)["answer"])
    # Named sources replace those of the record.
    (tmp_path / "other.txt").write_text("It rained.", encoding="utf-8")
    assert semqa("verify", "--source", "other.txt", stdin=made.encode()).code == 1
    # A server leaves out unquoted sources, and gives the numbers of the others.
    part = {"answer": '[ 3 He said "yes" ]', "sources": [{"number": 3, "text": 'He said "yes".'}]}
    assert semqa("verify", stdin=json.dumps(part).encode()).code == 0
    part["answer"] = "[ 1 He said ]"
    lost = semqa("verify", stdin=json.dumps(part).encode())
    assert (lost.code, "appears in source 3" in lost.out) == (1, True)


@pytest.mark.parametrize("path", APIS)
def test_a_whole_reply_of_a_server_can_be_checked(semqa: Command, path: str) -> None:
    source = {"text": "It was opened in 1932."}
    with client() as server:
        body = asking(path, "When was the bridge opened?", source["text"])
        reply = server.post(path, json=body).text
    checked = semqa("verify", "--json", stdin=reply.encode())
    assert (checked.code, checked.json["verdict"]) == (0, "quoted")
    assert checked.json["quotes"][0]["text"] == "It was opened in 1932."
    changed = reply.replace("[ 1 It was opened in 1932. ]", "[ 1 It was opened in 1933. ]")
    assert semqa("verify", stdin=changed.encode()).code == 1
    # The question is part of it: its words between quotes claim nothing.
    words = reply.replace("[ 1 It was", "The bridge: [ 1 It was")
    assert semqa("verify", "--json", stdin=words.encode()).json["verdict"] == "quoted"
    lines = "".join(f"{json.dumps({**json.loads(reply), 'id': name})}\n" for name in "ab")
    shown = semqa("verify", stdin=lines.encode()).out.splitlines()
    assert [line[:3] for line in shown] == ["a: ", "b: "]


@pytest.mark.parametrize("numbers", [[0], [1, 1], [10**9]])
def test_numbers_of_a_records_sources_are_checked(
    fails: Callable[..., str], numbers: list[int]
) -> None:
    sources = [{"number": number, "text": "It rained."} for number in numbers]
    record = json.dumps({"answer": "[ 1 It rained. ]", "sources": sources})
    assert "number must be" in fails("verify", stdin=record.encode())


@pytest.mark.parametrize("text", ["", "It was the one who did it. [sic]"])
def test_nothing_quoted_does_not_pass(semqa: Command, text: str) -> None:
    outcome = semqa("verify", "--sources", ANTARCTICA, stdin=text.encode())
    assert outcome.code == 1
    assert "Nothing is quoted" in outcome.out
    record = semqa("verify", "--sources", ANTARCTICA, "--json", stdin=text.encode()).json
    assert (record["verdict"], record["verified"]) == ("unquoted", False)


def test_an_abstention_passes_as_such(semqa: Command) -> None:
    outcome = semqa("verify", "--sources", ANTARCTICA, "--json", stdin=f"{ABSTENTION}\n".encode())
    assert outcome.code == 0
    assert (outcome.json["verdict"], outcome.json["verified"]) == ("abstained", False)
    record = json.dumps({"answer": ABSTENTION, "sources": []})  # as a server sends it
    assert semqa("verify", stdin=record.encode()).code == 0


@pytest.mark.parametrize("name", ["answer", "prediction"])
def test_a_record_without_sources_is_not_taken_for_an_answer(
    semqa: Command, tmp_path: Path, name: str
) -> None:
    record: dict[str, object] = {"qid": "1", name: "[ 1 Ann ]"}
    (tmp_path / "ann.txt").write_text("Ann was here.", "utf-8")
    for lines in ([record], [record, {**record, "qid": "2"}]):
        (tmp_path / "p.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in lines), "utf-8")
        outcome = semqa("verify", "p.jsonl", "--source", "ann.txt")
        assert (outcome.code, outcome.out) == (2, "")
        assert "sources" in outcome.err
    record["sources"] = [{"text": "Ann was here."}]
    assert semqa("verify", stdin=json.dumps(record).encode()).code == 0


def test_answers_to_many_questions(semqa: Command, tmp_path: Path) -> None:
    sources = [{"text": "Ann was here."}]
    records = [{"id": n, "answer": f"[ 1 {n} ]", "sources": sources} for n in ("Ann", "Bob")]
    (tmp_path / "many.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in records), "utf-8")
    outcome = semqa("verify", "many.jsonl")
    assert outcome.code == 1
    assert "Ann: ✓ 1 quote, verified" in outcome.out
    assert "Bob: quote 1 (fabricated)" in outcome.out
    lines = [json.loads(line) for line in semqa("verify", "many.jsonl", "--json").out.splitlines()]
    assert [(line["id"], line["verified"]) for line in lines] == [("Ann", True), ("Bob", False)]
