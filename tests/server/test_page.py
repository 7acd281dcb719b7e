"""The files of the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

import pytest
from fastapi.testclient import TestClient

from semqa.server.app import create_app
from semqa.server.settings import ServerSettings

FOLDER = files("semqa.server") / "page"
ASSETS = sorted(
    each.name for each in FOLDER.iterdir() if each.name.endswith((".js", ".css", ".html", ".svg"))
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    settings = ServerSettings(data=tmp_path_factory.mktemp("data"), api_keys=("a-key-of-the-test",))
    with TestClient(create_app(settings, library=object())) as made:
        yield made


def test_the_page_needs_no_key_and_forbids_what_is_not_its_own(client: TestClient) -> None:
    reply = client.get("/")
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    policy = reply.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert client.get("/", headers={"If-None-Match": reply.headers["etag"]}).status_code == 304


def test_files_are_served_as_they_stand_and_name_nothing_elsewhere(client: TestClient) -> None:
    loaded = set()
    for name in ASSETS:
        reply = client.get(f"/page/{name}")
        text = (FOLDER / name).read_text(encoding="utf-8")
        assert reply.text == text, name
        assert reply.headers["content-type"].split(";")[0] in (
            "text/html", "text/css", "text/javascript", "image/svg+xml",
        )  # fmt: skip
        addresses = set(re.findall(r"https?://[^\s\"'`]+", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}, name
        found = re.findall(r"(?:from |href=|src=)\"(?:/page/|\./)([^\"#?$]+)[\"#]", text)
        loaded.update(found)
        if name.endswith(".html"):
            inline = r"<script(?![^>]*\ssrc=)|<style|\son\w+=|\sstyle="
            assert re.search(inline, text) is None, name
        if name.endswith(".js"):
            unsafe = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\("
            assert re.search(unsafe, text) is None, name
    assert loaded
    for name in loaded:
        assert client.get(f"/page/{name}").status_code == 200, name


@pytest.mark.parametrize(
    "path",
    ["/page/router.py", "/page/../store/store.py", "/page/%2e%2e%2frouter.py", "/page/..%5crouter.py",
     "/page/", "/page/none.js", "/page/__init__.py", "/page/index.html%00", "//etc/passwd"],
)  # fmt: skip
def test_nothing_else_is_served(client: TestClient, path: str) -> None:
    assert client.get(path).status_code in (401, 404)
