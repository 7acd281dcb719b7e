"""The compared implementations, each used in the way its documentation recommends for speed.

All write masks into a preallocated buffer and are timed around the bare call; no overhead is
subtracted. All accept the same language as far as they can express it: free text, and quotes ``[ k
span ]`` of a title or a body. In the grammar, a whole quote is one terminal, because a span in a
terminal of its own could not be closed before a space in the source.
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
    """An implementation reports an error; the message is its own."""


class Clock(NamedTuple):
    """Nanoseconds of each call."""

    build: list[int]
    mask: list[int]
    advance: list[int]


def new_clock() -> Clock:
    """Return an empty clock."""
    return Clock([], [], [])


class Semqa:
    """`semqa.decoding.CopyConstraint`, with any free text or only glue."""

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
        """Return the request unchanged."""
        return request

    def build(self, prepared: Any) -> CopyConstraint:
        """Compile the sources."""
        return CopyConstraint(
            self.vocabulary, prepared.sources, self.policy, question=prepared.question
        )

    def accepts(self, built: CopyConstraint, ids: Sequence[int]) -> bool:
        """Return whether the constraint accepts all tokens."""
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
        add_mask, add_advance = clock.mask.append, clock.advance.append
        state = built.start()
        for token in ids:
            start = perf_counter_ns()
            mask(state, buffer)
            middle = perf_counter_ns()
            state = advance(state, token)
            end = perf_counter_ns()
            add_mask(middle - start)
            add_advance(end - middle)

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
        sources: sources in order of their numbers.
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
    """llguidance on one thread, writing masks by address into one buffer.

    Its ``substring_words`` splits words at white space, unlike ours.

    Args:
        mistral: the tokenizer.
        size: vocabulary size.
        boundary: where spans may start and end.
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
        """Return whether all tokens are valid; consuming an invalid one would break the matcher."""
        built.reset()
        return bool(built.validate_tokens(list(ids)) == len(ids))

    def replay(self, built: Any, ids: Sequence[int], clock: Clock) -> None:
        """Time `unsafe_compute_mask_ptr` and `consume_token`."""
        built.reset()
        mask, consume = built.unsafe_compute_mask_ptr, built.consume_token
        address, width = self.buffer.ctypes.data, self.buffer.nbytes
        add_mask, add_advance = clock.mask.append, clock.advance.append
        for token in ids:
            start = perf_counter_ns()
            mask(address, width)
            middle = perf_counter_ns()
            accepted = consume(token)
            end = perf_counter_ns()
            add_mask(middle - start)
            add_advance(end - middle)
            if not accepted:
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
