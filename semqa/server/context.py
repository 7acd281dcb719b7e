"""From the messages of a conversation to one question, what it refers to, and what it brings along.

Chat apps put passages that they retrieved into a prompt of their own, and ask for titles, tags and
next questions in the form of a question. Both are recognised here.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from semqa.errors import InputError
from semqa.history import Exchange
from semqa.quotes import QuotedAnswer, Source
from semqa.server.answering import Given

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Turn(NamedTuple):
    """One message of a conversation.

    Attributes:
        role: ``user``, ``assistant``, ``system`` or another that the interface knows.
    """

    role: str
    text: str


class Conversation(NamedTuple):
    """What a conversation asks for.

    Attributes:
        given: passages that a chat app put into its prompt.
        unread: places of messages without effect: instructions, results of tools.
    """

    question: str
    history: list[Exchange]
    given: list[Given]
    unread: list[int]


def exchanges(turns: Sequence[Turn]) -> list[Exchange]:
    """Return the questions of a conversation, each with what was answered, without marks.

    Example:
        >>> exchanges([Turn("user", "Who sang it?"), Turn("assistant", "[ 1 Bing ] did.")])
        [Exchange(question='Who sang it?', answer='Bing did.')]
    """
    found: list[Exchange] = []
    for turn in turns:
        if turn.role == "user" and turn.text.strip():
            found.append(Exchange(turn.text))
        elif turn.role == "assistant" and found:
            said = QuotedAnswer.parse(turn.text, ()).plain
            found[-1] = Exchange(found[-1].question, f"{found[-1].answer} {said}".strip())
    return found


def read_conversation(turns: Sequence[Turn], field: str) -> Conversation:
    """Return the last question, and what was said before."""
    for at in range(len(turns) - 1, -1, -1):
        if turns[at].role == "user" and turns[at].text.strip():
            question, given = _without_passages(turns[at].text)
            unread = []
            for place, turn in enumerate(turns):
                if turn.role in ("user", "assistant") or not turn.text.strip():
                    continue
                found = passages_of(turn.text) if turn.role in ("system", "developer") else []
                given += found
                if not found:
                    unread.append(place)
            return Conversation(question, exchanges(turns[:at]), given, unread)
    raise InputError("must have a message of the user with a question.", field=field)


# Prompts come from the network: each of these reads a text once, however it is made.
_SOURCE = re.compile(r"<source\b([^<>]{0,500})>")
_ATTRIBUTE = re.compile(r'(?<![\w-])([\w-]+)="([^"]*)"')
_NUMBERED = re.compile(r"\[CONTEXT \d+\]:\n")
_METADATA = re.compile(r"\s*<document_metadata>(.*?)</document_metadata>\s*", re.DOTALL)
_NAME = re.compile(r"^(?:sourceDocument|title): *(.+)$", re.MULTILINE)
_ITEM = re.compile(r"<!\[CDATA\[|\]\]>")


def _without_passages(text: str) -> tuple[str, list[Given]]:
    """Split a prompt of Open WebUI or LibreChat into the question and the passages."""
    given = passages_of(text)
    before, _, rest = text.rpartition("</context>")
    if not given or not before:
        return text, given
    asked = _between(rest, "<user_query>", "</user_query>") or rest
    return asked.strip() or before.partition("<context>")[0].strip(), given


def _between(text: str, start: str, end: str) -> str:
    """Return what stands between the first start and the last end; nothing without both."""
    after = text.partition(start)[2]
    return after.rpartition(end)[0]


def passages_of(text: str) -> list[Given]:
    """Return the passages that a chat app put into a prompt; none if it is of another form."""
    return list(_tagged(text)) or list(_numbered(text)) or list(_of_files(text))


def _tagged(text: str) -> Iterator[Given]:
    """Read what Open WebUI writes; answers cite such a passage by its ``id``."""
    # What stands before the first tag, then attributes and what follows, by turns.
    _, *parts = _SOURCE.split(_between(text, "<context>", "</context>"))
    for attributes, body in zip(parts[::2], parts[1::2], strict=True):
        named = dict(_ATTRIBUTE.findall(attributes))
        passage = body.partition("</source>")[0].strip()
        yield Given(Source(passage, named.get("name", "")), label=named.get("id", ""))


def _numbered(text: str) -> Iterator[Given]:
    """Read what AnythingLLM writes into its system prompt."""
    for body in _NUMBERED.split(text)[1:]:
        told = _METADATA.match(body)
        name = _NAME.search(told[1]) if told else None
        passage = (body[told.end() :] if told else body).partition("[END CONTEXT ")[0]
        yield Given(Source(passage.strip(), name[1].strip() if name else ""))


def _of_files(text: str) -> Iterator[Given]:
    """Read what LibreChat writes of attached files."""
    for file in text.split("<file>")[1:]:
        name = file.partition("<filename>")[2].partition("</filename>")[0].strip()
        body = file.partition("<context>")[2].partition("</context>")[0]
        for item in _ITEM.split(body)[1::2] or [body]:
            if item.strip():
                yield Given(Source(item.strip(), name))


_TASK = re.compile(r"\s*### Task:\s*(.*?)\n### ", re.DOTALL)
_TITLE = re.compile(
    r"\s*(?:Provide|Please generate|Generate) a concise[^.\n]{0,80}\btitle\b", re.IGNORECASE
)
_SAID = re.compile(r"\s*(?:(user|human)|assistant|ai): *(.*)", re.IGNORECASE)
LONGEST_TITLE = 60
"""Characters of a title for a conversation."""


def side_task(turns: Sequence[Turn]) -> str | None:
    r"""Return the reply to a task that a chat app has beside the conversation; None for a question.

    A title is the first question, cut to a line; a search query is the last one. There are no tags
    and no next questions: nothing is made up.

    Example:
        >>> said = "Provide a concise, 5-word-or-less title.\n\nConversation:\nUser: Who sang?\nAI: Bing"
        >>> side_task([Turn("user", said)])
        'Who sang?'
    """
    text = next((turn.text for turn in reversed(turns) if turn.role == "user"), "")
    task = _TASK.match(text)
    if task is None and not _TITLE.match(text):
        return None
    found = [_SAID.fullmatch(line) for line in text.splitlines()]
    asked = [each[2] for each in found if each is not None and each[1] and each[2].strip()]
    if not asked:
        asked = [turn.text for turn in turns if turn.role == "user" and turn.text != text]
    told = " ".join(asked[0].split()) if asked else "Conversation"
    title = (
        told if len(told) <= LONGEST_TITLE else told[: LONGEST_TITLE - 1].rsplit(" ", 1)[0] + "…"
    )
    if task is None:
        return title
    what = task[1].lower()
    reply: dict[str, object] | None = None
    if "title" in what:
        reply = {"title": title}
    elif "follow-up" in what:
        reply = {"follow_ups": []}
    elif "tags" in what:
        reply = {"tags": []}
    elif "search quer" in what:
        reply = {"queries": asked[-1:]}
    elif "autocomplet" in what:
        reply = {"text": ""}
    return None if reply is None else json.dumps(reply, ensure_ascii=False)
