"""Invalid and malicious requests: nothing breaks, and nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from semqa.studies.app import MAX_BODY
from tests.studies.made import Site, make_study, served


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with served(make_study(tmp_path / "new")) as made:
        yield made


def send(site: Site, path: str, content: bytes, method: str = "POST") -> Any:
    head = {
        "Authorization": f"Bearer {site.store.rater('ann').token}",
        "Content-Type": "application/json",
    }
    return site.client.request(method, path, content=content, headers=head)


VALUES = (
    '{"interpretable": true, "justification": "\\ud800"}',
    '{"interpretable": NaN}',
    '{"interpretable": true, "x": Infinity}',
    '{"flagged": [], "interpretable": true}',
    '{"interpretable": {"a": 1}}',
    "[]",
    '"x"',
)


def test_values_that_cannot_be_exported_are_refused(site: Site) -> None:
    task = site.person("ann").next()
    for values in VALUES:
        body = f'{{"values": {values}, "seconds": 1, "stage": 0}}'.encode()
        assert send(site, f"/v1/tasks/{task['id']}/answers", body).status_code == 400, values
    for values in VALUES[:3]:
        body = f'{{"values": {values}, "seconds": 1, "stage": 0}}'.encode()
        assert send(site, f"/v1/tasks/{task['id']}/draft", body, "PUT").status_code == 400, values
    assert site.store.rated() == []
    assert site.person("ann").next()["id"] == task["id"]


def test_seconds_must_be_a_finite_number_from_0(site: Site) -> None:
    task = site.person("ann").next()
    for seconds in ("-1", "NaN", "Infinity", "1e999", "null"):
        body = f'{{"values": {{"interpretable": false}}, "seconds": {seconds}, "stage": 0}}'
        reply = send(site, f"/v1/tasks/{task['id']}/answers", body.encode())
        assert reply.status_code == 400, seconds


def test_unknown_items_are_not_found(site: Site) -> None:
    for number in ("0", "-1", "9" * 30, "x", "%00"):
        assert send(site, f"/v1/tasks/{number}", b"", "GET").status_code in (400, 404)


def test_a_stage_that_is_not_open_cannot_be_answered(site: Site) -> None:
    ann = site.person("ann")
    task = ann.next()
    for stage in (-1, 1, 2, 10**9):
        body = {"stage": stage, "values": {"attributable": True}, "seconds": 1}
        reply = send(site, f"/v1/tasks/{task['id']}/answers", json.dumps(body).encode())
        assert reply.status_code in (400, 409)
        assert "HIDDEN" not in reply.text
    assert "HIDDEN" not in json.dumps(ann.next())


def test_bodies_are_limited(site: Site) -> None:
    task = site.person("ann").next()
    body = json.dumps({"values": {"x": "y" * MAX_BODY}, "seconds": 1, "stage": 0}).encode()
    assert send(site, f"/v1/tasks/{task['id']}/draft", body, "PUT").status_code == 413
    deep = b'{"values": {"x": ' + b"[" * 100_000 + b"]" * 100_000 + b'}, "seconds": 1, "stage": 0}'
    assert send(site, f"/v1/tasks/{task['id']}/draft", deep, "PUT").status_code == 400
    assert "end" not in site.person("ann").next()


def test_the_page_can_load_only_its_own_files(site: Site) -> None:
    reply = site.client.get("/")
    policy = reply.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert reply.headers["referrer-policy"] == "no-referrer"
    for name in ("study/main.js", "study/study.css", "base.css", "dom.js"):
        assert site.client.get(f"/page/{name}").status_code == 200
    for name in ("study/../../store.py", "study/..%2f..%2fstore.py", "../app.py"):
        assert site.client.get(f"/page/{name}").status_code in (401, 404)


def test_names_and_texts_of_raters_do_not_break_an_export(tmp_path: Path) -> None:
    study = make_study(tmp_path / "new", raters="=HYPERLINK(),Zoë “ß”,a;b")
    with served(study) as site:
        for rater in site.store.raters():
            person = site.person(rater.name)
            after = person.answer(person.next(), interpretable=True)
            person.answer(after, attributable=True, justification='a\r\n"b",\u2028\x00\t')
        ratings = site.store.rated()
    lines = list(study.kind.export(study, ratings, "jsonl"))
    assert len(lines) == 3
    assert all(line.count(b"\n") == 1 and json.loads(line)["annotator"] for line in lines)
