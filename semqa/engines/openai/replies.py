"""What a model is asked and what its replies become: text, why it ended, and how many tokens it took.

Replies are untrusted. The accumulator of a stream repairs quotes and ends an answer that quotes a text twice.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from semqa.engines.model.text import StoppedText
from semqa.engines.openai.client import RefusedError
from semqa.errors import UnavailableError
from semqa.quotes.marks import canonical_mark
from semqa.quotes.pointing import UsedText
from semqa.quotes.repair import Repairer, Repairs
from semqa.quotes.words import leaks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from semqa.engines.openai.client import Transport
    from semqa.engines.openai.options import OpenAIOptions
    from semqa.prompting import Form, Prompt
    from semqa.quotes import Source

_ENDED = ("stop", "eos", "end_turn", "stop_sequence")
_CUT_OFF = ("length", "max_tokens")


class Usage(NamedTuple):
    """Tokens read and written; None where the endpoint does not say."""

    prompt_tokens: int | None = None
    new_tokens: int | None = None


class Piece(NamedTuple):
    """A whole reply, or a piece of one; `finished` is None until it is said how it ended."""

    text: str
    finished: bool | None
    usage: Usage | None


def read_reply(value: object, *, chat: bool, event: bool = False) -> Piece:
    """Read a whole reply, or an event of a stream, whose text may be missing."""
    reply = value if isinstance(value, dict) else {}
    if event and reply.get("error"):
        raise UnavailableError(f"The endpoint failed while answering: {_shown(reply['error'])}.")
    choices, told = reply.get("choices"), reply.get("usage")
    usage = None
    if isinstance(told, dict):
        usage = Usage(*(_count(told.get(name)) for name in ("prompt_tokens", "completion_tokens")))
    if event and choices == []:  # the event with the usage
        return Piece("", None, usage)
    if not isinstance(choices, list) or not choices:
        raise _malformed("no choices", value)
    choice = choices[0]
    if not isinstance(choice, dict):
        raise _malformed("a choice that is no object", value)
    reason = choice.get("finish_reason")
    if reason not in (None, *_ENDED, *_CUT_OFF):
        raise UnavailableError(
            f"The endpoint's answer is incomplete: finish_reason is {_shown(reason)}."
        )
    said = choice.get("delta" if event else "message") if chat else choice
    if said is None and event and reason is not None:
        said = {}
    if not isinstance(said, dict):
        raise _malformed("a choice without a message", choice)
    text = said.get("content" if chat else "text")
    if text is None:  # where a model thought, or ended at once
        text = ""
    if not isinstance(text, str):
        raise _malformed("an answer that is no text", choice)
    if reason is None and not event:
        raise _malformed("no finish_reason", choice)
    return Piece(
        text if event else _sound(text), None if reason is None else reason in _ENDED, usage
    )


def _count(value: object) -> int | None:
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if known else None  # type: ignore[return-value]  # an int by then


def _sound(text: str) -> str:
    """Return a text without halves of characters, which JSON can hold and nothing can print."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _malformed(what: str, value: object) -> UnavailableError:
    return UnavailableError(
        f"Not an answer of an OpenAI-compatible endpoint: {what} in {_shown(value)}. Check --base-url."
    )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:199] + "…"


_MARK = re.compile(r"\[ ([1-9][0-9]{0,8}) ([^\[\]]+) \]")
_OPEN = re.compile(r"\[ ([1-9][0-9]{0,8}) ([^\[\]]+)$")


