"""The verdict of an answer in every API, also for models that do not quote."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from typing import Any

import pytest

from semqa import QuotedAnswer, Source
from semqa.engines.base import Generation
from semqa.prompting import PromptBuilder
from semqa.quotes import ABSTENTION
from semqa.quotes.repair import Repairer, repair
from tests.server.serving import client
from tests.server.stand_ins import Scripted, Written

SOURCES = [Source("The drug is safe."), Source("Colin O'Brady crossed Antarctica in 2018.")]
QUESTION = "Who crossed Antarctica?"


class Repaired(Written):
    """Writes a text whose quotes are repaired."""

    name = "repaired"

    def answer(self, question: str, sources: Sequence[Source], history: Any = ()) -> QuotedAnswer:
        return repair(self.text, sources)


class RepairedStream(Scripted):
    """The same, streamed."""

    name = "repaired:x"

    def stream(
        self, question: str, sources: Sequence[Source], history: Any = ()
    ) -> Generator[str, None, Generation | None]:
        repairer, shown = Repairer(sources), ""
        for piece in (*self.pieces, None):
            text = repairer.end() if piece is None else repairer.add(piece)
            shown += text
            yield text
        prompt = PromptBuilder("zero-shot").build(question, sources)
        return Generation(shown, prompt, 1, 1, finished=True, repairs=repairer.repairs)


def request_to(path: str, engine: str, stream: bool) -> dict[str, Any]:
    listed = [{"text": source.text} for source in SOURCES]
    if path == "/v1/answers":
        return {"question": QUESTION, "sources": listed, "engine": engine, "stream": stream}
    if path == "/v1/chat/completions":
        asked = [{"role": "user", "content": QUESTION}]
        return {"messages": asked, "sources": listed, "model": engine, "stream": stream}
    documents = [
        {"type": "document", "source": {"type": "text", "data": source.text}} for source in SOURCES
    ]
    content = [*documents, {"type": "text", "text": QUESTION}]
    return {"messages": [{"role": "user", "content": content}], "model": engine, "stream": stream}


def details(path: str, reply: str, stream: bool) -> dict[str, Any]:
    """The details of a reply, or of the last events of a stream."""
    if not stream:
        told = json.loads(reply)
        return dict(told if path == "/v1/answers" else told["semqa"])
    data = [line[6:] for line in reply.splitlines() if line.startswith("data: {")]
    events = [json.loads(each) for each in data]
    if path == "/v1/answers":
        return dict(events[-1])
    return dict(next(each["semqa"] for each in events if "semqa" in each))


PATHS = ["/v1/answers", "/v1/chat/completions", "/v1/messages"]
EVERYWHERE = pytest.mark.parametrize("path", PATHS)
BOTH_WAYS = pytest.mark.parametrize("stream", [False, True])


@EVERYWHERE
@BOTH_WAYS
@pytest.mark.parametrize(
    ("text", "verdict", "claims"),
    [
        ("[ 2 Colin O'Brady ] crossed Antarctica in [ 2 2018 ].", "quoted", []),
        ("[ 2 Colin O'Brady ] is a British meteorologist.", "unquoted", ["British meteorologist"]),
        ("Colin O'Brady crossed it.", "unquoted", ["Colin O'Brady crossed"]),
        ("The answer is: The answer is: The answer is:", "unquoted", []),
        ("[ 2 Ranulph Fiennes ]", "unverified", []),
        ("[ 1 Colin O'Brady ] [1]", "unverified", []),
        (ABSTENTION, "abstained", []),
    ],
)
def test_verdict(path: str, stream: bool, text: str, verdict: str, claims: list[str]) -> None:
    pieces = [text[:7], text[7:20], text[20:]]
    with client(Scripted(pieces) if stream else Written(text)) as server:
        engine = "scripted:x" if stream else "written"
        reply = server.post(path, json=request_to(path, engine, stream)).text
    told = details(path, reply, stream)
    assert told["verdict"] == verdict
    assert told["verified"] is (verdict == "quoted")
    assert told["abstained"] is (verdict == "abstained")
    assert [claim["text"] for claim in told["claims"]] == claims
    assert told["dropped"] == []
    assert ('"verified":true' in reply) == (verdict == "quoted")


@EVERYWHERE
@BOTH_WAYS
def test_dropped_marks_are_reported(path: str, stream: bool) -> None:
    made: Written = RepairedStream(["The [ 1 drug is", " not safe ]."])
    if not stream:
        made = Repaired("The [ 1 drug is not safe ].")
    with client(made) as server:
        reply = server.post(path, json=request_to(path, made.name, stream)).text
    told = details(path, reply, stream)
    assert (told["verdict"], told["verified"], told["abstained"]) == ("unverified", False, False)
    (mark,) = told["dropped"]
    assert mark["text"] == "drug is not safe"
    assert "source 1 does not contain this text" in mark["reason"]
    assert "The drug is not safe."[mark["plain_start"] : mark["plain_end"]] == mark["text"]
