"""A model behind an endpoint: its requests, in the form that the endpoint accepts."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from semqa.engines.openai.client import RefusedError, Transport
from semqa.engines.openai.replies import Piece, StreamAccumulator, check_length, read_reply
from semqa.engines.options import OpenAIOptions
from semqa.prompting import Form, Prompt

_T = TypeVar("_T")
_NO_TEMPLATE = re.compile(r"chat[ _]template", re.IGNORECASE)
_NO_TEMPERATURE = re.compile(
    r"(?:unsupported|not support).{0,80}temperature|temperature.{0,80}(?:unsupported|not support)",
    re.IGNORECASE | re.DOTALL,
)
_NO_SYSTEM = re.compile(r"system.{0,20}role|role.{0,20}system", re.IGNORECASE | re.DOTALL)


class RemoteModel:
    """Sends requests to one model of an endpoint, adapting their form when one is rejected."""

    def __init__(self, name: str, transport: Transport) -> None:
        self.name = name
        self.transport = transport
        self.has_chat: bool | None = None
        self.takes_schemas = True
        self._has_system = True
        self._has_temperature = True
        self._budget = "max_tokens"

    def chats(self, form: Form) -> bool:
        """Whether prompts of this form are sent as chat messages, as far as is known."""
        return form != "completion" and (form == "chat" or self.has_chat is not False)

    async def ask(
        self,
        prompt: Prompt,
        options: OpenAIOptions,
        fields: Mapping[str, object],
        budget: int | None = None,
    ) -> Piece:
        """Return the model's reply."""
        max_tokens = budget or options.max_new_tokens

        async def send(*, chat: bool) -> Piece:
            path, body = self._request(prompt, options, max_tokens, chat=chat)
            piece = read_reply(await self.transport.post(path, {**body, **fields}), chat=chat)
            check_length(len(piece.text), max_tokens)
            return piece

        return await self._with_fallback(prompt, send)

    async def stream(
        self,
        prompt: Prompt,
        options: OpenAIOptions,
        fields: Mapping[str, object],
        make_accumulator: Callable[[bool], StreamAccumulator],
    ) -> None:
        """Pass the events of the reply to an accumulator made for a chat or a completion."""
        all_fields = {**fields, "stream": True, "stream_options": {"include_usage": True}}

        async def send(*, chat: bool) -> None:
            path, body = self._request(prompt, options, options.max_new_tokens, chat=chat)
            await self.transport.stream(path, {**body, **all_fields}, make_accumulator(chat))

        await self._with_fallback(prompt, send)

    async def _with_fallback(self, prompt: Prompt, send: Callable[..., Awaitable[_T]]) -> _T:
        """Send a request; if the endpoint rejects its form, adapt the form and send it again."""
        while True:
            chat, system, budget = self.chats(prompt.form), self._has_system, self._budget
            temperature = self._has_temperature
            try:
                return await send(chat=chat)
            except RefusedError as error:
                if chat and prompt.form == "auto" and _lacks_chat(error):
                    self.has_chat = False
                elif "max_completion_tokens" in error.detail and budget == "max_tokens":
                    self._budget = "max_completion_tokens"
                elif temperature and _NO_TEMPERATURE.search(error.detail):
                    self._has_temperature = False  # reasoning models do not support it
                elif chat and system and _NO_SYSTEM.search(error.detail):
                    self._has_system = False
                else:
                    raise

    def _request(
        self, prompt: Prompt, options: OpenAIOptions, budget: int, *, chat: bool
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
            messages = prompt.messages if self._has_system else prompt.folded
            body["messages"] = [message.to_dict() for message in messages]
            return "/chat/completions", body
        body["prompt"] = prompt.text
        if prompt.stop:
            body["stop"] = list(prompt.stop)
        return "/completions", body


def _lacks_chat(error: RefusedError) -> bool:
    """Return whether an error means that chat is unavailable, not that the model is unknown."""
    if error.status == 400:
        return _NO_TEMPLATE.search(error.detail) is not None
    return error.status in {404, 405, 501} and "model" not in error.detail.casefold()
