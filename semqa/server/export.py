"""A conversation as one Markdown document, quotes in bold, footnotes naming the sources."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from semqa.data.jsonl import as_row
from semqa.data.sources import answer_of
from semqa.errors import InputError
from semqa.quotes.render import to_markdown as answer_to_markdown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from semqa.quotes import QuotedAnswer
    from semqa.server.store import Conversation

__all__ = ["to_markdown", "with_verdict"]

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


def with_verdict(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what was kept of an answer, with a verdict if an older server kept it without one."""
    if "verdict" in content:
        return content
    try:
        read = _read(content).to_dict(_question(content))
    except InputError:
        read = {"verdict": "unquoted", "verified": False, "claims": []}
    told = {name: read[name] for name in ("verdict", "verified", "claims")}
    return {**content, **told, "abstained": told["verdict"] == "abstained"}


def _answer(content: Mapping[str, Any]) -> str:
    try:
        return answer_to_markdown(_read(content), question=_question(content))
    except InputError:
        # What an older server kept, or what cannot be checked, is still the user's own.
        return _escaped(str(content.get("plain", ""))) + "\n"


def _read(content: Mapping[str, Any]) -> QuotedAnswer:
    """Check an answer anew against the sources kept with it, which are those that it speaks of."""
    return answer_of(as_row(dict(content), "the answer")).read()


def _question(content: Mapping[str, Any]) -> str:
    return str(content.get("understood") or content.get("question") or "")


def _escaped(text: str) -> str:
    """Return a text as one line of Markdown that shows it."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
