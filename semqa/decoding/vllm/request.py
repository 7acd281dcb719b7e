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
            raise InputError(
                f"{SOURCES}: got none with {', '.join(sorted(ours))}, expected a list of texts; give "
                "the sources, or leave out all keys of semqa"
            )
        bodies = _texts(SOURCES, ours[SOURCES])
        titles = _texts(TITLES, ours[TITLES]) if TITLES in ours else [""] * len(bodies)
        question = _text(QUESTION, ours.get(QUESTION, ""))
        _check_sizes(bodies, titles, question)
        policy = _policy(ours)
        if policy.sources and policy.sources[-1] > len(bodies):
            raise InputError(
                f"{QUOTE_FROM}: got {policy.sources[-1]}, expected numbers from 1 to {len(bodies)}; "
                "name sources that are given"
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
            f"{SIZE_VARIABLE}: got {given!r}, expected a whole number of bytes; change it where the "
            "server is started"
        )
    return int(given)


def _is_ours(key: object) -> bool:
    return isinstance(key, str) and key.casefold().startswith("semqa")


def _unknown(key: str) -> InputError:
    names = [known.removeprefix(PREFIX) for known in _KEYS]
    close = difflib.get_close_matches(key.casefold().removeprefix(PREFIX), names, n=1)
    advice = f"write {PREFIX}{close[0]}" if close else "leave it out"
    return InputError(
        f"unknown key of semqa: got {key!r}, expected one of {', '.join(_KEYS)}; {advice}"
    )


def _texts(key: str, given: object) -> list[str]:
    if not isinstance(given, list | tuple):
        raise InputError(
            f"{key}: got {_shown(given)}, expected a list of texts; put it into a list"
        )
    return [_text(f"{key}[{place}]", one) for place, one in enumerate(given)]


def _text(key: str, given: object) -> str:
    if not isinstance(given, str):
        raise InputError(f"{key}: got {_shown(given)}, expected a text; correct it")
    try:
        given.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{key}: got half of a surrogate pair at character {error.start}, expected Unicode "
            "text; remove it"
        ) from None
    return given


def _check_sizes(bodies: list[str], titles: list[str], question: str) -> None:
    if not 0 < len(bodies) <= MOST_SOURCES:
        raise InputError(
            f"{SOURCES}: got {len(bodies):,}, expected 1 to {MOST_SOURCES:,}; give some, or leave "
            "out all keys of semqa"
        )
    if len(titles) != len(bodies):
        raise InputError(
            f"{TITLES}: got {len(titles):,}, expected {len(bodies):,}, one for each source; give an "
            "empty text for a source without a title"
        )
    size = sum(len(text.encode()) for text in (*bodies, *titles, question))
    if size > (most := _most_source_bytes()):
        raise InputError(
            f"{SOURCES}: got {size:,} bytes of text in all, expected at most {most:,}; give fewer "
            f"or shorter ones, or raise {SIZE_VARIABLE} where the server is started"
        )


def _policy(ours: Mapping[str, Any]) -> QuotePolicy:
    settings: dict[str, Any] = {}
    for key, name in _POLICY_KEYS.items():
        if key not in ours:
            continue
        value = ours[key]
        if name == "quote_bias":
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InputError(f"{key}: got {_shown(value)}, expected a number; correct it")
        elif name == "sources":
            if not isinstance(value, list | tuple):
                raise InputError(
                    f"{key}: got {_shown(value)}, expected a list of numbers of sources; put it "
                    "into a list"
                )
            value = checked_numbers(key, value)
            if not value:
                raise InputError(
                    f"{key}: got an empty list, expected numbers of sources; leave it out to quote "
                    "from all"
                )
        else:
            value = _text(key, value)
        settings[name] = value
    try:
        return QuotePolicy(**settings)
    except InputError as error:
        raise InputError(f"{PREFIX}{error}") from None


def _shown(given: object) -> str:
    """Show a value of a wrong type, which may be of any size."""
    text = repr(given) if isinstance(given, bool | int | float | str | None) else ""
    short = text if len(text) <= 60 else f"{text[:57]}…"
    return f"{type(given).__name__} {short}".rstrip()
