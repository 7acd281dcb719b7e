"""Parse and check the sources and settings in a request to vLLM."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from semqa.decoding.policy import QuotePolicy
from semqa.errors import InputError
from semqa.quotes import Source
from semqa.quotes.words import cuts_word

PREFIX = "semqa_"
SOURCES, TITLES, QUESTION = (f"{PREFIX}{name}" for name in ("sources", "titles", "question"))
_POLICY_KEYS = {f"{PREFIX}{each.name}": each.name for each in fields(QuotePolicy)}
_KEYS = (SOURCES, TITLES, QUESTION, *_POLICY_KEYS)

MAX_SOURCES = 10_000
SIZE_VARIABLE = "SEMQA_VLLM_MAX_SOURCE_BYTES"
_MAX_BYTES = 4_000_000

_DEFAULT = QuotePolicy()


@dataclass(frozen=True, slots=True)
class ConstraintRequest:
    """The quotable sources of a request, and its rules."""

    sources: tuple[Source, ...]
    policy: QuotePolicy = _DEFAULT
    question: str = ""

    @classmethod
    def from_extra_args(cls, given: Mapping[str, Any] | None) -> ConstraintRequest | None:
        """Parse the ``extra_args`` of a request; None if no key begins with ``semqa``."""
        ours = {key: value for key, value in (given or {}).items() if _is_ours(key)}
        if not ours:
            return None
        for key in ours:
            if key not in _KEYS:
                raise _unknown(key)
        if SOURCES not in ours:
            problem = f"is missing; it is required with {', '.join(sorted(ours))}."
            raise InputError(problem, field=SOURCES)
        bodies = _texts(SOURCES, ours[SOURCES])
        titles = _texts(TITLES, ours[TITLES]) if TITLES in ours else [""] * len(bodies)
        question = _text(QUESTION, ours.get(QUESTION, ""))
        _check_sizes(bodies, titles, question)
        policy = _policy(ours, len(bodies))
        sources = tuple(Source(body, title) for body, title in zip(bodies, titles, strict=True))
        return cls(sources, policy, question)


def to_extra_args(
    sources: Sequence[Source], policy: QuotePolicy = _DEFAULT, question: str = ""
) -> dict[str, Any]:
    """Return the ``extra_args`` of a request, for `ConstraintRequest.from_extra_args`.

    Example:
        >>> to_extra_args([Source("In 1943.")], QuotePolicy(free="any"))
        {'semqa_sources': ['In 1943.'], 'semqa_free': 'any'}
    """
    written: dict[str, Any] = {SOURCES: [source.text for source in sources]}
    if any(source.title for source in sources):
        written[TITLES] = [source.title for source in sources]
    if question:
        written[QUESTION] = question
    for key, name in _POLICY_KEYS.items():
        value = getattr(policy, name)
        if value != getattr(_DEFAULT, name):
            written[key] = list(value) if isinstance(value, tuple) else value
    return written


def _max_source_bytes() -> int:
    """Return the limit in bytes: ``SEMQA_VLLM_MAX_SOURCE_BYTES``, by default 4,000,000."""
    given = os.environ.get(SIZE_VARIABLE, "")
    if not given:
        return _MAX_BYTES
    if not (given.isascii() and given.isdigit()):
        raise InputError(f"must be a whole number of bytes, got {given!r}.", field=SIZE_VARIABLE)
    return int(given)


def _is_ours(key: object) -> bool:
    return isinstance(key, str) and key.casefold().startswith("semqa")


def _unknown(key: str) -> InputError:
    names = [known.removeprefix(PREFIX) for known in _KEYS]
    close = difflib.get_close_matches(key.casefold().removeprefix(PREFIX), names, n=1)
    hint = f"Did you mean {PREFIX}{close[0]}?" if close else None
    return InputError(f"is not a known key. Known keys: {', '.join(_KEYS)}.", field=key, hint=hint)


def _texts(key: str, given: object) -> list[str]:
    if not isinstance(given, list | tuple):
        raise InputError(f"must be a list of texts, got {_shown(given)}.", field=key)
    return [_text(f"{key}[{place}]", one) for place, one in enumerate(given)]


def _text(key: str, given: object) -> str:
    if not isinstance(given, str):
        raise InputError(f"must be a string, got {_shown(given)}.", field=key)
    try:
        given.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"has a lone surrogate at character {error.start}.", field=key) from None
    return given


def _check_sizes(bodies: list[str], titles: list[str], question: str) -> None:
    if not 0 < len(bodies) <= MAX_SOURCES:
        raise InputError(
            f"must have 1 to {MAX_SOURCES:,} sources, got {len(bodies):,}.", field=SOURCES
        )
    if len(titles) != len(bodies):
        raise InputError(
            f"must have one title per source: {len(bodies):,}, got {len(titles):,}.",
            field=TITLES,
            hint="Use an empty string for a source without a title.",
        )
    size = sum(len(text.encode()) for text in (*bodies, *titles, question))
    if size > (limit := _max_source_bytes()):
        raise InputError(
            f"has {size:,} bytes of text; at most {limit:,} are allowed ({SIZE_VARIABLE}).",
            field=SOURCES,
        )


def _policy(ours: Mapping[str, Any], sources: int) -> QuotePolicy:
    settings = {name: ours[key] for key, name in _POLICY_KEYS.items() if key in ours}
    try:
        policy = QuotePolicy(**settings)
        policy.check_sources(sources)
    except InputError as error:
        error.field = f"{PREFIX}{error.field}"
        raise
    return policy


def _shown(given: object) -> str:
    """Return a short description of a value with the wrong type."""
    text = repr(given) if isinstance(given, bool | int | float | str | None) else ""
    short = text if len(text) <= 60 else f"{text[:57]}…"
    return f"{type(given).__name__} {short}".rstrip()


MAX_STOPS = 16
MAX_STOP_LENGTH = 1_000

_NUMBER = re.compile(r"( ?)([0-9]+) ")
# A lone surrogate, which no source contains.
_BARRIER = "\udc5b"


def stops_of(params: Any) -> list[str]:
    """Return the stop strings of vLLM's sampling parameters."""
    given = params.stop
    return [given] if isinstance(given, str) else list(given or ())


