"""Prompts and exemplars: what a model is given, with control tokens in the text of others made harmless."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
    """Chooses exemplars for a question; never the question itself."""

    def select(self, question: str, count: int) -> Sequence[Exemplar]:
        """Choose `count` exemplars, the most useful first."""
        ...

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """Do for many questions at once what `select` needs; calling it is never necessary."""
        ...

    def identity(self) -> Mapping[str, object]:
        """Return what the choice depends on, ready for JSON, for the record of a run."""
        ...


Role = Literal["system", "user", "assistant"]

Form = Literal["auto", "chat", "completion"]
"""How a prompt is given to a model: as messages, as one text, or as the model likes it best."""

Answers = Literal["quotes", "citations"]
"""What a prompt asks for: marks around quoted spans, or ``[1]`` at the ends of sentences."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str

    def to_dict(self) -> dict[str, str]:
        """Return the message as chat templates and APIs take it."""
        return {"role": self.role, "content": self.content}


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is given, in both forms.

    Attributes:
        messages: the chat form: perhaps a system message, a user and an assistant turn for each
            exemplar, and the user turn with the question last.
        text: the completion form, which a model continues; it ends without white space.
        form: the form that was asked for; ``auto`` leaves it to the engine (chat where the model
            has a chat template).
        stop: texts that end an answer in the completion form, such as the label of a next question.
        answers: what the prompt asks for. The copy constraint fits ``quotes`` only.
        exemplars: the exemplars used, as they stand in the prompt: the most similar one last.
        dropped: how many exemplars were chosen and left out, because they did not fit.
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

    @classmethod
    def plain(cls, text: str, form: Form = "auto") -> Prompt:
        """Return a prompt that is one text, or one message of a user, and is made of no template.

        Example:
            >>> Prompt.plain("Who? ").messages
            (Message(role='user', content='Who?'),)
        """
        asked = text.rstrip()
        return cls((Message("user", asked),), asked, form, (), "quotes", (), "", "", "")

    @property
    def folded(self) -> tuple[Message, ...]:
        r"""The messages without a system turn, for models that know none.

        What the system message says stands at the beginning of the first user turn instead.

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
        """Return the prompt as a JSON-ready object; exemplars by their ids."""
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
    """Spells reserved strings character by character, with spaces between.

    A reserved string of one character stays as it is: there is nothing to put between.

    Args:
        reserved: the strings; thousands are fine, as vocabularies have them.

    Example:
        >>> Spelling(["<s>", "</s>"])("a </s> b")
        'a < / s > b'
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._reserved = frozenset(r for r in reserved if len("".join(r.split())) > 1)
        # Where one may begin: few starts for thousands of strings; and how long those can be.
        self._lengths: dict[str, set[int]] = {}
        for string in self._reserved:
            self._lengths.setdefault(string[:2], set()).add(len(string))
        starts = "|".join(map(re.escape, sorted(self._lengths)))
        self._start = re.compile(f"(?=({starts}))")
        # More spaces than any reserved string has in a row, so that none can span a gap.
        gaps = (gap for string in self._reserved for gap in re.findall(r"\s+", string))
        self._gap = " " * (1 + max(map(len, gaps), default=0))

    def __call__(self, text: str) -> str:
        """Return the text with every reserved string spelled out."""
        if not self._reserved:
            return text
        # What is left of one may meet its neighbours as another: hence until there is none. Each
        # round parts at least two characters for good, so it ends.
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
