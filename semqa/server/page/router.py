"""The page and its files. What is served is what the package holds, by name: there are no paths."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from fastapi import APIRouter, Request, Response

from semqa.errors import NotFoundError

__all__ = ["POLICY", "router"]

POLICY = "; ".join(
    (
        "default-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "object-src 'none'",
    )
)
"""What the page may do: load its own files, ask its own server, run no script within a text."""

_KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}

router = APIRouter(include_in_schema=False)


class _File(NamedTuple):
    body: bytes
    kind: str
    tag: str


@cache
def _all_files() -> dict[str, _File]:
    found = {}
    for entry in files("semqa.server.page").iterdir():
        kind = _KINDS.get(entry.name.rpartition(".")[2])
        if kind is not None:
            body = entry.read_bytes()
            tag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
            found[entry.name] = _File(body, kind, tag)
    return found


@router.get("/")
def page(request: Request) -> Response:
    """Show the page."""
    return _serve(request, "index.html")


@router.get("/page/{name}")
def file_of_page(request: Request, name: str) -> Response:
    """Give one of the page's files."""
    return _serve(request, name)


def _serve(request: Request, name: str) -> Response:
    found = _all_files().get(name)
    if found is None:
        raise NotFoundError(
            f"there is no such file of the page: got {name[:60]!r}, expected one that index.html "
            "names; reload the page"
        )
    headers = {
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",  # asked for anew, and not sent again while it is the same
        "ETag": found.tag,
    }
    if found.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(found.body, media_type=found.kind, headers=headers)
