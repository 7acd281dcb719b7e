"""Follow-up questions, their sources, and stored conversations."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from semqa.errors import NotFoundError
from semqa.history import Exchange, earlier_questions, in_context, stands_alone
from semqa.retrieval.passages import Library as Real
from semqa.server import work
from tests.server.serving import APIS, asking, client, serving
from tests.server.stand_ins import Conversation, Info, Library, Scripted, Store, Written

BRIDGE, TOWER = "The bridge opened in 1932.", "The tower opened in 1889."


FOLLOW_UPS = """What about the tower in Paris?
Ok, and the kitchen?
When was it opened?
Why?
How much does that cost?
For how long?
Tell me more.
Are there others?
The second one?
But what about Sunday?
Und die Kaution?
Et le prix ?
¿Y el depósito?"""

WHOLE = """When was the Sydney Harbour Bridge opened?
Wer baute die Brücke in Sydney?
Hello, who is the chair?
Are there showers?
How high is the rent?
How much does a roof cost?
Is smoking allowed?
What does E23 mean?
Why is the fan blocked?
Opening hours?
Wie hoch ist die Kaution?
Qui est le propriétaire ?
¿Quién es el propietario?"""


def test_a_follow_up_needs_the_earlier_question() -> None:
    assert not [question for question in FOLLOW_UPS.splitlines() if stands_alone(question)]
    assert [
        question for question in WHOLE.splitlines() if stands_alone(question)
    ] == WHOLE.splitlines()


@pytest.mark.parametrize(
    ("earlier", "question", "context"),
    [
        ("How much is the deposit?", "And the rent?", "How much is the rent?"),
        ("how much is the deposit", "ok, and the rent", "how much is the rent"),
        ("How much is the deposit for this flat?", "What about a garage?", "How much is a garage for this flat?"),
        ("How long is the bridge?", "And my boat?", "How long is my boat?"),
        # Otherwise the earlier question stays as it is.
        ("Who built the Harbour Bridge?", "And the architect?", "Who built the Harbour Bridge?"),
        ("What is the price of a key?", "And a parking space?", "What is the price of a key?"),
        ("How much is the deposit?", "And the reason?", "How much is the deposit?"),
        ("How much is the deposit?", "And the other one?", "How much is the deposit?"),
        ("When is the deposit returned?", "And the rent?", "When is the deposit returned?"),
        ("How much is the deposit?", "And when?", "How much is the deposit?"),
    ],
)  # fmt: skip
def test_a_follow_up_about_another_thing(earlier: str, question: str, context: str) -> None:
    assert earlier_questions(question, [Exchange(earlier)]) == [context]


def test_an_answer_about_another_thing_leaves_out_the_first() -> None:
    lease = [
        {"text": "Deposit: 1,280 pounds\n\nRent: 640 pounds"},
        {"text": "Service charge: 80 pounds a month. The deposit is not used for it."},
    ]
    history = [{"role": "user", "content": "How much is the deposit?"}]
    body = {"question": "And the service charge?", "sources": lease, "history": history}
    with client() as server:
        reply = server.post("/v1/answers", json=body).json()
    assert reply["understood"] == "And the service charge? (How much is the service charge?)"
    assert reply["plain"].startswith("Service charge: 80 pounds a month.")
    assert "1,280" not in reply["plain"]


def test_context_goes_back_to_the_last_question_that_stands_alone() -> None:
    history = [
        Exchange("Who built the tower of Paris?", "Eiffel did."),
        Exchange("Who built the bridge of Sydney?", "Bradfield did."),
        Exchange("When was it opened?", "1932."),
    ]
    assert in_context("And by whom?", history) == (
        "And by whom? (Who built the bridge of Sydney? When was it opened?)"
    )
    assert in_context("When was the tower of London built?", history) == (
        "When was the tower of London built?"
    )
    assert in_context("Why?", []) == "Why?"
    assert len(in_context("Why?", [Exchange("long words " * 1000)])) < 600


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("said", ["Ok!", "Vielen Dank"])
def test_courtesies_are_not_answered_with_quotes(said: str, stream: bool) -> None:
    exchange = [
        {"role": "user", "content": "When did the bridge open?"},
        {"role": "assistant", "content": BRIDGE},
    ]
    messages = [*exchange, {"role": "user", "content": said}]
    with client(library=Library(all=[BRIDGE])) as server:
        for path, body in (
            ("/v1/answers", {"question": said, "history": exchange}),
            ("/v1/chat/completions", {"messages": messages}),
            ("/v1/responses", {"model": "semqa", "input": messages}),
            ("/v1/messages", {"messages": messages}),
        ):
            reply = server.post(path, json={**body, "stream": stream})
            assert reply.status_code == 200
            assert "This is not a question." in reply.text
            assert '"verdict":"abstained"' in reply.text
            assert '"quotes":[]' in reply.text


def ask(server: TestClient, question: str, **more: Any) -> Any:
    reply = server.post("/v1/answers", json={"question": question, **more})
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_without_a_collection_all_are_searched() -> None:
    library = Library(bridges=[BRIDGE], towers=[TOWER, "Towers stand."])
    with client(library=library) as server:
        for question, name in (
            ("When did the bridge open?", "bridges"),
            ("When did the tower open?", "towers"),
        ):
            final = ask(server, question)
            (source,) = final["sources"]
            assert (source["collection"], source["document_id"]) == (name, "d0")
            assert source["page"] is None
            assert source["text"][source["start"] : source["end"]] == source["text"]


@pytest.mark.parametrize("path", APIS[:3])
def test_an_empty_list_of_sources_does_not_search_all_collections(path: str) -> None:
    asked = asking(path, "Who sang?", "")
    library = Library(music=["Bing sang it."])
    with client(library=library) as server:
        reply = server.post(path, json={**asked, "sources": []})
        assert (reply.status_code, reply.json()["error"]["param"]) == (400, "sources")
        for change in ({"sources": [], "collection": "music"}, {"sources": None}):
            assert server.post(path, json={**asked, **change}).status_code == 200


def test_a_follow_up_finds_what_it_asks_for_and_what_it_is_about() -> None:
    library = Library(all=[BRIDGE, TOWER])
    history = [
        {"role": "user", "content": "Who built the bridge?"},
        {"role": "assistant", "content": "[ 1 Bradfield ]"},
    ]
    engine = Written("So.")
    with client(engine, library=library) as server:
        final = ask(server, "What about it and the tower?", history=history)
    assert final["understood"] == "What about it and the tower? (Who built the bridge?)"
    question, sources, said = engine.asked[0]
    assert question == "What about it and the tower?"
    assert said == (Exchange("Who built the bridge?", "Bradfield"),)
    assert {source.text for source in sources} == {BRIDGE, TOWER}


def test_a_collection_and_passages_are_both_answered_from() -> None:
    with client(library=Library(bridges=[BRIDGE])) as server:
        body: dict[str, Any] = {"collection": "bridges", "sources": [{"text": TOWER}]}
        final = ask(server, "When did the bridge and the tower open?", **body)
        assert [(s["number"], s["text"]) for s in final["sources"]] == [(1, TOWER), (2, BRIDGE)]
        assert {quote["source"] for quote in final["quotes"]} == {1, 2}
        del body["collection"]
        for nothing in (body, {**body, "collection": []}):
            alone = ask(server, "When did the bridge and the tower open?", **nothing)
            assert [source["text"] for source in alone["sources"]] == [TOWER]


@pytest.mark.parametrize("renumber", [False, True])
def test_an_abstention_offers_what_is_nearest(renumber: bool) -> None:
    sources = [{"text": "It rained."}, {"text": BRIDGE}]
    with client() as server:
        final = ask(server, "Who invented the telephone?", sources=sources, renumber=renumber)
    assert final["abstained"]
    assert final["quotes"] == []
    assert final["nearest"]
    named = {source["number"]: source["text"] for source in final["sources"]}
    for near in final["nearest"]:
        text = named[near["source"]]
        assert text[near["source_start"] : near["source_end"]] == near["text"]
    assert named.keys() == {near["source"] for near in final["nearest"]}


@pytest.mark.parametrize("stream", [False, True])
def test_a_conversation_is_kept_and_is_the_history(stream: bool) -> None:
    store = Store()
    store.kept["", "c1"] = Conversation()
    engine = Scripted(["[ 1 The bri", "dge ] opened."])
    with client(engine, store=store, library=Library(all=[BRIDGE])) as server:
        for question in ("Who built the bridge?", "When was it?"):
            body = {"question": question, "conversation": "c1", "stream": stream}
            reply = server.post("/v1/answers", json=body)
            assert reply.status_code == 200
    kept = store.kept["", "c1"].messages
    assert [message.role for message in kept] == ["user", "assistant"] * 2
    assert kept[0].content == {"question": "Who built the bridge?"}
    assert kept[1].content["answer"] == "[ 1 The bridge ] opened."
    assert engine.asked[1].question == "When was it?"
    assert engine.asked[1].history == (Exchange("Who built the bridge?", "The bridge opened."),)


def test_a_question_that_fails_is_kept_but_is_no_history() -> None:
    store = Store()
    store.kept["", "c1"] = Conversation()
    broken = Scripted([], fails=RuntimeError("broken"))
    with client(broken, store=store) as server:
        body = {"question": "Who?", "conversation": "c1", "sources": [{"text": "a"}]}
        assert server.post("/v1/answers", json=body).status_code == 500
    assert [message.role for message in store.kept["", "c1"].messages] == ["user"]
    engine = Scripted(["It opened."])
    with client(engine, store=store) as server:
        body = {"question": "When was it?", "conversation": "c1", "sources": [{"text": "a"}]}
        assert server.post("/v1/answers", json=body).status_code == 200
    assert engine.asked[0].history == ()


def test_a_collection_deleted_meanwhile_is_ignored() -> None:
    library = Library(bridges=[BRIDGE], towers=[TOWER])

    class Gone:
        def search(self, query: str, limit: int = 8) -> list[Any]:
            raise NotFoundError(f"removed, {query} and {limit} or not")

    library._held["", "gone"] = Gone()  # type: ignore[assignment]
    listed = library.collections
    library.collections = lambda owner="": [*listed(owner), Info("gone before")]  # type: ignore[method-assign]
    with client(library=library) as server:
        assert "1932" in ask(server, "When was the bridge opened?")["plain"]
        for name in ("gone", "gone before"):
            body = {"question": "When was the bridge opened?", "collection": name}
            assert server.post("/v1/answers", json=body).status_code == 404


def test_a_conversation_knows_the_collections_and_the_engine_it_was_asked_with() -> None:
    store = Store()
    store.kept["", "c"] = Conversation()
    library = Library(bridges=["The bridge was opened in 1932."], towers=["A tower of iron."])
    with client(library=library, store=store) as server:
        body = {"question": "When was the bridge opened?", "conversation": "c"}
        chosen = {"collection": ["bridges", "towers"], "engine": "bm25"}
        reply = server.post("/v1/answers", json={**body, **chosen})
        assert reply.status_code == 200, reply.text
        (asked, answered) = store.kept["", "c"].messages
        assert asked.content["collections"] == ["bridges", "towers"]
        assert asked.content["engine"] == answered.content["engine"] == "bm25"
        lost = server.post("/v1/answers", json={**body, "collection": ["bridges", "none"]})
        assert lost.status_code == 404


def test_a_stopped_answer_is_stored_in_part() -> None:
    store = Store()
    store.kept["", "c"] = Conversation()
    slow = Scripted(["It was [ 1 in 1932", " ], and ", *["more "] * 2_000], delay=0.01)
    body = {
        "question": "When?",
        "sources": [{"text": "Opened in 1932."}],
        "conversation": "c",
        "stream": True,
    }
    with serving(slow, store=store) as url:
        with httpx.stream("POST", f"{url}/v1/answers", json=body, timeout=60) as reply:
            for line in reply.iter_lines():
                if '"more "' in line:
                    break
        until = time.monotonic() + 10
        while len(store.kept["", "c"].messages) < 2:
            assert time.monotonic() < until
            time.sleep(0.02)
    kept = store.kept["", "c"].messages[-1]
    assert kept.role == "assistant"
    assert kept.content["plain"].startswith("It was in 1932, and more")
    assert kept.content["finished"] is False
    assert [quote["text"] for quote in kept.content["quotes"]] == ["in 1932"]


def test_a_question_waits_for_a_document_that_is_still_being_read(tmp_path: Path) -> None:
    library = Real(tmp_path, encoder=False)
    library.create("", "c")
    begun, go_on = threading.Event(), threading.Event()
    collection = type(library.collection("", "c"))
    put = collection.put_all

    def slowly(self: Any, files: Any) -> Any:
        begun.set()
        assert go_on.wait(20)
        return put(self, files)

    question = {"question": "When was the bridge opened?", "collection": "c"}
    with (
        pytest.MonkeyPatch.context() as patch,
        serving(library=library) as url,
        ThreadPoolExecutor(2) as pool,
    ):
        patch.setattr(collection, "put_all", slowly)
        file = {"file": ("a.txt", b"The bridge was opened in 1932.")}
        upload = pool.submit(
            httpx.post, f"{url}/v1/collections/c/documents", files=file, timeout=30
        )
        assert begun.wait(20)
        with pytest.MonkeyPatch.context() as impatient:
            impatient.setattr(work, "UPLOAD_WAIT", 0.1)
            refused = httpx.post(f"{url}/v1/answers", json=question, timeout=30)
        assert refused.status_code == 503
        assert "still being processed" in refused.json()["error"]["message"]
        asked = pool.submit(httpx.post, f"{url}/v1/answers", json=question, timeout=30)
        time.sleep(0.3)
        assert not asked.done()
        go_on.set()
        assert upload.result().status_code == 201
        assert "1932" in asked.result().json()["plain"]
