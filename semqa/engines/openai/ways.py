"""Which ways of keeping a model to verbatim quotes an endpoint offers, found out by trying.

Many servers ignore what they do not know, with HTTP status 200. So a way counts as offered by its
outcome alone: the processor by its own words of refusal, the grammar by an output that no model
would write without it.
"""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING, get_args

from semqa.decoding.grammar import quoting_grammar
from semqa.decoding.policy import QuotePolicy
from semqa.engines.generation import Way
from semqa.engines.openai.remote import Wording
from semqa.engines.openai.transport import RefusedError
from semqa.errors import InputError
from semqa.prompting import Message
from semqa.quotes import Source

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from semqa.engines.openai.replies import Piece

    Ask = Callable[[Mapping[str, object], int], Awaitable[Piece]]
    """Asks the model anything, with further fields in the request and a budget of tokens."""

__all__ = ["PROBE", "find_way", "grammar_fields"]

_HELLO = (Message("user", "Say hello."),)
PROBE = Wording(_HELLO, _HELLO, "Hello", "auto")
"""What is asked where only the outcome of other fields matters."""


_OUR_WORDS = re.compile(r"semqa_sources: got [^,]{1,80}, expected ")
_PROBE_TOKENS = 64


def grammar_fields(grammar: str) -> dict[str, object]:
    """Return the fields of a request that keep its answer to a grammar."""
    return {"structured_outputs": {"grammar": grammar}}


async def find_way(asked: str, ask: Ask) -> Way:
    """Return the way to take.

    Args:
        asked: the option: ``auto``, or one of the ways.
        ask: asks the endpoint.

    Raises:
        InputError: the endpoint does not offer the way that was asked for.
        UnavailableError: it does not answer.
    """
    if asked in ("processor", "auto") and await _takes_processor(ask):
        return "processor"
    if asked in ("grammar", "auto") and await _takes_grammar(ask):
        return "grammar"
    if asked == "processor":
        raise _not_offered(
            asked,
            "a server that lets the keys of semqa pass unread",
            "a vLLM server started with semqa's logits processor",
        )
    if asked == "grammar":
        raise _not_offered(
            asked,
            "a server that did not keep to a grammar",
            "one with structured outputs in llguidance's dialect, such as vLLM",
        )
    return next(way for way in get_args(Way) if way == ("repair" if asked == "auto" else asked))


async def _takes_processor(ask: Ask) -> bool:
    """Whether a bad request is refused in semqa's own words."""
    try:
        await ask({"vllm_xargs": {"semqa_sources": 0}}, 1)
    except RefusedError as error:
        _check_is_of_fields(error)
        return _OUR_WORDS.search(error.detail) is not None
    return False


async def _takes_grammar(ask: Ask) -> bool:
    """Whether an answer is held to the only quotes that a grammar leaves."""
    # Nothing that the request says elsewhere, so that an echo does not pass.
    words = [f"{secrets.token_hex(3)}{letter}" for letter in "pqr"]
    source = Source(" ".join(words))
    grammar = quoting_grammar([source], QuotePolicy(min_quotes=1))
    only_quote = grammar.replace("start: FREE quote FREE (quote FREE)*", "start: quote")
    try:
        piece = await ask(grammar_fields(only_quote), _PROBE_TOKENS)
    except RefusedError as error:
        _check_is_of_fields(error)
        return False
    if not piece.finished:
        return False
    spans = {" ".join(words[low:high]) for low in range(3) for high in range(low + 1, 4)}
    return piece.text in {f"[ 1 {span} ]" for span in spans}


def _check_is_of_fields(error: RefusedError) -> None:
    """See that a request was refused for its fields: without key, path or model, nothing would do."""
    if error.status in {401, 403, 404}:
        raise error


def _not_offered(way: str, got: str, expected: str) -> InputError:
    return InputError(
        f"constraint: got {way} and {got}, expected {expected}; leave the choice to auto, or take "
        "repair"
    )
