"""What a stream becomes: text that is sure, repaired where that is wanted, and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.engines.model import StoppedText
from semqa.engines.openai.remote import check_length
from semqa.engines.openai.repeats import QuotesOnce
from semqa.engines.openai.replies import Piece, Usage, read_piece, read_reply
from semqa.quotes.repair import Repairer, Repairs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa.quotes import Source

__all__ = ["AnswerSink"]


class AnswerSink:
    """Takes the events of a stream.

    Args:
        show: is given each piece of text that is sure.
        sources: to repair quotes by; None leaves the text as it is.
        stops: texts that end the answer.
        budget: tokens that were asked for.
        chat: whether the events are those of a chat.
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
        self._shown = 0
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

    @property
    def shown(self) -> int:
        """How many characters were shown."""
        return self._shown

    def take(self, value: object) -> None:
        """Take one event.

        Raises:
            UnavailableError: it is none of the API, or there is more text than was asked for.
            InputError: there are more marks than are read.
        """
        self._add(read_piece(value, chat=self._chat))

    def take_whole(self, value: object) -> None:
        """Take a reply in one piece.

        Raises:
            UnavailableError: as `take`.
            InputError: as `take`.
        """
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
            self._shown += len(text)
            self._show(text)
