"""Where an endpoint is, and the key to it, which is never shown."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

from semqa.errors import InputError

__all__ = ["HOSTED", "Endpoint", "default_url"]

_URLS = ("SEMQA_BASE_URL", "OPENAI_BASE_URL")
_KEYS = ("SEMQA_API_KEY", "OPENAI_API_KEY")
_HIDDEN = "<key>"

HOSTED = "https://api.openai.com/v1"
"""OpenAI's own endpoint, which is asked unless another is named."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint, such as ``http://localhost:8000/v1``.

    Attributes:
        url: what the paths of requests are appended to; without a slash at its end.
        key: sent as a bearer token; None sends none. It is left out of the representation.
    """

    url: str
    key: str | None = field(default=None, repr=False)

    @classmethod
    def find(cls, base_url: str | None = None, api_key: str | None = None) -> Self:
        """Return the endpoint that was given, or else that of the environment.

        Args:
            base_url: by default ``SEMQA_BASE_URL``, ``OPENAI_BASE_URL`` or OpenAI's own endpoint.
            api_key: by default ``SEMQA_API_KEY`` or ``OPENAI_API_KEY``, in the other order for OpenAI's
                own endpoint; empty for none.

        Raises:
            InputError: the address or the key is invalid, or OpenAI's endpoint has no key.
        """
        url = _checked_url(_given(base_url, _URLS) or HOSTED)
        hosted = urlsplit(url).hostname == urlsplit(HOSTED).hostname
        key = _checked_key(_given(api_key, _KEYS[::-1] if hosted else _KEYS))
        if hosted and key is None:
            raise InputError(
                f"{HOSTED} needs an API key: set {_KEYS[1]} or {_KEYS[0]}. For another endpoint, give "
                f"its address (--base-url, for a judge --judge-url) or set {_URLS[0]}."
            )
        return cls(url, key)

    def hide(self, text: str) -> str:
        """Return a text without the key, which some servers repeat in their errors."""
        return text if not self.key else text.replace(self.key, _HIDDEN)

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers that every request has."""
        return {} if not self.key else {"Authorization": f"Bearer {self.key}"}


def default_url() -> str:
    """Return the address that is asked if none is given."""
    return _given(None, _URLS) or HOSTED


def _given(value: str | None, names: tuple[str, ...]) -> str:
    found = value if value is not None else next(filter(None, map(os.environ.get, names)), "")
    return found.strip()


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.username is not None or parts.password is not None:
        # Not shown: what stands there may be secret.
        raise InputError(
            f"must not hold a user or password; set a key in {_KEYS[0]}.", field="base_url"
        )
    if parts.scheme not in {"http", "https"} or not host or parts.query or parts.fragment:
        raise InputError(
            f"must be an http or https address such as http://localhost:8000/v1, got {url!r}.",
            field="base_url",
            value=url,
        )
    return url.rstrip("/")


def _checked_key(key: str) -> str | None:
    if not key:
        return None
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InputError(
            f"holds white space or characters that no key has. Check {_KEYS[0]} and {_KEYS[1]} for a line break or a quotation mark.",
            field="api_key",
        )
    return key
