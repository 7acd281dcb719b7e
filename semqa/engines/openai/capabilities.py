"""Capability probe: how an endpoint can constrain a model to verbatim quotes."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from semqa.decoding.vllm.request import SOURCES
from semqa.engines.base import Method
from semqa.engines.openai.client import RefusedError
from semqa.engines.openai.replies import Piece
from semqa.errors import InputError, UnavailableError
from semqa.quotes.pointing import object_schema, parts_schema

if TYPE_CHECKING:
    Ask = Callable[[Mapping[str, object], int], Awaitable[Piece]]
    """Sends any prompt to the model, with extra request fields and a token budget."""

PROBE = "Say hello."
"""The prompt of probes that test request fields."""

Dialect = Literal["lark", "gbnf"]


_PROBE_TOKENS = 64
_SCHEMA_TOKENS = 256
"""More, because JSON is longer and some models reason first."""


class Capability(NamedTuple):
    """A supported method.

    Attributes:
        bounded: whether JSON schemas may limit lengths.
        context: maximum tokens of prompt and answer; None if unknown.
    """

    method: Method
    dialect: Dialect = "lark"
    bounded: bool = True
    context: int | None = None


def grammar_fields(grammar: str, dialect: Dialect) -> dict[str, object]:
    """Return the request fields that constrain the answer to a grammar."""
    # llama.cpp also accepts llguidance's dialect in this field if built with it. Without it, such a
    # grammar crashes the server.
    return (
        {"structured_outputs": {"grammar": grammar}} if dialect == "lark" else {"grammar": grammar}
    )


def schema_fields(schema: Mapping[str, object]) -> dict[str, object]:
    """Return the request fields that constrain the answer to a JSON schema."""
    named = {"name": "answer", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


async def probe(requested: str, ask: Ask) -> Capability:
    """Return the requested method, or the strongest one the endpoint supports for ``auto``."""
    if requested in ("processor", "auto") and await _has_processor(ask):
        return Capability("processor")
    if requested in ("grammar", "auto"):
        dialect = await _grammar_dialect(ask, lenient=requested == "auto")
        if dialect is not None:
            return Capability("grammar", dialect)
    if requested in ("pointing", "auto"):
        for bounded in (True, False):
            enforced = await _enforces_schema(ask, bounded=bounded)
            if enforced:
                return Capability("pointing", bounded=bounded)
            if enforced is not None:
                break  # the schema was ignored, not rejected
    if requested in _NEEDS:
        raise InputError(
            f"constraint {requested}: not supported by the endpoint. It needs {_NEEDS[requested]}. Use auto "
            "for the strongest method the endpoint supports."
        )
    return Capability("off" if requested == "off" else "repair")


_NEEDS = {
    "processor": "a vLLM server started with semqa's logits processor",
    "grammar": "a server with structured outputs in llguidance's dialect, such as vLLM, or llama.cpp's",
    "pointing": 'a server that enforces response_format {"type": "json_schema"}',
}


async def _has_processor(ask: Ask) -> bool:
    """Return whether semqa's processor rejects a request with invalid sources."""
    try:
        await ask({"vllm_xargs": {SOURCES: 0}}, 1)
    except RefusedError as error:
        _check_cause(error)
        return error.param == SOURCES
    return False


async def _grammar_dialect(ask: Ask, *, lenient: bool) -> Dialect | None:
    """Return the dialect of the grammar that the endpoint enforces, if any.

    One request contains both dialects, in different fields and with different words.
    """
    words: dict[Dialect, str] = {"lark": _random_word(), "gbnf": _random_word()}
    fields = {
        **grammar_fields(f'%llguidance {{}}\nstart: "{words["lark"]}" /[0-9]{{3}}/', "lark"),
        **grammar_fields(f'root ::= "{words["gbnf"]}" [0-9] [0-9] [0-9]', "gbnf"),
    }
    piece = await _probe(ask, fields, _PROBE_TOKENS, lenient=lenient)
    if piece is None or not piece.finished:
        return None
    for dialect, word in words.items():
        if re.fullmatch(word + "[0-9]{3}", piece.text):
            return dialect
    return None


async def _enforces_schema(ask: Ask, *, bounded: bool) -> bool | None:
    """Return whether the endpoint enforces schemas like those of `Pointing`; None if rejected."""
    words = [_random_word() for _ in range(3)]
    word: dict[str, object] = {"type": "string", "enum": words}
    text: dict[str, object] = {"type": "string", **({"maxLength": 9} if bounded else {})}
    schema = object_schema(
        {"first": word, **parts_schema({"from": word, "words": text}, most=2 if bounded else None)}
    )
    piece = await _probe(ask, schema_fields(schema), _SCHEMA_TOKENS)
    if piece is None:
        return None
    try:
        value = json.loads(piece.text)
        return value["first"] in words and all(part["from"] in words for part in value["parts"])
    except (ValueError, RecursionError, TypeError, KeyError):
        return False


async def _probe(
    ask: Ask, fields: Mapping[str, object], budget: int, *, lenient: bool = False
) -> Piece | None:
    try:
        return await ask(fields, budget)
    except RefusedError as error:
        _check_cause(error)
        return None
    except UnavailableError:
        # vLLM keeps the backend of its first structured request. It returns 500 if that backend
        # does not support a later grammar.
        if not lenient:
            raise
        return None


def _random_word() -> str:
    """Return a random word, so that a server that echoes the prompt does not pass."""
    return f"q{secrets.token_hex(4)}z"


def _check_cause(error: RefusedError) -> None:
    """Re-raise an error that was not caused by the probed fields."""
    if error.status in {401, 403, 404}:
        raise error
