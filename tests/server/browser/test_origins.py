"""A chat app of another origin, in a real browser, which is what keeps origins apart."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.server.browser.conftest import Serve

ASK = """async url => {
  try {
    const reply = await fetch(url + "/v1/chat/completions", {
      method: "POST",
      headers: {"content-type": "application/json", "x-stainless-lang": "js"},
      body: JSON.stringify({
        model: "semqa",
        stream: true,
        messages: [{role: "user", content: "When did the bridge open?"}],
        sources: [{text: "The bridge opened in 1932."}],
      }),
    });
    return [reply.status, await reply.text()];
  } catch (error) {
    return [0, String(error)];
  }
}"""


class _Empty(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><link rel=icon href=data:,><title>A chat app</title>")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """The origin of another page."""
    with HTTPServer(("127.0.0.1", 0), _Empty) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_chat_app_elsewhere_asks_where_it_may(page: Page, serve: Serve, elsewhere: str) -> None:
    site = serve(allowed_origins=(elsewhere,))
    page.goto(elsewhere)
    status, text = page.evaluate(ASK, site.url)
    assert status == 200
    assert "url_citation" in text
    assert text.rstrip().endswith("[DONE]")


def test_elsewhere_it_may_not(
    page: Page, serve: Serve, elsewhere: str, problems: list[str]
) -> None:
    site = serve(allowed_origins=("https://chat.example.org",))
    page.goto(elsewhere)
    status, text = page.evaluate(ASK, site.url)
    assert (status, text) == (0, "TypeError: Failed to fetch")
    assert len(problems) == 1
    assert "blocked by CORS policy" in problems.pop()
