"""Chat apps: their prompts with passages, their side tasks, and the citations they show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from semqa.quotes import ABSTENTION
from semqa.retrieval.passages import Library as Real
from tests.server import stand_ins
from tests.server.serving import client, serving
from tests.server.stand_ins import Library, Scripted, Store

BRIDGE = "It rained. The bridge was opened in 1932 by the mayor. It is painted grey."
TOWER = "The tower was opened in 1889. It is made of iron."

OPEN_WEBUI = """### Task:
Respond to the user query using the provided context, incorporating inline citations in the format [id] \
**only when the <source> tag includes an explicit id attribute** (e.g., <source id="1">).

### Guidelines:
- If you don't know the answer, clearly state that.
- Do not cite if the <source> tag does not contain an id attribute.

### Example of Citation:
* "According to the study, the proposed method increases efficiency by 20% [1]."

<context>
<source id="1" name="tower.pdf" resource-type="file" resource-id="acd3554a">{tower}</source>
<source id="2" name="bridge.pdf" resource-type="file" resource-id="2bb1c75f">{bridge}</source>
<source id="2" name="bridge.pdf">It cost much.</source>
</context>
"""
ANYTHING_LLM = """Given the following conversation, relevant context, and a follow up question, reply with \
an answer to the current question the user is asking.
Context:
    [CONTEXT 0]:
<document_metadata>
sourceDocument: tower.pdf
published: 1/1/2026
</document_metadata>

{tower}
[END CONTEXT 0]

[CONTEXT 1]:
{bridge}
[END CONTEXT 1]

"""
LIBRECHAT = """The user has attached 2 files to the conversation:
  <files>
    <file>
      <filename>tower.pdf</filename>
      <type>application/pdf</type>
    </file>
  </files>

A semantic search was executed with the user's message as the query, retrieving the following context \
inside <context></context> XML tags.

<context>
  <file>
    <filename>tower.pdf</filename>
    <context>
      <contextItem>
        <![CDATA[{tower}]]>
      </contextItem>
    </context>
  </file>
  <file>
    <filename>bridge.pdf</filename>
    <context>
      <contextItem>
        <![CDATA[{bridge}]]>
      </contextItem>
    </context>
  </file>
</context>

