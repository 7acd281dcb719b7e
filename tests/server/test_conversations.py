"""The API of conversations, their owners, and exports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from semqa import QuotedAnswer, Source
from semqa.server.app import create_app
from semqa.server.settings import ServerSettings
from semqa.server.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path / 'semqa.sqlite'}")
    opened.migrate()
    yield opened
    opened.close()


@pytest.fixture
def client(tmp_path: Path, store: Store) -> Iterator[TestClient]:
    app = create_app(ServerSettings(data=tmp_path), library=object(), store=store)
    with TestClient(app) as made:
        yield made


def final(marked: str, sources: list[Source]) -> dict[str, object]:
    answer = QuotedAnswer.parse(marked, sources)
    return {"question": "?", **answer.to_dict()}


def test_a_conversation_from_its_beginning_to_its_end(client: TestClient) -> None:
    begun = client.post("/v1/conversations")
    assert begun.status_code == 201
    talk = begun.json()["id"]
    body = {
        "question": "Who sang it?",
        "sources": [{"text": "Bing sang it."}],
        "conversation": talk,
    }
    answer = client.post("/v1/answers", json=body).json()
    full = client.get(f"/v1/conversations/{talk}").json()
    assert [each["role"] for each in full["messages"]] == ["user", "assistant"]
    assert full["messages"][0]["content"] == {"question": "Who sang it?"}
    assert full["messages"][1]["content"] == answer
    renamed = client.patch(f"/v1/conversations/{talk}", json={"title": "Bing"})
    assert renamed.json()["title"] == "Bing"
    listed = client.get("/v1/conversations").json()["conversations"]
    assert [(each["id"], each["title"]) for each in listed] == [(talk, "Bing")]
    assert client.delete(f"/v1/conversations/{talk}").status_code == 204
    assert client.get(f"/v1/conversations/{talk}").status_code == 404
    assert client.get("/v1/conversations").json() == {"conversations": [], "more": False}
    assert client.post("/v1/conversations", json={"title": "T"}).json()["title"] == "T"
    assert client.patch(f"/v1/conversations/{talk}", json={"title": ""}).status_code == 400


def test_many_conversations_come_in_parts_and_are_found_by_title(
    client: TestClient, store: Store
) -> None:
    for number in range(7):
        store.create_conversation("", f"Bridge {number} of 100% _steel_")
    store.create_conversation("", "Tower")
    store.create_conversation("somebody", "Bridge of another")

    def ask(**given: object) -> tuple[list[str], bool]:
        reply = client.get("/v1/conversations", params={k: str(v) for k, v in given.items()})
        assert reply.status_code == 200, reply.text
        told = reply.json()
        return [each["title"] for each in told["conversations"]], told["more"]

    whole, more = ask()
    assert (len(whole), more) == (8, False)
    parts = [ask(limit=3, offset=offset) for offset in (0, 3, 6)]
    assert [title for titles, _ in parts for title in titles] == whole
    assert [more for _, more in parts] == [True, True, False]
    assert ask(limit=8) == (whole, False)
    assert ask(title=" tOWER ") == (["Tower"], False)
    assert len(ask(title="bridge")[0]) == 7
    # Wildcards of LIKE are escaped.
    assert len(ask(title="100% _")[0]) == 7
    assert len(ask(title="%")[0]) == 7
    for nothing in ("_ower", "'", "Bridge of another"):
        assert ask(title=nothing)[0] == []
    for wrong in ({"limit": 0}, {"limit": 501}, {"offset": -1}, {"offset": 10**30}):
        assert client.get("/v1/conversations", params=wrong).status_code == 400


def test_no_key_reaches_the_conversations_of_another(client: TestClient, store: Store) -> None:
    (mine, secret), (other, foreign) = store.create_key("a"), store.create_key("b")
    talk = store.create_conversation(mine, "mine").id
    store.add_message(mine, talk, "user", {"question": "secret question"})
    paths = [f"/v1/conversations/{talk}", f"/v1/conversations/{talk}/export"]
    for headers, status in ((None, 401), ({"Authorization": f"Bearer {foreign}"}, 404)):
        replies = [client.get(path, headers=headers) for path in paths]
        replies += [
            client.delete(paths[0], headers=headers),
            client.patch(paths[0], headers=headers, json={"title": "taken"}),
            client.post(
                "/v1/answers",
                headers=headers,
                json={"question": "Who asks?", "sources": [{"text": "x y."}], "conversation": talk},
            ),
        ]
        for reply in replies:
            assert reply.status_code == status, reply.url
            assert "secret question" not in reply.text
    assert client.get(
        "/v1/conversations", headers={"Authorization": f"Bearer {foreign}"}
    ).json() == {"conversations": [], "more": False}
    found = client.get(paths[0], headers={"Authorization": f"Bearer {secret}"}).json()
    assert found["title"] == "mine"
    assert len(found["messages"]) == 1
    assert store.conversations(other) == []


def test_an_export_is_markdown_whose_footnotes_do_not_clash(
    client: TestClient, store: Store
) -> None:
    talk = store.create_conversation("", "A *title*\n# not another").id
    sources = [Source("one", "First [^1]"), Source("two three", url="https://example.org/[^1]")]
    for marked in ("It is [ 1 one ].", "Or [ 2 two ] [^2] and [ 1 never ]."):
        store.add_message("", talk, "user", {"question": "What <b>is</b> it?"})
        store.add_message("", talk, "assistant", final(marked, sources))
    reply = client.get(f"/v1/conversations/{talk}/export")
    assert reply.headers["content-type"] == "text/markdown; charset=utf-8"
    assert reply.headers["content-disposition"] == f'attachment; filename="{talk}.md"'
    assert reply.text.split("\n") == [
        r"# A \*title\* \# not another",
        "",
        r"## What \<b\>is\</b\> it?",
        "",
        "It is **one**[^1-1].",
        "",
        "*✓ 1 quote, verified character for character.*",
        "",
        r"[^1-1]: First \[^1\]",
        "",
        r"## What \<b\>is\</b\> it?",
        "",
        r"Or **two**[^2-2] \[^2\] and ~~never~~ *(fabricated)*.",
        "",
        "*✗ 2 quotes: 1 verified, 1 fabricated. Not quoted: “2”.*",
        "",
        "[^2-2]: Source 2 <https://example.org/[^1]>",
        "",
    ]
