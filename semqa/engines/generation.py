"""What a language model wrote for one question, before anything in it is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.prompting import Prompt
    from semqa.quotes import QuotedAnswer, Source
    from semqa.quotes.repair import Repairs

Way = Literal["processor", "grammar", "pointing", "repair", "off"]
"""How a model is kept to verbatim quotes: by masks over its vocabulary (``processor``), by a grammar
of the server (``grammar``), by naming clauses of the sources in JSON (``pointing``), afterwards
(``repair``), or not at all (``off``)."""


@dataclass(frozen=True, slots=True)
class Generation:
    """One answer as a model wrote it.

    Attributes:
        prompt_tokens: how many tokens it read; None where an endpoint does not say.
        new_tokens: how many tokens it wrote, the end token included; None likewise.
        finished: whether it ended by itself; otherwise the token budget cut it off, which cannot
            happen with ``processor``.
        breach: which rule the text breaks for all that, in words; None where it breaks none, or the
            constraint is off. Found by reading the text (`semqa.decoding.find_breach`): with
            ``repair`` the repaired text, else as the model wrote it.
        written: what the model wrote, where `text` is a repaired form of it; else None.
    """

    text: str
    prompt: Prompt
    prompt_tokens: int | None
    new_tokens: int | None
    finished: bool
    constraint: Way = "off"
    breach: str | None = None
    written: str | None = None
    repairs: Repairs | None = None

    def read(self, sources: Sequence[Source]) -> QuotedAnswer:
        """Return the answer, checked, with what was repaired in it on record."""
        from semqa.quotes import QuotedAnswer

        if self.repairs is not None:
            return self.repairs.read(self.text, sources)
        return QuotedAnswer.parse(self.text, sources)
