"""Parse a model's replies: text, finish reason and token counts.

Replies are untrusted. The accumulator of a stream repairs quotes and can end an answer at the first
repeated quote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from semqa.engines.model.text import StoppedText
from semqa.errors import UnavailableError
from semqa.quotes import Source
from semqa.quotes.marks import canonical_mark
from semqa.quotes.pointing import UsedText
from semqa.quotes.repair import Repairer, Repairs
from semqa.quotes.words import leaks

_FINISHED = ("stop", "eos", "end_turn", "stop_sequence")
_CUT_OFF = ("length", "max_tokens")


class Usage(NamedTuple):
    """Token counts; None if the endpoint does not report them."""

    prompt_tokens: int | None = None
    new_tokens: int | None = None


class Piece(NamedTuple):
    """A whole reply or part of one; `finished` is None until there is a finish reason."""

    text: str
    finished: bool | None
    usage: Usage | None


def read_context(value: object, model: str) -> int | None:
    """Return the context of a model in a reply to ``GET /models``, in tokens; None if unknown.

    The only model of a server counts under any name.
    """
    listed = value.get("data") if isinstance(value, dict) else None
    found = [
        each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, dict)
    ]
    named = [each for each in found if each.get("id") == model]
    for entry in named or (found if len(found) == 1 else []):
        meta = entry.get("meta")
        fields = {**meta, **entry} if isinstance(meta, dict) else entry
        # vLLM, llama.cpp, OpenRouter
        for name in ("max_model_len", "n_ctx", "context_length"):
            if context := _count(fields.get(name)):
                return context
    return None


def read_reply(value: object, *, chat: bool, event: bool = False) -> Piece:
    """Parse a whole reply, or an event of a stream, which may have no text."""
    reply = value if isinstance(value, dict) else {}
    if event and reply.get("error"):
        raise UnavailableError(f"The endpoint failed while answering: {reply['error']!r:.200}.")
    choices, counts = reply.get("choices"), reply.get("usage")
    usage = None
    if isinstance(counts, dict):
        usage = Usage(
            *(_count(counts.get(name)) for name in ("prompt_tokens", "completion_tokens"))
        )
    if event and choices == []:  # this event contains only the usage
        return Piece("", None, usage)
    if not isinstance(choices, list) or not choices:
        raise _malformed("no choices", value)
    choice = choices[0]
    if not isinstance(choice, dict):
        raise _malformed("a choice that is not an object", value)
    reason = choice.get("finish_reason")
    if reason not in (None, *_FINISHED, *_CUT_OFF):
        raise UnavailableError(
            f"The endpoint's answer is incomplete: finish_reason is {reason!r:.200}."
        )
    message = choice.get("delta" if event else "message") if chat else choice
    if message is None and event and reason is not None:
        message = {}
    if not isinstance(message, dict):
        raise _malformed("a choice without a message", choice)
    text = message.get("content" if chat else "text")
    if text is None:  # the model only reasoned, or ended at once
        text = ""
    if not isinstance(text, str):
        raise _malformed("an answer that is not text", choice)
    if reason is None and not event:
        raise _malformed("no finish_reason", choice)
    return Piece(
        text if event else _replace_surrogates(text),
        None if reason is None else reason in _FINISHED,
        usage,
    )


def _count(value: object) -> int | None:
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if known else None  # type: ignore[return-value]  # it is an int here


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which are valid in JSON but cannot be encoded."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _malformed(what: str, value: object) -> UnavailableError:
    return UnavailableError(
        f"Not a reply of an OpenAI-compatible endpoint: {what} in {value!r:.200}. Check --base-url."
    )


_MARK = re.compile(r"\[ ([1-9][0-9]{0,8}) ([^\[\]]+) \]")
_OPEN = re.compile(r"\[ ([1-9][0-9]{0,8}) ([^\[\]]+)$")


class RepeatFilter:
    """Streams a text and ends it before the first repeated quote.

    After the first quote, text is held back until the next quote is complete.

    Attributes:
        repeated: the repeated quote before which the answer ended, or None.

    Example:
        >>> from semqa import Source
        >>> text = RepeatFilter([Source("Bing Crosby sang it.")])
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
        """Add a piece and return the text that is now final."""
        if self.repeated is not None:
            return ""
        text, final = self._held + piece, ""
        at = 0
        for mark in _MARK.finditer(text):
            if not self._is_new(int(mark[1]), mark[2]):
                self._held, self.repeated = "", mark[0]
                return final + "."
            self._quoted = True
            final += text[at : mark.end()]
            at = mark.end()
        if not self._quoted:  # the first quote cannot be a repetition
            opening = text.find("[", at)
            end = len(text) if opening < 0 else opening
            final += text[at:end]
            at = end
        self._held = text[at:]
        return final

    def end(self, *, finished: bool) -> str:
        """Return the rest, shortened to the last complete quote if the model was cut off."""
        held, self._held = self._held, ""
        if finished or self.repeated is not None:
            return held
        opened = _OPEN.search(held)
        span = re.sub(r"\s+\S*$", "", opened[2]) if opened else ""
        if opened and span and leaks(span) and self._is_new(int(opened[1]), span):
            return held[: opened.start()] + canonical_mark(int(opened[1]), span)
        return "." if self._quoted else held

    def _is_new(self, number: int, span: str) -> bool:
        """Return whether a quote is new; quotes that are not verbatim also count as new."""
        if number > len(self._sources):
            return True
        source = self._sources[number - 1]
        if span not in source.title and span not in source.text:
            return True
        return self._used.add(number, span)


