"""A conversation as one Markdown document, quotes in bold, footnotes naming the sources."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from semqa.errors import InputError
from semqa.quotes import QuotedAnswer, Source
from semqa.quotes.render import to_markdown as answer_to_markdown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from semqa.server.store import Conversation

__all__ = ["to_markdown"]

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&!$])")
_FOOTNOTE = re.compile(r"^\[\^(?=\d+\]:)|(?<=\*\*)\[\^(?=\d+\])", re.MULTILINE)
"""Where one is explained, which begins a line, or stands, which is behind a quote in bold."""


def to_markdown(conversation: Conversation) -> str:
    """Render a conversation; every quote is checked anew against the sources kept with it.

    Each answer has footnotes of its own: ``[^2-1]`` is source 1 of the second answer.
    """
    parts = [f"# {_escaped(conversation.title) or 'Conversation'}\n"]
    answers = 0
    for message in conversation.messages:
        if message.role == "user":
            parts.append(f"## {_escaped(str(message.content.get('question', '')))}\n")
            continue
        answers += 1
        parts.append(_FOOTNOTE.sub(f"[^{answers}-", _answer(message.content)))
    return "\n".join(parts)


def _answer(content: Mapping[str, Any]) -> str:
    try:
        return answer_to_markdown(
            QuotedAnswer.parse(str(content.get("answer", "")), _sources(content))
        )
    except (InputError, KeyError, TypeError, ValueError, AttributeError):
        # What an older server kept, or what cannot be checked, is still the user's own.
        return _escaped(str(content.get("plain", ""))) + "\n"


def _sources(content: Mapping[str, Any]) -> list[Source]:
    """Return the sources by their numbers; those that were not quoted were not kept, and are empty."""
    kept = {
        int(each["number"]): Source(
            str(each["text"]), str(each.get("title") or ""), each.get("url")
        )
        for each in content.get("sources", ())
    }
    return [kept.get(number, Source("")) for number in range(1, max(kept, default=0) + 1)]


def _escaped(text: str) -> str:
    """Return a text as one line of Markdown that shows it."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