Use the context as your learned knowledge to better answer the user.
"""
QUESTION = "When was the bridge opened?"


def filled(template: str) -> str:
    return template.format(tower=TOWER, bridge=BRIDGE)


def asked(server: Any, messages: list[dict[str, str]], **more: Any) -> dict[str, Any]:
    reply = server.post("/v1/chat/completions", json={"messages": messages, **more})
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        (
            [{"role": "user", "content": f"{filled(OPEN_WEBUI)}\n{QUESTION}"}],
            "The bridge was opened in 1932 by the mayor. [2]",
        ),
        (
            [
                {"role": "system", "content": filled(ANYTHING_LLM)},
                {"role": "user", "content": QUESTION},
            ],
            "The bridge was opened in 1932 by the mayor.",
        ),
        (
            [
                {"role": "system", "content": filled(LIBRECHAT)},
                {"role": "user", "content": QUESTION},
            ],
            "The bridge was opened in 1932 by the mayor.",
        ),
    ],
)
def test_passages_in_the_prompt_of_an_app_are_answered_from(
    messages: list[dict[str, str]], text: str
) -> None:
    library = Library(other=["The bridge was opened in 2001 by nobody."])
    with client(library=library) as server:
        made = asked(server, messages)
        assert made["choices"][0]["message"]["content"] == text
        (source,) = made["semqa"]["sources"]
        assert source["text"] == BRIDGE
        (annotation,) = made["choices"][0]["message"]["annotations"]
        at = annotation["url_citation"]
        quote = made["choices"][0]["message"]["content"][at["start_index"] : at["end_index"]]
        assert quote == annotation["quote"] == "The bridge was opened in 1932 by the mayor."


HISTORY = f"<chat_history>\nUSER: {QUESTION}\nASSISTANT: In 1932.\nUSER: Who by?\n</chat_history>"
FOLLOW_UP = "Suggest 3-5 relevant follow-up questions or prompts that the user might naturally ask"


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        ("Generate a concise, 3-5 word title with an emoji summarizing", {"title": QUESTION}),
        ("Generate 1-3 broad tags categorizing the main themes", {"tags": []}),
        (FOLLOW_UP, {"follow_ups": []}),
        (
            "Analyze the chat history to determine the necessity of generating search queries",
            {"queries": ["Who by?"]},
        ),
    ],
)
def test_side_tasks_of_open_webui(prompt: str, reply: dict[str, Any]) -> None:
    content = (
        f"### Task:\n{prompt} the chat history.\n### Output:\nJSON\n### Chat History:\n{HISTORY}"
    )
    with client() as server:
        made = asked(server, [{"role": "user", "content": content}])
        assert json.loads(made["choices"][0]["message"]["content"]) == reply
        body = {"model": "semqa", "input": content}
        part = server.post("/v1/responses", json=body).json()["output"][0]["content"][0]
        assert json.loads(part["text"]) == reply


@pytest.mark.parametrize("stream", [False, True])
def test_a_title_for_librechat_is_the_first_question(stream: bool) -> None:
    said = "Why is it that the very long bridge over the river was painted in grey by its builders?"
    content = (
        "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. "
        f"Only return the title itself.\n\nConversation:\nUser: {said}\nAI: Nobody knows."
    )
    body = {"messages": [{"role": "user", "content": content}], "stream": stream}
    with client() as server:
        text = server.post("/v1/chat/completions", json=body).text
    assert "Why is it that the very long bridge over the river was" in text
    assert "Nobody" not in text


MODEL = Scripted(["It was [ 2 in 1932 ], by [ 1 the mayor ], [ 2 painted grey ]", " [ 1 1999 ]."])
SOURCES = [{"text": "He is the mayor.", "title": "Who?"}, {"text": BRIDGE + " in 1932"}]


def test_markers_are_a_setting_and_a_field() -> None:
    messages = [{"role": "user", "content": "When?"}]
    with client(MODEL, citations="numbered") as server:
        made = asked(server, messages, sources=SOURCES)
        content = made["choices"][0]["message"]["content"]
        assert content == "It was in 1932 [1], by the mayor [2], painted grey [1] 1999."
        numbers = {each["number"]: each["text"] for each in made["semqa"]["sources"]}
        assert numbers[2] == "He is the mayor."
        for each in made["choices"][0]["message"]["annotations"]:
            at = each["url_citation"]
            assert content[at["start_index"] : at["end_index"]] == each["quote"]
            assert content[at["end_index"] :].startswith(f" [{each['source_index']}]")
        plain = asked(server, messages, sources=SOURCES, format="plain")
        assert "[" not in plain["choices"][0]["message"]["content"]
        body = {"input": "When?", "sources": SOURCES}
        part = server.post("/v1/responses", json=body).json()["output"][0]["content"][0]
        assert part["text"] == content


def test_an_abstention_with_markers_ends_with_the_closest_passages() -> None:
    question = "Who invented the telephone?"
    body: dict[str, Any] = {"sources": [{"text": "It rained."}, {"text": BRIDGE}]}
    body |= {"messages": [{"role": "user", "content": question}], "format": "numbered"}
    with client() as server:
        reply = server.post("/v1/chat/completions", json=body)
        other = server.post("/v1/responses", json={**body, "input": question}).text
        plain = server.post("/v1/chat/completions", json={**body, "format": "plain"}).text
    message = reply.json()["choices"][0]["message"]
    content, annotations = message["content"], message["annotations"]
    details = reply.json()["semqa"]
    near = [f"{quote['text']} [{quote['source']}]" for quote in details["nearest"]]
    assert content == "\n- ".join([f"{ABSTENTION}\n\nClosest passages:", *near])
    assert near
    assert details["abstained"]
    for each in annotations:
        at = each["url_citation"]
        assert content[at["start_index"] : at["end_index"]] == each["quote"]
    assert len(annotations) == len(near)
    assert json.dumps(content)[1:-1] in other
    assert "Closest passages" not in plain


def test_a_citation_opens_the_page_at_the_passage(tmp_path: Path) -> None:
    library = Real(tmp_path, encoder=False)
    library.create("", "the notes").put("bridge.txt", BRIDGE.encode())
    with serving(library=library) as url:
        body = {"messages": [{"role": "user", "content": QUESTION}], "model": "semqa/the notes"}
        made = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=30).json()
        (annotation,) = made["choices"][0]["message"]["annotations"]
        link = urlsplit(annotation["url_citation"]["url"])
        assert f"{link.scheme}://{link.netloc}" == url
        assert (
            httpx.get(annotation["url_citation"]["url"], timeout=60)
            .headers["content-type"]
            .startswith("text/html")
        )
        named = parse_qs(link.query)
        path = f"{url}/v1/collections/{named['collection'][0]}/documents/{named['document'][0]}"
        start, end = map(int, link.fragment.removeprefix("char=").split(","))
        assert annotation["quote"] in httpx.get(path, timeout=60).json()["text"][start:end]


def test_open_webui_gets_the_text_of_quotes() -> None:
    body = {"messages": [{"role": "user", "content": "When?"}], "sources": SOURCES, "stream": True}
    with client(MODEL) as server:
        lines = server.post("/v1/chat/completions", json=body).text.split("\n\n")
    chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    told = [(c["event"], c["choices"][0]["delta"]["annotations"]) for c in chunks if "event" in c]
    assert [event["data"]["document"] for event, _ in told] == [
        ["in 1932"],
        ["the mayor"],
        ["painted grey"],
    ]
    for event, (annotation,) in told:
        assert event["type"] == "source"
        assert event["data"]["source"]["url"] == annotation["url_citation"]["url"]


def test_lobechat_gets_citations_with_the_reason_why_the_stream_ends() -> None:
    body = {"messages": [{"role": "user", "content": "When?"}], "sources": SOURCES, "stream": True}
    with client(MODEL, citations="numbered") as server:
        lines = server.post("/v1/chat/completions", json=body).text.split("\n\n")
        whole = asked(server, body["messages"], sources=SOURCES)  # type: ignore[arg-type]
    chunks = [json.loads(line[6:])["choices"][0] for line in lines if line.startswith("data: {")]
    (last,) = (each for each in chunks if each["finish_reason"])
    assert last["delta"]["annotations"] == whole["choices"][0]["message"]["annotations"]
    # Each is sent once: the official client joins the chunks of an index.
    assert sum(len(each["delta"].get("annotations", ())) for each in chunks) == 3


def test_behind_a_path_of_a_proxy() -> None:
    """Whether or not the proxy removes its path."""
    with client(stand_ins.Written("[ 1 x ]"), public_url="https://e.org/semqa") as server:
        for path in ("/semqa", ""):
            assert server.get(f"{path}/").status_code == 200
            assert server.get(f"{path}/page/main.js").status_code == 200
            assert server.get(f"{path}/v1/models").status_code == 200
        page = server.get("/semqa/").text
        assert 'href="/' not in page
        assert 'src="/' not in page


def test_only_a_trusted_proxy_sets_the_client_address() -> None:
    asked = {"question": "Who?", "sources": [{"text": "Bing sang."}]}

    def statuses(url: str) -> list[int]:
        return [
            httpx.post(
                f"{url}/v1/answers",
                json=asked,
                headers={"x-forwarded-for": f"10.0.0.{n}"},
                timeout=60,
            ).status_code
            for n in range(3)
        ]

    model = stand_ins.Written("[ 1 Bing ]")
    with serving(model, rate_limit=2, store=Store()) as url:
        assert statuses(url) == [200, 200, 429], "anyone can write the header"
    with serving(model, rate_limit=2, store=Store(), trusted_proxies=("127.0.0.1",)) as url:
        assert statuses(url) == [200, 200, 200]
