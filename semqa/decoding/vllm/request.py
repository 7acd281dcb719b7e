"""What a request to vLLM says of its sources: flat keys, for clients and for the engine.

They travel in ``SamplingParams.extra_args``, over HTTP in ``vllm_xargs``, which lets through texts,
numbers and lists of these, and nothing else. Knows neither vLLM nor torch.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from semqa.decoding.policy import QuotePolicy, checked_numbers
from semqa.errors import InputError
from semqa.quotes import Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ConstraintRequest", "to_extra_args"]

PREFIX = "semqa_"
SOURCES, TITLES, QUESTION, QUOTE_FROM = (
    f"{PREFIX}{name}" for name in ("sources", "titles", "question", "quote_from")
)
_POLICY_KEYS = {
    f"{PREFIX}{'quote_from' if one.name == 'sources' else one.name}": one.name
    for one in fields(QuotePolicy)
}
_KEYS = (SOURCES, TITLES, QUESTION, *_POLICY_KEYS)

MOST_SOURCES = 10_000
SIZE_VARIABLE = "SEMQA_VLLM_MAX_SOURCE_BYTES"
_MOST_BYTES = 4_000_000

_DEFAULT = QuotePolicy()


@dataclass(frozen=True, slots=True)
class ConstraintRequest:
    """What a request may quote, and by which rules.

    Attributes:
        sources: the passages; source *k* is ``sources[k - 1]``.
        policy: the rules.
        question: the question, whose words free text may repeat.
    """

    sources: tuple[Source, ...]
    policy: QuotePolicy = _DEFAULT
    question: str = ""

    @classmethod
    def from_extra_args(cls, given: Mapping[str, Any] | None) -> ConstraintRequest | None:
        """Read a request, and find everything that can be found wrong with it without a model.

        Args:
            given: the ``extra_args``, in which others may have keys as well.

        Returns:
            None where no key begins with ``semqa``: the request is none of ours.

        Raises:
            InputError: a key is unknown or missing, a value is of another type or out of range, or
                there is too much text.
        """
        ours = {key: value for key, value in (given or {}).items() if _is_ours(key)}
        if not ours:
            return None
        for key in ours:
            if key not in _KEYS:
                raise _unknown(key)
        if SOURCES not in ours:
            raise InputError(f"is missing; {', '.join(sorted(ours))} need it.", field=SOURCES)
        bodies = _texts(SOURCES, ours[SOURCES])
        titles = _texts(TITLES, ours[TITLES]) if TITLES in ours else [""] * len(bodies)
        question = _text(QUESTION, ours.get(QUESTION, ""))
        _check_sizes(bodies, titles, question)
        policy = _policy(ours)
        if policy.sources and policy.sources[-1] > len(bodies):
            raise InputError(
                f"names source {policy.sources[-1]}, but there are {len(bodies)}.", field=QUOTE_FROM
            )
        sources = tuple(Source(body, title) for body, title in zip(bodies, titles, strict=True))
        return cls(sources, policy, question)


def to_extra_args(
    sources: Sequence[Source], policy: QuotePolicy = _DEFAULT, question: str = ""
) -> dict[str, Any]:
    """Write a request, as `ConstraintRequest.from_extra_args` reads it.

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
            written[key] = list(value) if name == "sources" else value
    return written


def _most_source_bytes() -> int:
    """Return how much text a request may hold: ``SEMQA_VLLM_MAX_SOURCE_BYTES``, or 4,000,000 bytes.

    Raises:
        InputError: the variable is set to what is no number.
    """
    given = os.environ.get(SIZE_VARIABLE, "")
    if not given:
        return _MOST_BYTES
    if not (given.isascii() and given.isdigit()):
        raise InputError(
            f"must be a whole number of bytes, got {given!r}.", field=SIZE_VARIABLE, value=given
        )
    return int(given)


def _is_ours(key: object) -> bool:
    return isinstance(key, str) and key.casefold().startswith("semqa")


def _unknown(key: str) -> InputError:
    names = [known.removeprefix(PREFIX) for known in _KEYS]
    close = difflib.get_close_matches(key.casefold().removeprefix(PREFIX), names, n=1)
    hint = f"Did you mean {PREFIX}{close[0]}?" if close else None
    return InputError(
        f"is not a key of semqa, which knows {', '.join(_KEYS)}.", field=key, hint=hint
    )


def _texts(key: str, given: object) -> list[str]:
    if not isinstance(given, list | tuple):
        raise InputError(f"must be a list of texts, got {_shown(given)}.", field=key)
    return [_text(f"{key}[{place}]", one) for place, one in enumerate(given)]


def _text(key: str, given: object) -> str:
    if not isinstance(given, str):
        raise InputError(f"must be text, got {_shown(given)}.", field=key)
    try:
        given.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"holds a lone surrogate at character {error.start}.", field=key) from None
    return given


def _check_sizes(bodies: list[str], titles: list[str], question: str) -> None:
    if not 0 < len(bodies) <= MOST_SOURCES:
        raise InputError(
            f"must hold 1 to {MOST_SOURCES:,} sources, got {len(bodies):,}.", field=SOURCES
        )
    if len(titles) != len(bodies):
        raise InputError(
            f"must hold one title per source, {len(bodies):,}, got {len(titles):,}.",
            field=TITLES,
            hint="A source without a title has an empty one.",
        )
    size = sum(len(text.encode()) for text in (*bodies, *titles, question))
    if size > (most := _most_source_bytes()):
        raise InputError(
            f"holds {size:,} bytes of text; at most {most:,} are allowed ({SIZE_VARIABLE}).",
            field=SOURCES,
        )


def _policy(ours: Mapping[str, Any]) -> QuotePolicy:
    settings: dict[str, Any] = {}
    for key, name in _POLICY_KEYS.items():
        if key not in ours:
            continue
        value = ours[key]
        if name == "quote_bias":
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InputError(f"must be a number, got {_shown(value)}.", field=key)
        elif name == "sources":
            if not isinstance(value, list | tuple):
                raise InputError(
                    f"must be a list of numbers of sources, got {_shown(value)}.", field=key
                )
            value = checked_numbers(key, value)
        else:
            value = _text(key, value)
        settings[name] = value
    try:
        return QuotePolicy(**settings)
    except InputError as error:
        error.field = f"{PREFIX}{error.field}"
        raise


def _shown(given: object) -> str:
    """Show a value of a wrong type, which may be of any size."""
    text = repr(given) if isinstance(given, bool | int | float | str | None) else ""
    short = text if len(text) <= 60 else f"{text[:57]}…"
    return f"{type(given).__name__} {short}".rstrip()
