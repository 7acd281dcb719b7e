"""Reads the messages of a conversation: the last question, the history and the passages.

Chat apps insert the passages they retrieved into a prompt template. They also send side tasks, such
as "write a title for this conversation", as if they were questions. Both are recognised here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from semqa.errors import InputError
from semqa.history import Exchange
from semqa.quotes import QuotedAnswer, Source
from semqa.server.answering import AnswerSource


class Turn(NamedTuple):
    """One message of a conversation."""

    role: str
    text: str


class Conversation(NamedTuple):
    """The last question of a conversation and what comes before it.

    Attributes:
        sources: passages that a chat app inserted into a prompt.
        ignored: indices of messages without effect: instructions, tool results, and an assistant's
            message after the question.
    """

    question: str
    history: list[Exchange]
    sources: list[AnswerSource]
    ignored: list[int]


def exchanges(turns: Sequence[Turn]) -> list[Exchange]:
    """Return the questions of a conversation with their answers, without marks.

    Example:
        >>> exchanges([Turn("user", "Who sang it?"), Turn("assistant", "[ 1 Bing ] did.")])
        [Exchange(question='Who sang it?', answer='Bing did.')]
    """
    found: list[Exchange] = []
    for turn in turns:
        if turn.role == "user" and turn.text.strip():
            found.append(Exchange(turn.text))
        elif turn.role == "assistant" and found:
            answer = QuotedAnswer.parse(turn.text, ()).plain
            found[-1] = Exchange(found[-1].question, f"{found[-1].answer} {answer}".strip())
    return found


def read_conversation(turns: Sequence[Turn], field: str) -> Conversation:
    """Parse a conversation; raise if it has no question."""
    for at in range(len(turns) - 1, -1, -1):
        if turns[at].role == "user" and turns[at].text.strip():
            question, sources = _split_prompt(turns[at].text)
            ignored = []
            for place, turn in enumerate(turns):
                is_read = turn.role == "user" or (turn.role == "assistant" and place < at)
                if is_read or not turn.text.strip():
                    continue
                found = passages_of(turn.text) if turn.role in ("system", "developer") else []
                sources += found
                if not found:
                    ignored.append(place)
            return Conversation(question, exchanges(turns[:at]), sources, ignored)
    raise InputError("must have a user message with a question.", field=field)


# Prompts are untrusted: each of these patterns takes linear time.
_SOURCE = re.compile(r"<source\b([^<>]{0,500})>")
_ATTRIBUTE = re.compile(r'(?<![\w-])([\w-]+)="([^"]*)"')
_NUMBERED = re.compile(r"\[CONTEXT \d+\]:\n")
_METADATA = re.compile(r"\s*<document_metadata>(.*?)</document_metadata>\s*", re.DOTALL)
_NAME = re.compile(r"^(?:sourceDocument|title): *(.+)$", re.MULTILINE)
_ITEM = re.compile(r"<!\[CDATA\[|\]\]>")


def _split_prompt(text: str) -> tuple[str, list[AnswerSource]]:
    """Split a prompt of Open WebUI or LibreChat into the question and the passages."""
    passages = passages_of(text)
    before, _, rest = text.rpartition("</context>")
    if not passages or not before:
        return text, passages
    question = _between(rest, "<user_query>", "</user_query>") or rest
    return question.strip() or before.partition("<context>")[0].strip(), passages


def _between(text: str, start: str, end: str) -> str:
    """Return the text between the first `start` and the last `end`; empty if one is missing."""
    after = text.partition(start)[2]
    return after.rpartition(end)[0]


def passages_of(text: str) -> list[AnswerSource]:
    """Return the passages in a chat app's prompt; empty if the format is unknown."""
    return list(_tagged(text)) or list(_numbered(text)) or list(_of_files(text))


def _tagged(text: str) -> Iterator[AnswerSource]:
    """Parse Open WebUI's format; answers cite these passages by their ``id``."""
    # The text before the first tag, then attributes and bodies in alternation.
    _, *parts = _SOURCE.split(_between(text, "<context>", "</context>"))
    for attributes, body in zip(parts[::2], parts[1::2], strict=True):
        named = dict(_ATTRIBUTE.findall(attributes))
        passage = body.partition("</source>")[0].strip()
        yield AnswerSource(Source(passage, named.get("name", "")), label=named.get("id", ""))


def _numbered(text: str) -> Iterator[AnswerSource]:
    """Parse AnythingLLM's system prompt."""
    for body in _NUMBERED.split(text)[1:]:
        metadata = _METADATA.match(body)
        name = _NAME.search(metadata[1]) if metadata else None
        passage = (body[metadata.end() :] if metadata else body).partition("[END CONTEXT ")[0]
        yield AnswerSource(Source(passage.strip(), name[1].strip() if name else ""))


def _of_files(text: str) -> Iterator[AnswerSource]:
    """Parse LibreChat's format for attached files."""
    for file in text.split("<file>")[1:]:
        name = file.partition("<filename>")[2].partition("</filename>")[0].strip()
        body = file.partition("<context>")[2].partition("</context>")[0]
        for item in _ITEM.split(body)[1::2] or [body]:
            if item.strip():
                yield AnswerSource(Source(item.strip(), name))


_TASK = re.compile(r"\s*### Task:\s*(.*?)\n### ", re.DOTALL)
_TITLE = re.compile(
    r"\s*(?:Provide|Please generate|Generate) a concise[^.\n]{0,80}\btitle\b", re.IGNORECASE
)
_LINE = re.compile(r"\s*(?:(user|human)|assistant|ai): *(.*)", re.IGNORECASE)
LONGEST_TITLE = 60
"""Maximum length of a conversation title."""


def side_task(turns: Sequence[Turn]) -> str | None:
    r"""Return the reply to a chat app's side task; None for a question.

    A title is the first question, shortened to one line; a search query is the last question. Tags
    and follow-up questions are always empty, because nothing is invented.

    Example:
        >>> said = "Provide a concise, 5-word-or-less title.\n\nConversation:\nUser: Who sang?\nAI: Bing"
        >>> side_task([Turn("user", said)])
        'Who sang?'
    """
    text = next((turn.text for turn in reversed(turns) if turn.role == "user"), "")
    task = _TASK.match(text)
    if task is None and not _TITLE.match(text):
        return None
    found = [_LINE.fullmatch(line) for line in text.splitlines()]
    questions = [each[2] for each in found if each is not None and each[1] and each[2].strip()]
    if not questions:
        questions = [turn.text for turn in turns if turn.role == "user" and turn.text != text]
    title = " ".join(questions[0].split()) if questions else "Conversation"
    if len(title) > LONGEST_TITLE:
        title = title[: LONGEST_TITLE - 1].rsplit(" ", 1)[0] + "…"
    if task is None:
        return title
    kind = task[1].lower()
    reply: dict[str, object] | None = None
    if "title" in kind:
        reply = {"title": title}
    elif "follow-up" in kind:
        reply = {"follow_ups": []}
    elif "tags" in kind:
        reply = {"tags": []}
    elif "search quer" in kind:
        reply = {"queries": questions[-1:]}
    elif "autocomplet" in kind:
        reply = {"text": ""}
    return None if reply is None else json.dumps(reply, ensure_ascii=False)
