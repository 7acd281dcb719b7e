"""Prompts and exemplars, and the escaping of control tokens in untrusted text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from semqa.history import Exchange
from semqa.quotes import Source


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A solved question."""

    question: str
    sources: tuple[Source, ...]
    answer: str
    qid: str = ""
    unique_id: str = ""


class ExemplarSelector(Protocol):
    """Chooses exemplars for a question, other than the question itself."""

    def select(self, question: str, count: int) -> Sequence[Exemplar]:
        """Choose `count` exemplars, the most useful first."""
        ...

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """Prepare `select` for many questions at once. Optional; it only saves time."""
        ...

    def identity(self) -> Mapping[str, object]:
        """Return what the choice depends on, as a JSON-ready object for the record of a run."""
        ...


Role = Literal["system", "user", "assistant"]

Form = Literal["auto", "chat", "completion"]
"""The form of a prompt: messages, one text, or what the model supports."""

Answers = Literal["quotes", "citations"]
"""The format of answers: marks around quoted spans, or ``[1]`` at the ends of sentences."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str

    def to_dict(self) -> dict[str, str]:
        """Return the message as a dictionary for chat templates and APIs."""
        return {"role": self.role, "content": self.content}


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt in both forms, chat and completion.

    Attributes:
        messages: the chat form: an optional system message, a user and an assistant turn for each
            exemplar, and a user turn with the question.
        text: the completion form, without trailing white space.
        form: the requested form; ``auto`` means chat if the model has a chat template.
        stop: stop strings for the completion form, such as the label of the next question.
        answers: the format of answers. The copy constraint works with ``quotes`` only.
        exemplars: the exemplars in the order of the prompt, the most similar one last.
        dropped: number of chosen exemplars that did not fit.
        sources: the sources that the prompt shows, perhaps in excerpts.
    """

    messages: tuple[Message, ...]
    text: str
    form: Form
    stop: tuple[str, ...]
    answers: Answers
    exemplars: tuple[Exemplar, ...]
    template: str
    version: str
    sha256: str
    dropped: int = 0
    history: tuple[Exchange, ...] = ()
    sources: tuple[Source, ...] = ()

    @classmethod
    def plain(cls, text: str, form: Form = "auto") -> Prompt:
        """Return a prompt with one user message, without a template.

        Example:
            >>> Prompt.plain("Who? ").messages
            (Message(role='user', content='Who?'),)
        """
        asked = text.rstrip()
        return cls((Message("user", asked),), asked, form, (), "quotes", (), "", "", "")

    @property
    def folded(self) -> tuple[Message, ...]:
        r"""The messages for models without a system role.

        The system message is put at the beginning of the first user turn.

        Example:
            >>> turns = (Message("system", "Quote."), Message("user", "Who?"))
            >>> Prompt(turns, "", "chat", (), "quotes", (), "t", "1", "").folded
            (Message(role='user', content='Quote.\n\nWho?'),)
        """
        if not self.messages or self.messages[0].role != "system":
            return self.messages
        system, user, *rest = self.messages
        return (Message("user", f"{system.content}\n\n{user.content}"), *rest)

    def to_dict(self) -> dict[str, object]:
        """Return the prompt as a JSON-ready object, with the ids of its exemplars."""
        return {
            "template": self.template,
            "version": self.version,
            "sha256": self.sha256,
            "answers": self.answers,
            "form": self.form,
            "exemplars": [
                {
                    "qid": exemplar.qid,
                    "unique_id": exemplar.unique_id,
                    "question": exemplar.question,
                }
                for exemplar in self.exemplars
            ],
            "dropped": self.dropped,
            "messages": [message.to_dict() for message in self.messages],
            "text": self.text,
        }


class Spelling:
    """Puts spaces between the characters of reserved strings, so that they do not become control tokens.

    Reserved strings of one character are unchanged.

    Args:
        reserved: the strings; there may be thousands.

    Example:
        >>> Spelling(["<s>", "</s>"])("a </s> b")
        'a < / s > b'
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._reserved = frozenset(r for r in reserved if len("".join(r.split())) > 1)
        # The lengths of the reserved strings by their first two characters.
        self._lengths: dict[str, set[int]] = {}
        for string in self._reserved:
            self._lengths.setdefault(string[:2], set()).add(len(string))
        starts = "|".join(map(re.escape, sorted(self._lengths)))
        self._start = re.compile(f"(?=({starts}))")
        # Longer than any run of spaces in a reserved string, so that none can span a gap.
        gaps = (gap for string in self._reserved for gap in re.findall(r"\s+", string))
        self._gap = " " * (1 + max(map(len, gaps), default=0))

    def __call__(self, text: str) -> str:
        """Return the text with every reserved string spelled out."""
        if not self._reserved:
            return text
        # Repeat, because the rest of one may form another with its neighbours. Each round separates
        # at least two characters for good, so it ends.
        while present := self._present(text):
            for found in sorted(present, key=len, reverse=True):
                text = text.replace(found, self._gap.join("".join(found.split())))
        return text

    def _present(self, text: str) -> list[str]:
        found = {
            piece
            for match in self._start.finditer(text)
            for length in self._lengths[match[1]]
            if (piece := text[match.start() : match.start() + length]) in self._reserved
        }
        return sorted(found)
