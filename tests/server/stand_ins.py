"""Fake engines, collections and stores, without models or disk, that can misbehave."""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from semqa import QuotedAnswer, Source
from semqa.engines import Request
from semqa.engines.base import Generation
from semqa.errors import NotFoundError
from semqa.retrieval.passages import Found
from semqa.server.store import MessageInfo, Role


class Written:
    """Answers with a fixed text."""

    name = "written"

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked: list[Request] = []

    def answer(self, question: str, sources: Sequence[Source], history: Any = ()) -> QuotedAnswer:
        self.asked.append(Request(question, sources, history))
        return QuotedAnswer.parse(self.text, sources)


class Scripted(Written):
    """Streams a fixed text in pieces."""

    name = "scripted:x"

    def __init__(
        self, pieces: Sequence[str], fails: Exception | None = None, delay: float = 0.0
    ) -> None:
        super().__init__("".join(pieces))
        self.pieces, self.fails, self.delay = pieces, fails, delay
        self.closed = 0

    def stream(
        self, question: str, sources: Sequence[Source], history: Any = ()
    ) -> Generator[str, None, Generation | None]:
        self.asked.append(Request(question, sources, history))
        try:
            for piece in self.pieces:
                if self.delay:
                    time.sleep(self.delay)
                yield piece
            if self.fails is not None:
                raise self.fails
        except GeneratorExit:
            self.closed += 1
            raise
        return None


class Slow(Scripted):
    """Streams words until it is stopped."""

    name = "slow:x"

    def __init__(self) -> None:
        super().__init__([])
        self.begun = 0
        self.stopped = threading.Semaphore(0)

    def stream(
        self, question: str, sources: Sequence[Source], history: Any = ()
    ) -> Generator[str, None, Generation | None]:
        self.asked.append(Request(question, sources, history))
        self.begun += 1
        try:
            for n in itertools.count():
                time.sleep(0.01)
                yield f"word{n} "
        finally:
            self.stopped.release()
        return None


@dataclass(frozen=True)
class Info:
    name: str


@dataclass
class Collection:
    name: str
    texts: list[str]

    def search(self, query: str, limit: int = 8) -> list[Found]:
        words = set(re.findall(r"\w+", query.lower()))
        found = []
        for n, text in enumerate(self.texts):
            score = len(words & set(re.findall(r"\w+", text.lower())))
            url = f"semqa://{self.name}/d{n}#char=0,{len(text)}"
            source, name = Source(text, f"title {n}", url), f"{self.name}{n}.txt"
            found.append(Found(source, f"d{n}", name, 0, len(text), None, float(score)))
        return sorted((each for each in found if each.score), key=lambda f: -f.score)[:limit]


class Library:
    def __init__(self, **collections: list[str]) -> None:
        self._held: dict[tuple[str, str], Collection] = {}
        for name, texts in collections.items():
            self.add("", name, texts)

    def add(self, owner: str, name: str, texts: list[str]) -> None:
        self._held[owner, name] = Collection(name, texts)

    def collections(self, owner: str = "") -> list[Info]:
        return [Info(name) for own, name in self._held if own == owner]

    def collection(self, owner: str, name: str) -> Collection:
        if (owner, name) not in self._held:
            raise NotFoundError(f"collection: got {name!r}, expected one that there is; create it")
        return self._held[owner, name]


@dataclass
class Conversation:
    messages: list[MessageInfo] = field(default_factory=list)


class Store:
    def __init__(self, **keys: str) -> None:
        self.secrets = keys
        self.kept: dict[tuple[str, str], Conversation] = {}
        self.before_add: Callable[[], None] = lambda: None

    def keys(self) -> list[str]:
        return list(self.secrets)

    def check(self) -> None:
        self.keys()

    def close(self) -> None:
        pass

    def owner_of(self, secret: str) -> str | None:
        return next((owner for owner, key in self.secrets.items() if key == secret), None)

    def conversation(self, owner: str, id: str) -> Conversation:  # noqa: A002
        if (owner, id) not in self.kept:
            raise NotFoundError(f"conversation: got {id!r}, expected one that there is; create it")
        return self.kept[owner, id]

    def add_message(
        self,
        owner: str,
        conversation: str,
        role: Role,
        content: dict[str, Any],
        *,
        replace: str | None = None,
    ) -> MessageInfo:
        self.before_add()
        message = MessageInfo("msg_1", role, content, "")
        self.conversation(owner, conversation).messages.append(message)
        return message
