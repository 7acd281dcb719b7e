"""A finished prompt: what a model is given, and what it was made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from semqa.prompting.exemplar import Exemplar

__all__ = ["Answers", "Form", "Message", "Prompt", "Role"]

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
        template: the template's name.
        version: its version; empty for a template that states none.
        sha256: of its file.
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
