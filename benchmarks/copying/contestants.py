"""The constraints that are compared, each used as its documentation says is fastest.

All write masks into one buffer that is made once, and all are timed by the same clock around the
bare call; nothing is subtracted. The language is the same for all as far as they can say it: free
text, and quotes ``[ k span ]`` of a title or a body, the whole quote as one terminal (as terminals
of their own, spans could not be closed before a space of the source).
"""

from __future__ import annotations

import json
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from semqa.decoding import CopyConstraint, QuotePolicy
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from copying.workload import Request
    from semqa import Source
    from semqa.decoding import Vocabulary

Boundary = Literal["char", "word"]


class RefusedError(Exception):
    """A contestant does not do what it is asked; the message is its own."""


class Clock(NamedTuple):
    """Nanoseconds of every call."""

    build: list[int]
    mask: list[int]
    advance: list[int]


def new_clock() -> Clock:
    """Return a clock with nothing on it."""
    return Clock([], [], [])


class Semqa:
    """`semqa.decoding.CopyConstraint`, with any free text or with glue."""

    name = "semqa"

    def __init__(
        self, vocabulary: Vocabulary, boundary: Boundary, free: Literal["any", "glue"] = "any"
    ) -> None:
        if free == "glue":
            self.name = "semqa, glue"
        self.boundary = boundary
        self.vocabulary = vocabulary
        self.policy = QuotePolicy(free=free, boundary=boundary)
        self.buffer = np.zeros((vocabulary.size + 31) // 32, np.int32)

    def prepare(self, request: Request) -> Request:
        """Return the request."""
        return request

    def build(self, prepared: Any) -> CopyConstraint:
        """Compile the sources."""
        return CopyConstraint(
            self.vocabulary, prepared.sources, self.policy, question=prepared.question
        )

    def accepts(self, built: CopyConstraint, ids: Sequence[int]) -> bool:
        """Advance to the end."""
        state = built.start()
        try:
            for token in ids:
                state = built.advance(state, token)
        except InputError:
            return False
        return True

    def replay(self, built: CopyConstraint, ids: Sequence[int], clock: Clock) -> None:
        """Time `mask` and `advance`."""
        mask, advance, buffer = built.mask, built.advance, self.buffer
        note_mask, note_advance = clock.mask.append, clock.advance.append
        state = built.start()
        for token in ids:
            start = perf_counter_ns()
            mask(state, buffer)
            middle = perf_counter_ns()
            state = advance(state, token)
            end = perf_counter_ns()
            note_mask(middle - start)
            note_advance(end - middle)

    def step_masks(self, built: CopyConstraint, ids: Sequence[int]) -> list[NDArray[np.int32]]:
        """Return the mask before each token."""
        masks, state = [], built.start()
        for token in ids:
            masks.append(built.mask(state).copy())
            state = built.advance(state, token)
        return masks


def quoting_grammar(sources: Sequence[Source], field: str) -> str:
    """Return the Lark grammar for llguidance.

    Args:
        sources: the sources by number.
        field: ``substring_chars`` or ``substring_words``.
    """
    names, rules = [], []
    for number, source in enumerate(sources, 1):
        texts = [text for text in (source.title, source.text) if text]
        if texts:
            spans = " | ".join(f"%regex {json.dumps({field: text})}" for text in texts)
            names.append(f"Q{number}")
            rules.append(f'Q{number}: "[ {number} " ({spans}) " ]"')
    start = f"start: FREE (({' | '.join(names)}) FREE)*" if names else "start: FREE"
    return "\n".join([start, r"FREE: /[^\[\]]*/", *rules, ""])


class Llguidance:
    """llguidance: masks by address into one buffer, one thread.

    Its ``substring_words`` takes words for runs between white space, which is not our boundary.

    Args:
        mistral: the tokenizer.
        size: of the vocabulary.
        boundary: where it cuts spans.
    """

    name = "llguidance"

    def __init__(self, mistral: Any, size: int, boundary: Boundary) -> None:
        import llguidance
        from mistral_common.guidance.tokenizer import from_mistral_tokenizer

        self.boundary = boundary
        self.matcher: Any = llguidance.LLMatcher
        self.tokenizer = from_mistral_tokenizer(mistral)
        self.buffer = np.zeros((size + 31) // 32, np.int32)

    def prepare(self, request: Request) -> str:
        """Write the grammar."""
        return quoting_grammar(request.sources, f"substring_{self.boundary}s")

    def build(self, prepared: Any) -> Any:
        """Compile the grammar."""
        grammar = self.matcher.grammar_from_lark(prepared)
        built = self.matcher(self.tokenizer, grammar, log_level=0)
        if built.is_error():
            raise RefusedError(_first_line(built.get_error()))
        return built

    def accepts(self, built: Any, ids: Sequence[int]) -> bool:
        """Validate to the end; a refusal would leave a matcher in error for good."""
        built.reset()
        return bool(built.validate_tokens(list(ids)) == len(ids))

    def replay(self, built: Any, ids: Sequence[int], clock: Clock) -> None:
        """Time the mask by address, and `consume_token`."""
        built.reset()
        mask, consume = built.unsafe_compute_mask_ptr, built.consume_token
        address, width = self.buffer.ctypes.data, self.buffer.nbytes
        note_mask, note_advance = clock.mask.append, clock.advance.append
        for token in ids:
            start = perf_counter_ns()
            mask(address, width)
            middle = perf_counter_ns()
            fine = consume(token)
            end = perf_counter_ns()
            note_mask(middle - start)
            note_advance(end - middle)
            if not fine:
                raise RefusedError(_first_line(built.get_error()))

    def step_masks(self, built: Any, ids: Sequence[int]) -> list[NDArray[np.int32]]:
        """Return the mask before each token."""
        built.reset()
        masks = []
        for token in ids:
            built.unsafe_compute_mask_ptr(self.buffer.ctypes.data, self.buffer.nbytes)
            masks.append(self.buffer.copy())
            built.consume_token(token)
        return masks


def _first_line(message: str) -> str:
    return (message.strip().splitlines() or ["no reason given"])[0]
