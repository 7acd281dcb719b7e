"""Capability probe: how an endpoint can keep a model to verbatim quotes."""

from __future__ import annotations

import json
import re
import secrets
from typing import TYPE_CHECKING, Literal, NamedTuple

from semqa.engines.openai.client import RefusedError
from semqa.errors import InputError, UnavailableError
from semqa.quotes.pointing import object_schema, parts_schema

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from semqa.engines.generation import Way
    from semqa.engines.openai.replies import Piece

    Ask = Callable[[Mapping[str, object], int], Awaitable[Piece]]
    """Asks the model anything, with further fields in the request and a budget of tokens."""

PROBE = "Say hello."
"""What is asked where only the outcome of other fields matters."""

Dialect = Literal["lark", "gbnf"]

_OUR_WORDS = re.compile(r"semqa_sources must be a list of texts, got ")
_PROBE_TOKENS = 64
_SCHEMA_TOKENS = 256
"""More, because JSON is long and some models think before."""


class Offer(NamedTuple):
    """What an endpoint offers; `bounded` is whether it takes lengths in JSON schemas."""

    way: Way
    dialect: Dialect = "lark"
    bounded: bool = True


def grammar_fields(grammar: str, dialect: Dialect) -> dict[str, object]:
    """Return the fields of a request that keep its answer to a grammar."""
    # llama.cpp would read llguidance's dialect in this field, too, but only if it was built with it:
    # otherwise such a grammar ends the whole server.
    return (
        {"structured_outputs": {"grammar": grammar}} if dialect == "lark" else {"grammar": grammar}
    )


def schema_fields(schema: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a request that keep its answer to a JSON schema."""
    named = {"name": "answer", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


async def find_way(asked: str, ask: Ask) -> Offer:
    """Return the way to take."""
    if asked in ("processor", "auto") and await _takes_processor(ask):
        return Offer("processor")
    if asked in ("grammar", "auto"):
        dialect = await _dialect(ask, lenient=asked == "auto")
        if dialect is not None:
            return Offer("grammar", dialect)
    if asked in ("pointing", "auto"):
        for bounded in (True, False):
            held = await _takes_schema(ask, bounded=bounded)
            if held:
                return Offer("pointing", bounded=bounded)
            if held is not None:
                break  # it was not refused, but ignored
    if asked in _NEEDS:
        raise InputError(
            f"constraint {asked}: the endpoint does not offer it. It needs {_NEEDS[asked]}. Use auto "
            "for the strongest method the endpoint supports."
        )
    return Offer("off" if asked == "off" else "repair")


_NEEDS = {
    "processor": "a vLLM server started with semqa's logits processor",
    "grammar": "a server with structured outputs in llguidance's dialect, such as vLLM, or llama.cpp's",
    "pointing": 'a server that keeps to response_format {"type": "json_schema"}',
}


async def _takes_processor(ask: Ask) -> bool:
    """Whether a bad request is refused in semqa's own words."""
    try:
        await ask({"vllm_xargs": {"semqa_sources": 0}}, 1)
    except RefusedError as error:
        _check_is_of_fields(error)
        return _OUR_WORDS.search(error.detail) is not None
    return False


async def _dialect(ask: Ask, *, lenient: bool) -> Dialect | None:
    """Return the dialect of the grammar that an answer is held to, if any.

    Both are sent at once, in different fields, each with a word of its own.
    """
    words: dict[Dialect, str] = {"lark": _word(), "gbnf": _word()}
    fields = {
        **grammar_fields(f'%llguidance {{}}\nstart: "{words["lark"]}" /[0-9]{{3}}/', "lark"),
        **grammar_fields(f'root ::= "{words["gbnf"]}" [0-9] [0-9] [0-9]', "gbnf"),
    }
    piece = await _asked(ask, fields, _PROBE_TOKENS, lenient=lenient)
    if piece is None or not piece.finished:
        return None
    for dialect, word in words.items():
        if re.fullmatch(word + "[0-9]{3}", piece.text):
            return dialect
    return None


async def _takes_schema(ask: Ask, *, bounded: bool) -> bool | None:
    """Whether an answer is held to a JSON schema such as `Pointing` makes; None if it is refused."""
    words = [_word() for _ in range(3)]
    word: dict[str, object] = {"type": "string", "enum": words}
    text: dict[str, object] = {"type": "string", **({"maxLength": 9} if bounded else {})}
    schema = object_schema(
        {"first": word, **parts_schema({"from": word, "words": text}, most=2 if bounded else None)}
    )
    piece = await _asked(ask, schema_fields(schema), _SCHEMA_TOKENS)
    if piece is None:
        return None
    try:
        value = json.loads(piece.text)
        return value["first"] in words and all(part["from"] in words for part in value["parts"])
    except (ValueError, RecursionError, TypeError, KeyError):
        return False


async def _asked(
    ask: Ask, fields: Mapping[str, object], budget: int, *, lenient: bool = False
) -> Piece | None:
    try:
        return await ask(fields, budget)
    except RefusedError as error:
        _check_is_of_fields(error)
        return None
    except UnavailableError:
        # vLLM keeps the backend of its first structured request, and fails with 500 if that does not
        # know a later grammar.
        if not lenient:
            raise
        return None


def _word() -> str:
    """Return what the request says nowhere else, so that an echo does not pass."""
    return f"q{secrets.token_hex(4)}z"


def _check_is_of_fields(error: RefusedError) -> None:
    """Raise unless a request was refused for its fields: nothing else would help."""
    if error.status in {401, 403, 404}:
        raise error
