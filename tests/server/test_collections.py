"""The API of collections."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from semqa.retrieval.passages import Library
from tests.documents import makers
from tests.server import serving
from tests.server.stand_ins import Store

HARBOUR = b"The harbour of Oslo was built in 1890."


def as_(owner: str) -> dict[str, str]:
    return {"Authorization": f"Bearer sk-key-of-{owner}"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    store = Store(**{name: f"sk-key-of-{name}" for name in ("me", "you", "ann", "bob", "eve")})
    with serving.client(library=Library(tmp_path, encoder=False), store=store) as made:
        made.headers |= as_("me")
        yield made


def upload(
    client: TestClient, *files: tuple[str, bytes], collection: str = "notes", **headers: str
) -> Response:
    return client.post(
        f"/v1/collections/{collection}/documents",
        files=[("file", each) for each in files],
        headers=headers,
    )


def test_a_collection_from_making_to_removing(client: TestClient) -> None:
    assert client.get("/v1/collections").json() == {"collections": []}
    made = client.post("/v1/collections", json={"name": "notes"})
    assert made.status_code == 201
    assert made.json()["name"] == "notes"
    sent = upload(client, ("harbour.txt", HARBOUR), ("r.pdf", makers.pdf([["One."], ["Zebras."]])))
    assert sent.status_code == 201
    harbour, report = sent.json()["documents"]
    assert (harbour["kind"], report["kind"]) == ("txt", "pdf")
    assert client.get("/v1/collections/notes/documents").json() == sent.json()
    full = client.get(f"/v1/collections/notes/documents/{report['id']}").json()
    assert (full["text"], full["pages"]) == ("One.\n\nZebras.", [0, 6])
    asked = client.post("/v1/collections/notes/search", json={"query": "zebras", "limit": 1})
    (found,) = asked.json()["passages"]
    assert full["text"][found["start"] : found["end"]] == found["text"] == "Zebras."
    assert (found["page"], found["document_id"], found["collection"]) == (2, report["id"], "notes")
    assert client.delete(f"/v1/collections/notes/documents/{report['id']}").status_code == 204
    assert client.get(f"/v1/collections/notes/documents/{report['id']}").status_code == 404
    assert client.get("/v1/collections").json()["collections"][0]["documents"] == 1
    assert client.delete("/v1/collections/notes").status_code == 204
    assert client.get("/v1/collections/notes/documents").status_code == 404


def test_bad_uploads_add_nothing(client: TestClient) -> None:
    client.post("/v1/collections", json={"name": "notes"})
    for name, data in [
        ("a.pdf", makers.flate_bomb()),
        ("a.exe", b"MZ\x90\0"),
        ("a.txt", b""),
        ("../../etc/cron.d/a.txt", HARBOUR),
        ("/etc/a.txt", HARBOUR),
        ("a\\b.txt", HARBOUR),
    ]:
        answer = upload(client, ("fine.txt", HARBOUR), (name, data))
        assert answer.status_code == 400, name
    assert client.get("/v1/collections/notes/documents").json() == {"documents": []}
    assert upload(client).status_code == 400


def test_hostile_names_stay_text(client: TestClient) -> None:
    name = "\u202e<script>alert(1)</script> 东京.txt"
    client.post("/v1/collections", json={"name": "a b"})
    assert upload(client, (name, HARBOUR), collection="a%20b").status_code == 201
    listed = client.get("/v1/collections/a%20b/documents").json()["documents"]
    assert [each["name"] for each in listed] == [name]


def test_owners_are_apart(client: TestClient) -> None:
    client.post("/v1/collections", json={"name": "notes"}, headers=as_("me"))
    sent = upload(client, ("secret.txt", HARBOUR), **as_("me"))
    document = sent.json()["documents"][0]["id"]
    for owner in ("bob", "you"):
        client.headers |= as_(owner)
        assert client.get("/v1/collections").json() == {"collections": []}
        for method, path in [
            ("GET", "/notes/documents"),
            ("GET", f"/notes/documents/{document}"),
            ("DELETE", f"/notes/documents/{document}"),
            ("DELETE", "/notes"),
        ]:
            assert client.request(method, f"/v1/collections{path}").status_code == 404
        assert (
            client.post("/v1/collections/notes/search", json={"query": "oslo"}).status_code == 404
        )
        assert upload(client, ("a.txt", HARBOUR)).status_code == 404
    client.post("/v1/collections", json={"name": "notes"}, headers=as_("you"))
    client.headers |= as_("you")
    assert client.get(f"/v1/collections/notes/documents/{document}").status_code == 404
    client.headers |= as_("me")
    assert client.get(f"/v1/collections/notes/documents/{document}").status_code == 200


def test_the_place_of_a_quote_in_its_document_can_be_linked(client: TestClient) -> None:
    """As docs/chat-apps.md describes it."""
    client.post("/v1/collections", json={"name": "notes"}).raise_for_status()
    text = b"Ferries leave at noon. " * 100 + b"\n\n" + HARBOUR
    upload(client, ("harbour.txt", text)).raise_for_status()
    question = "When was the harbour of Oslo built?"
    answer = client.post("/v1/answers", json={"question": question}).json()
    message = {"role": "user", "content": question}
    chat = client.post("/v1/chat/completions", json={"messages": [message]}).json()
    notes = chat["choices"][0]["message"]["annotations"]
    linked = [(answer["sources"], each["source"], each) for each in answer["quotes"]]
    linked += [(chat["semqa"]["sources"], each["source_index"], each) for each in notes]
    assert len(linked) == 2
    for sources, number, quote in linked:
        (source,) = [each for each in sources if each["number"] == number]
        assert quote["field"] == "body"
        assert source["start"] > 0
        path = f"/v1/collections/{source['collection']}/documents/{source['document_id']}"
        whole = client.get(path).json()["text"]
        start, end = (source["start"] + quote[side] for side in ("source_start", "source_end"))
        assert whole[start:end] == HARBOUR.decode()


def test_a_missing_collection_is_named_with_its_field(client: TestClient) -> None:
    question = {"role": "user", "content": "When was the harbour built?"}
    chat: dict[str, Any] = {"messages": [question], "max_tokens": 100}
    searched = {"type": "file_search", "vector_store_ids": ["nope"]}
    refused = {
        "collection": [
            client.get("/v1/collections/nope/documents"),
            client.delete("/v1/collections/nope"),
            client.post("/v1/answers", json={"question": "Who?", "collection": "nope"}),
            client.post("/v1/chat/completions", json={**chat, "collection": ["nope"]}),
        ],
        "model": [
            client.post("/v1/chat/completions", json={**chat, "model": "semqa/nope"}),
            client.post("/v1/messages", json={**chat, "model": "semqa/nope"}),
        ],
        "vector_store_ids": [
            client.post("/v1/responses", json={"input": [question], "tools": [searched]})
        ],
    }
    for param, replies in refused.items():
        for reply in replies:
            assert reply.status_code == 404
            error = reply.json()["error"]
            # Commands of a terminal are of no use to a client.
            assert (error["message"], error["param"]) == (f"{param} 'nope' not found.", param)


def test_a_shared_collection_is_read_and_not_changed(client: TestClient) -> None:
    ann, bob = as_("ann"), as_("bob")
    client.post("/v1/collections", json={"name": "notes"}, headers=ann)
    upload(client, ("harbour.txt", HARBOUR), **ann)
    library = client.app.state.library  # type: ignore[attr-defined]
    library.share("ann", "notes", "bob", "harbours")
    (entry,) = client.get("/v1/collections", headers=bob).json()["collections"]
    assert (entry["name"], entry["documents"], entry["access"]) == ("harbours", 1, "read")
    at = "/v1/collections/harbours"
    (document,) = client.get(f"{at}/documents", headers=bob).json()["documents"]
    read = client.get(f"{at}/documents/{document['id']}", headers=bob)
    assert read.json()["text"] == HARBOUR.decode()
    found = client.post(f"{at}/search", json={"query": "harbour"}, headers=bob).json()["passages"]
    assert found[0]["collection"] == "harbours"
    refused = upload(client, ("b.txt", b"Bob."), collection="harbours", **bob)
    assert refused.status_code == 403, refused.text
    assert client.delete(f"{at}/documents/{document['id']}", headers=bob).status_code == 403
    assert client.delete(at, headers=bob).status_code == 403
    made = client.post("/v1/collections", json={"name": "harbours"}, headers=bob)
    assert made.status_code == 400  # the name is taken
    # Other owners see nothing, and neither does the owner's name for it.
    for owner, name in (("bob", "notes"), ("eve", "notes"), ("eve", "harbours")):
        gone = client.get(f"/v1/collections/{name}/documents", headers=as_(owner))
        assert gone.status_code == 404
    library.unshare("ann", "notes", "bob")
    assert client.get(f"{at}/documents", headers=bob).status_code == 404


def test_write_access_changes_the_documents_of_the_owner(client: TestClient) -> None:
    ann, bob = as_("ann"), as_("bob")
    client.post("/v1/collections", json={"name": "notes"}, headers=ann)
    library = client.app.state.library  # type: ignore[attr-defined]
    library.share("ann", "notes", "bob", "notes")
    library.share("ann", "notes", "bob", "notes", write=True)  # again, with write access
    done = upload(client, ("b.txt", HARBOUR), **bob)
    assert done.status_code == 201
    listed = client.get("/v1/collections/notes/documents", headers=ann).json()["documents"]
    assert [each["name"] for each in listed] == ["b.txt"]
    assert client.delete("/v1/collections/notes", headers=bob).status_code == 403
    assert client.delete("/v1/collections/notes", headers=ann).status_code == 204
    assert client.get("/v1/collections", headers=bob).json() == {"collections": []}
    # A new collection of that name is not shared.
    client.post("/v1/collections", json={"name": "notes"}, headers=ann)
    assert client.get("/v1/collections/notes/documents", headers=bob).status_code == 404
