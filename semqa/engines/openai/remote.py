"""A model behind an endpoint: how a prompt is put to it, and what the endpoint turns out to take."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from semqa.engines.openai.replies import Piece, read_reply
from semqa.engines.openai.transport import RefusedError
from semqa.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from semqa.engines.openai.options import OpenAIOptions
    from semqa.engines.openai.transport import Sink, Transport
    from semqa.prompting import Form, Message, Prompt

__all__ = ["RemoteModel", "Wording", "check_length"]

_T = TypeVar("_T")
_NO_TEMPLATE = re.compile(r"chat[ _]template", re.IGNORECASE)
_NO_TEMPERATURE = re.compile(
    r"(?:unsupported|not support).{0,80}temperature|temperature.{0,80}(?:unsupported|not support)",
    re.IGNORECASE | re.DOTALL,
)
_NO_SYSTEM = re.compile(r"system.{0,20}role|role.{0,20}system", re.IGNORECASE | re.DOTALL)
_CHARACTERS_A_TOKEN = 256


class Wording(NamedTuple):
    """What is asked, in both forms.

    Attributes:
        messages: the chat form.
        folded: the same, without a system message.
        text: the completion form.
        form: which of them is wanted.
        stops: texts that end the completion form's answer.
    """

    messages: Sequence[Message]
    folded: Sequence[Message]
    text: str
    form: Form
    stops: tuple[str, ...] = ()

    @classmethod
    def of(cls, prompt: Prompt) -> Wording:
        """Return the wording of a prompt."""
        return cls(prompt.messages, prompt.folded, prompt.text, prompt.form, prompt.stop)


class RemoteModel:
    """Asks one model of an endpoint, in the form that the endpoint takes.

    Args:
        name: of the model, as the endpoint knows it.
        transport: makes the requests.

    Attributes:
        has_chat: whether the endpoint takes messages; None until it is known.
        takes_schemas: False once the endpoint has refused a JSON schema.
    """

    def __init__(self, name: str, transport: Transport) -> None:
        self.name = name
        self.transport = transport
        self.has_chat: bool | None = None
        self.takes_schemas = True
        self._has_system = True
        self._has_temperature = True
        self._budget = "max_tokens"

    def chats(self, form: Form) -> bool:
        """Whether a prompt of this form is given as messages, by what is known."""
        return form != "completion" and (form == "chat" or self.has_chat is not False)

    async def ask(
        self,
        wording: Wording,
        options: OpenAIOptions,
        fields: Mapping[str, object],
        budget: int | None = None,
    ) -> Piece:
        """Return what the model answers.

        Args:
            wording: what is asked.
            options: how to decode.
            fields: further fields of the request.
            budget: most tokens; by default as in the options.

        Raises:
            RefusedError: the endpoint refuses the request.
            UnavailableError: there is no whole answer.
        """
        most = budget or options.max_new_tokens

        async def send(*, chat: bool) -> Piece:
            path, body = self._request(wording, options, most, chat=chat)
            piece = read_reply(await self.transport.post(path, {**body, **fields}), chat=chat)
            check_length(len(piece.text), most)
            return piece

        return await self._adapting(wording, send)

    async def stream(
        self,
        wording: Wording,
        options: OpenAIOptions,
        fields: Mapping[str, object],
        sink_for: Callable[[bool], Sink],
    ) -> None:
        """Hand out what the model answers, event by event.

        Args:
            wording: what is asked.
            options: how to decode.
            fields: further fields of the request.
            sink_for: makes what takes the events, told whether they are those of a chat.

        Raises:
            RefusedError: the endpoint refuses the request.
            UnavailableError: there is no whole answer.
        """
        more = {**fields, "stream": True, "stream_options": {"include_usage": True}}

        async def send(*, chat: bool) -> None:
            path, body = self._request(wording, options, options.max_new_tokens, chat=chat)
            await self.transport.stream(path, {**body, **more}, sink_for(chat))

        await self._adapting(wording, send)

    async def _adapting(self, wording: Wording, send: Callable[..., Awaitable[_T]]) -> _T:
        """Send, and once more in another form where the endpoint says that it does not take one."""
        while True:
            chat, system, budget = self.chats(wording.form), self._has_system, self._budget
            temperature = self._has_temperature
            try:
                return await send(chat=chat)
            except RefusedError as error:
                if chat and wording.form == "auto" and _lacks_chat(error):
                    self.has_chat = False
                elif "max_completion_tokens" in error.detail and budget == "max_tokens":
                    self._budget = "max_completion_tokens"
                elif temperature and _NO_TEMPERATURE.search(error.detail):
                    self._has_temperature = False  # models that think before have none
                elif chat and system and _NO_SYSTEM.search(error.detail):
                    self._has_system = False
                else:
                    raise

    def _request(
        self, wording: Wording, options: OpenAIOptions, budget: int, *, chat: bool
    ) -> tuple[str, dict[str, object]]:
        body: dict[str, object] = {
            "model": self.name,
            self._budget: budget,
            "seed": options.seed,
        }
        if self._has_temperature:
            body["temperature"] = options.temperature
        if options.top_p < 1 and self._has_temperature:
            body["top_p"] = options.top_p
        if options.top_k:
            body["top_k"] = options.top_k
        if chat:
            messages = wording.messages if self._has_system else wording.folded
            body["messages"] = [message.to_dict() for message in messages]
            return "/chat/completions", body
        body["prompt"] = wording.text
        if wording.stops:
            body["stop"] = list(wording.stops)
        return "/completions", body


def check_length(characters: int, budget: int) -> None:
    """See that an answer is not longer than its tokens can be.

    Raises:
        UnavailableError: it is.
    """
    most = (budget + 16) * _CHARACTERS_A_TOKEN
    if characters > most:
        raise UnavailableError(
            f"endpoint: more than was asked for: got {characters:,} characters for {budget:,} "
            f"tokens, expected at most {most:,}; ask another server"
        )


def _lacks_chat(error: RefusedError) -> bool:
    """Whether a refusal says that there is no chat, rather than no such model."""
    if error.status == 400:
        return _NO_TEMPLATE.search(error.detail) is not None
    return error.status in {404, 405, 501} and "model" not in error.detail.casefold()