class QuotesOnce:
    """Holds back of a text what may turn out to repeat a quote, or not to end in a quote.

    Attributes:
        repeated: the mark that quotes a text again; the answer ends before it.

    Example:
        >>> from semqa import Source
        >>> text = QuotesOnce([Source("Bing Crosby sang it.")])
        >>> [text.add(piece) for piece in ("By [ 1 Bing ", "Crosby ]", " and", " [ 1 Crosby ], so")]
        ['By ', '[ 1 Bing Crosby ]', '', '.']
        >>> text.repeated
        '[ 1 Crosby ]'
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._used = UsedText(sources)
        self._held = ""
        self._quoted = False
        self.repeated: str | None = None

    def add(self, piece: str) -> str:
        """Take one more piece, and return the text that is sure now."""
        if self.repeated is not None:
            return ""
        text, sure = self._held + piece, ""
        at = 0
        for mark in _MARK.finditer(text):
            if not self._takes(int(mark[1]), mark[2]):
                self._held, self.repeated = "", mark[0]
                return sure + "."
            self._quoted = True
            sure += text[at : mark.end()]
            at = mark.end()
        if not self._quoted:  # the first quote repeats nothing
            opening = text.find("[", at)
            end = len(text) if opening < 0 else opening
            sure += text[at:end]
            at = end
        self._held = text[at:]
        return sure

    def end(self, *, whole: bool) -> str:
        """Return the rest: if the model did not end by itself, no half run and no half quote."""
        held, self._held = self._held, ""
        if whole or self.repeated is not None:
            return held
        opened = _OPEN.search(held)
        span = re.sub(r"\s+\S*$", "", opened[2]) if opened else ""
        if opened and span and leaks(span) and self._takes(int(opened[1]), span):
            return held[: opened.start()] + canonical_mark(int(opened[1]), span)
        return "." if self._quoted else held

    def _takes(self, number: int, span: str) -> bool:
        """Whether a quote repeats nothing; one that is not in its source is for others to judge."""
        if number > len(self._sources):
            return True
        source = self._sources[number - 1]
        if span not in source.title and span not in source.text:
            return True
        return self._used.add(number, span)


class AnswerSink:
    """Takes the events of a stream.

    Args:
        sources: to repair quotes by; None leaves the text as it is.
        once: whether the answer ends where a text is quoted again.
    """

    def __init__(
        self,
        show: Callable[[str], None],
        sources: Sequence[Source] | None,
        stops: Sequence[str],
        budget: int,
        *,
        chat: bool,
        once: bool = False,
    ) -> None:
        self._show = show
        self._sources = sources
        self._stops = stops
        self._budget = budget
        self._chat = chat
        self._once = once
        self.shown = 0  # characters
        self.begin()

    def begin(self) -> None:
        """Start from nothing."""
        self._repairer = None if self._sources is None else Repairer(self._sources)
        self._text = StoppedText(self._stops)
        self._quotes = QuotesOnce(self._sources) if self._once and self._sources else None
        self._written: list[str] = []
        self._joined: list[str] = []
        self._length = 0
        self._finished: bool | None = None
        self._usage: Usage | None = None

    @property
    def whole(self) -> bool:
        """Whether it is known how the answer ended."""
        return self._finished is not None

    @property
    def enough(self) -> bool:
        """Whether the model goes on behind the end of the answer."""
        return self._text.stopped or self._repeated is not None

    @property
    def _repeated(self) -> str | None:
        return None if self._quotes is None else self._quotes.repeated

    def take(self, value: object) -> None:
        """Take one event."""
        self._add(read_reply(value, chat=self._chat, event=True))

    def take_whole(self, value: object) -> None:
        """Take a reply in one piece."""
        self._add(read_reply(value, chat=self._chat))

    def end(self) -> tuple[Piece, str, Repairs | None, str | None]:
        """Show the rest; return what was written, what was shown, was repaired, and was repeated."""
        rest = self._text.end()
        self._written.append(rest)
        if self._quotes is not None:
            rest = self._quotes.add(rest) + self._quotes.end(whole=bool(self._finished))
        if self._repairer is not None:
            rest = self._repairer.add(rest) + self._repairer.end()
        self._put(rest)
        piece = Piece("".join(self._written), self._finished, self._usage)
        repairs = None if self._repairer is None else self._repairer.repairs
        return piece, "".join(self._joined), repairs, self._repeated

    def _add(self, piece: Piece) -> None:
        self._usage = piece.usage or self._usage
        if self._finished is not None:
            return
        self._length += len(piece.text)
        check_length(self._length, self._budget)
        sure = self._text.add(piece.text)
        self._written.append(sure)
        if self._quotes is not None:
            sure = self._quotes.add(sure)
        self._put(sure if self._repairer is None else self._repairer.add(sure))
        self._finished = piece.finished
        if self.enough:
            self._finished = True

    def _put(self, text: str) -> None:
        if text:
            self._joined.append(text)
            self.shown += len(text)
            self._show(text)


_T = TypeVar("_T")
_NO_TEMPLATE = re.compile(r"chat[ _]template", re.IGNORECASE)
_NO_TEMPERATURE = re.compile(
    r"(?:unsupported|not support).{0,80}temperature|temperature.{0,80}(?:unsupported|not support)",
    re.IGNORECASE | re.DOTALL,
)
_NO_SYSTEM = re.compile(r"system.{0,20}role|role.{0,20}system", re.IGNORECASE | re.DOTALL)
_CHARACTERS_A_TOKEN = 256


class RemoteModel:
    """Asks one model of an endpoint, in the form that the endpoint takes, as refusals tell it."""

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
        prompt: Prompt,
        options: OpenAIOptions,
        fields: Mapping[str, object],
        budget: int | None = None,
    ) -> Piece:
        """Return what the model answers."""
        most = budget or options.max_new_tokens

        async def send(*, chat: bool) -> Piece:
            path, body = self._request(prompt, options, most, chat=chat)
            piece = read_reply(await self.transport.post(path, {**body, **fields}), chat=chat)
            check_length(len(piece.text), most)
            return piece

        return await self._adapting(prompt, send)

    async def stream(
        self,
        prompt: Prompt,
        options: OpenAIOptions,
        fields: Mapping[str, object],
        sink_for: Callable[[bool], AnswerSink],
    ) -> None:
        """Hand out what the model answers, event by event, to a sink for a chat or a completion."""
        more = {**fields, "stream": True, "stream_options": {"include_usage": True}}

        async def send(*, chat: bool) -> None:
            path, body = self._request(prompt, options, options.max_new_tokens, chat=chat)
            await self.transport.stream(path, {**body, **more}, sink_for(chat))

        await self._adapting(prompt, send)

    async def _adapting(self, prompt: Prompt, send: Callable[..., Awaitable[_T]]) -> _T:
        """Send, and once more in another form where the endpoint says that it does not take one."""
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
                    self._has_temperature = False  # models that think before have none
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


def check_length(characters: int, budget: int) -> None:
    """See that an answer is not longer than its tokens can be."""
    most = (budget + 16) * _CHARACTERS_A_TOKEN
    if characters > most:
        raise UnavailableError(
            f"The endpoint ignored the token limit: {characters:,} characters for {budget:,} tokens."
        )


def _lacks_chat(error: RefusedError) -> bool:
    """Whether a refusal says that there is no chat, rather than no such model."""
    if error.status == 400:
        return _NO_TEMPLATE.search(error.detail) is not None
    return error.status in {404, 405, 501} and "model" not in error.detail.casefold()
