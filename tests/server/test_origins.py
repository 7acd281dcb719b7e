"""Pages of other origins may only use the server if they are allowed."""

from __future__ import annotations

import pytest

from semqa import InputError
from semqa.server.settings import ServerSettings
from tests.server.serving import client
from tests.server.stand_ins import Written

ASKED = {"question": "When?", "sources": [{"text": "It was in 1932."}]}
KEY = "sk-first-key-0001"
CHAT, OTHER = "https://chat.example.org", "https://other.example.org"


def from_page(origin: str, key: str = "") -> dict[str, str]:
    """Headers that a browser sends for a page of another origin."""
    headers = {"origin": origin, "sec-fetch-site": "cross-site"}
    return headers | ({"authorization": f"Bearer {key}"} if key else {})


@pytest.mark.parametrize(
    ("allowed", "key", "origin", "good"),
    [
        ((), "", CHAT, False),
        ((CHAT,), "", CHAT, True),
        ((CHAT,), "", OTHER, False),
        ((CHAT,), "", "null", False),
        ((CHAT,), KEY, CHAT, True),
        # With a key the request is answered, because not every client is a browser; a page cannot read it.
        ((CHAT,), KEY, OTHER, False),
        (("*",), KEY, OTHER, True),
        (("*",), "", OTHER, False),
        (("*", CHAT), "", CHAT, True),
    ],
)
def test_allowed_origins_can_read_replies(
    allowed: tuple[str, ...], key: str, origin: str, good: bool
) -> None:
    keys = (KEY,) if key else ()
    with client(Written("[ 1 1932 ]"), allowed_origins=allowed, api_keys=keys) as server:
        headers = from_page(origin, key)
        got = server.get("/v1/models", headers=headers)
        posted = server.post("/v1/answers", json=ASKED, headers=headers)
        for reply in (got, posted):
            readable = reply.headers.get("access-control-allow-origin") in (origin, "*")
            assert (reply.status_code == 200 and readable) == good
        if not key:
            assert (posted.status_code == 200) == good


def test_preflight_requests_need_no_key() -> None:
    asking = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-stainless-lang",
    }
    with client(Written("a"), allowed_origins=(CHAT,), api_keys=(KEY,)) as server:
        told = server.options("/v1/chat/completions", headers=from_page(CHAT) | asking)
        assert told.status_code == 200
        assert told.headers["access-control-allow-origin"] == CHAT
        allowed = told.headers["access-control-allow-headers"]
        assert all(name in allowed for name in ("authorization", "x-stainless-lang"))
        refused = server.options("/v1/chat/completions", headers=from_page(OTHER) | asking)
        assert "access-control-allow-origin" not in refused.headers


def test_a_page_can_read_refusals() -> None:
    with client(Written("a"), allowed_origins=(CHAT,), api_keys=(KEY,)) as server:
        refused = server.post("/v1/answers", json=ASKED, headers=from_page(CHAT))
        assert refused.status_code == 401
        assert refused.headers["access-control-allow-origin"] == CHAT
        assert "x-request-id" in refused.headers["access-control-expose-headers"].lower()


@pytest.mark.parametrize(
    "origin",
    ["chat.example.org", f"{CHAT}/", f"{CHAT}/app", "null", "", "https://A.org", "a b",
     f"{CHAT}:443", "http://[::1]:80"],
)  # fmt: skip
def test_invalid_origins_are_refused(origin: str) -> None:
    with pytest.raises(InputError, match="allowed_origin"):
        ServerSettings(allowed_origins=(origin,))
    ServerSettings(
        allowed_origins=(CHAT, "http://localhost:3000", "http://[::1]:443", "app://x", "*")
    )