class StreamAccumulator:
    """Accumulates the events of a stream into an answer.

    Args:
        show: called with each piece of text when it is final.
        sources: the sources for the repair of quotes; None for no repair.
        stop_at_repeat: whether to end the answer before the first repeated quote.
    """

    def __init__(
        self,
        show: Callable[[str], None],
        sources: Sequence[Source] | None,
        stops: Sequence[str],
        budget: int,
        *,
        chat: bool,
        stop_at_repeat: bool = False,
    ) -> None:
        self._show = show
        self._sources = sources
        self._stops = stops
        self._budget = budget
        self._chat = chat
        self._stop_at_repeat = stop_at_repeat
        self.shown = 0  # characters
        self.begin()

    def begin(self) -> None:
        """Reset to an empty answer."""
        self._repairer = None if self._sources is None else Repairer(self._sources)
        self._text = StoppedText(self._stops)
        self._quotes = (
            RepeatFilter(self._sources) if self._stop_at_repeat and self._sources else None
        )
        self._written: list[str] = []
        self._joined: list[str] = []
        self._length = 0
        self._finished: bool | None = None
        self._usage: Usage | None = None

    @property
    def complete(self) -> bool:
        """Whether the answer is complete, that is, has a finish reason."""
        return self._finished is not None

    @property
    def done(self) -> bool:
        """Whether to stop reading although the model may continue."""
        return self._text.stopped or self._repeated is not None

    @property
    def _repeated(self) -> str | None:
        return None if self._quotes is None else self._quotes.repeated

    def add(self, value: object, *, event: bool = True) -> None:
        """Add an event of the stream, or a whole reply that was not streamed."""
        piece = read_reply(value, chat=self._chat, event=event)
        self._usage = piece.usage or self._usage
        if self._finished is not None:
            return
        self._length += len(piece.text)
        check_length(self._length, self._budget)
        final = self._text.add(piece.text)
        self._written.append(final)
        if self._quotes is not None:
            final = self._quotes.add(final)
        self._show_text(final if self._repairer is None else self._repairer.add(final))
        self._finished = piece.finished
        if self.done:
            self._finished = True

    def end(self) -> tuple[Piece, str, Repairs | None, str | None]:
        """Show the rest; return the model's output, shown text, repairs and repeated quote."""
        rest = self._text.end()
        self._written.append(rest)
        if self._quotes is not None:
            rest = self._quotes.add(rest) + self._quotes.end(finished=bool(self._finished))
        if self._repairer is not None:
            rest = self._repairer.add(rest) + self._repairer.end()
        self._show_text(rest)
        piece = Piece("".join(self._written), self._finished, self._usage)
        repairs = None if self._repairer is None else self._repairer.repairs
        return piece, "".join(self._joined), repairs, self._repeated

    def _show_text(self, text: str) -> None:
        if text:
            self._joined.append(text)
            self.shown += len(text)
            self._show(text)


_MAX_TOKEN_LENGTH = 256


def check_length(characters: int, budget: int) -> None:
    """Raise if an answer is too long for its token budget."""
    if characters > (budget + 16) * _MAX_TOKEN_LENGTH:
        raise UnavailableError(
            f"The endpoint ignored the token limit: {characters:,} characters for {budget:,} tokens."
        )
