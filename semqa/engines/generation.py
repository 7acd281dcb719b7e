"""The raw output of a language model for one question, before verification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.prompting import Prompt
    from semqa.quotes import QuotedAnswer, Source
    from semqa.quotes.repair import Repairs

Method = Literal["processor", "grammar", "pointing", "repair", "off"]
"""How verbatim quotes are enforced: vocabulary masks (``processor``), a grammar on the server
(``grammar``), JSON that refers to clauses of the sources (``pointing``), repair of the finished
text (``repair``), or not at all (``off``)."""


@dataclass(frozen=True, slots=True)
class Generation:
    """One generated answer.

    Attributes:
        prompt_tokens: number of tokens in the prompt; None if the endpoint does not report it.
        new_tokens: number of generated tokens, including the end token; None if not reported.
        finished: whether the model ended the answer; if False, the token budget cut it off, which
            cannot happen with ``processor``.
        breach: a description of the rule that the text still violates; None if there is no
            violation or the constraint is off. `semqa.decoding.find_breach` checks the repaired
            text with ``repair`` and the model's own output otherwise.
        written: the model's own output if `text` was repaired; otherwise None.
    """

    text: str
    prompt: Prompt
    prompt_tokens: int | None
    new_tokens: int | None
    finished: bool
    constraint: Method = "off"
    breach: str | None = None
    written: str | None = None
    repairs: Repairs | None = None

    def read(self, sources: Sequence[Source]) -> QuotedAnswer:
        """Parse and verify the answer, keeping a record of repairs."""
        from semqa.quotes import QuotedAnswer

        if self.repairs is not None:
            return self.repairs.read(self.text, sources)
        return QuotedAnswer.parse(self.text, sources)