def check_stops(stops: Sequence[str], sources: int) -> None:
    """Reject stop strings that cannot be kept out of quotes."""
    rule = None
    if len(stops) > MAX_STOPS:
        rule = f"have at most {MAX_STOPS} strings with semqa_sources, got {len(stops)}"
    for stop in stops[:MAX_STOPS]:
        if len(stop) > MAX_STOP_LENGTH:
            most = f"{MAX_STOP_LENGTH:,} characters with semqa_sources"
            rule = f"have strings of at most {most}, got {len(stop):,}"
        elif "[" in stop or "]" in stop:
            rule = f"not contain brackets with semqa_sources, got {stop!r}"
        elif not stop.strip(" 0123456789") and any(stop in f" {n + 1} " for n in range(sources)):
            rule = f"not be part of “[ 1 ”, which begins every quote, got {stop!r}"
    if rule is not None:
        raise InputError(f"must {rule}.", field="stop")


def without_stops(sources: Sequence[Source], stops: Sequence[str]) -> list[Source]:
    r"""Return the sources with barriers, so that no quote contains a stop string.

    If a stop string ends inside a word, the whole word is removed, because the rest would count as
    another word.

    Example:
        >>> without_stops([Source("One. Two.\nThree.")], ["\n", "wo"])[0].text
        'One. [.[Three.'
    """
    texts = sorted({text for stop in stops for text in _variants(stop, len(sources))})
    return [Source(_barred(one.text, texts), _barred(one.title, texts)) for one in sources]


def _variants(stop: str, sources: int) -> Iterable[str]:
    """Return the parts of a stop that may occur in a span: all of it, or without the mark around it."""
    heads = {0, int(stop.startswith(" "))}
    number = _NUMBER.match(stop)
    if number is not None and _ends_a_number(number[1], number[2], sources):
        heads.add(number.end())
    tails = {0, int(stop.endswith(" "))}
    variants = {stop[head : len(stop) - tail] for head in heads for tail in tails}
    return variants - {""}  # no span is empty


def _ends_a_number(space: str, digits: str, sources: int) -> bool:
    if len(digits) > len(str(sources)):
        return False
    return int(digits) <= sources if space or digits[0] != "0" else True


def _barred(text: str, stops: Sequence[str]) -> str:
    """Replace the last character of each stop, and the rest of a word cut there, by a bracket."""
    barred = text
    for stop in stops:
        # An occurrence that overlaps an earlier one contains its barrier, so it no longer matches.
        barred = barred.replace(stop, stop[:-1] + _BARRIER)
    pieces, place = [], 0
    for piece in barred.split(_BARRIER):
        first, last = place, place + len(piece)
        place = last + 1
        while first < last and cuts_word(text, first):
            first += 1
        while first < last and cuts_word(text, last):
            last -= 1
        pieces.append(text[first:last])
    return "[".join(pieces)


REQUIRE_VARIABLE = "SEMQA_VLLM_REQUIRE_SOURCES"

_MAX_BIAS = 1e9
_MAX_PENALTY = 1e6
"""Limits that keep 32-bit scores finite."""

_REFUSED = {
    "min_tokens": "it may forbid the end of the answer",
    "stop_token_ids": "they could end the answer inside a quote; use stop",
    "allowed_token_ids": "they may forbid the next token of a quote",
    "bad_words": "they may forbid the next token of a quote",
    "structured_outputs": "the two may have no token in common",
    "thinking_token_budget": "it could force tokens into quotes",
    "repetition_detection": "it could stop an answer inside a quote",
    "trace_decode_token_ids": "they replace the answer",
}
"""Sampling parameters that cannot be combined with a constraint, and why."""


def check_params(params: Any) -> ConstraintRequest | None:
    """Parse and validate a request; return None if it is not constrained."""
    given: object = params.extra_args
    if not isinstance(given, Mapping | None):
        raise InputError(f"must be a mapping, got {type(given).__name__}.", field="extra_args")
    request = ConstraintRequest.from_extra_args(given)
    if request is None:
        if os.environ.get(REQUIRE_VARIABLE, "") not in ("", "0"):
            raise InputError(
                f"is required in every request: the server was started with {REQUIRE_VARIABLE}.",
                field=SOURCES,
                hint="Send the sources in vllm_xargs. Beam search is not supported.",
            )
        return None
    for name, reason in _REFUSED.items():
        if getattr(params, name, None):
            raise InputError(f"cannot be combined with {SOURCES}: {reason}.", field=name)
    for token, bias in (params.logit_bias or {}).items():
        if not -_MAX_BIAS <= bias <= _MAX_BIAS:  # false for NaN
            raise InputError(
                f"must have finite numbers up to {_MAX_BIAS:g} with {SOURCES}, got {bias} for token {token}.",
                field="logit_bias",
                hint="Use -100.",
            )
    penalty = getattr(params, "repetition_penalty", 1.0)
    if not 1 / _MAX_PENALTY <= penalty <= _MAX_PENALTY:
        rule = f"must be from {1 / _MAX_PENALTY:g} to {_MAX_PENALTY:g} with {SOURCES}"
        raise InputError(f"{rule}, got {penalty}.", field="repetition_penalty")
    stops = stops_of(params)
    check_stops(stops, len(request.sources))
    return request
