"""Stop texts: no quote may complete what would end the answer in the middle of it.

vLLM ends an answer wherever a stop text is complete, inside quotes as well. So a bracket is put
into the sources where a stop text ends, for no quote goes over brackets. The constraint returns no
offsets, hence does not mind that the rest has moved.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from semqa.errors import InputError
from semqa.quotes import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["check_stops", "stops_of", "without_stops"]

MOST_STOPS = 16
LONGEST_STOP = 1_000

_NUMBER = re.compile(r"( ?)([0-9]+) ")
# Halves of surrogate pairs, which no source holds.
_BARRIER, _WORD_BARRIER = "\udc5b", "\udc5d"


def stops_of(params: Any) -> list[str]:
    """Return the stop texts of vLLM's sampling parameters, which may be one text, or None."""
    given = params.stop
    return [given] if isinstance(given, str) else list(given or ())


def check_stops(stops: Sequence[str], sources: int) -> None:
    """Refuse stop texts from which quotes cannot be kept free.

    Args:
        stops: the texts.
        sources: how many sources there are.

    Raises:
        InputError: a stop holds a bracket or stands at the beginning of every quote, or there are
            too many or too long ones.
    """
    if len(stops) > MOST_STOPS:
        raise InputError(
            f"must hold at most {MOST_STOPS} texts with semqa_sources, got {len(stops)}.",
            field="stop",
        )
    for stop in stops:
        if len(stop) > LONGEST_STOP:
            raise InputError(
                f"must hold texts of at most {LONGEST_STOP:,} characters with semqa_sources, got {len(stop):,}.",
                field="stop",
            )
        if "[" in stop or "]" in stop:
            raise InputError(
                f"must not hold brackets with semqa_sources, got {stop!r}.",
                field="stop",
                value=stop,
            )
        if not stop.strip(" 0123456789") and any(
            stop in f" {number} " for number in range(1, sources + 1)
        ):
            raise InputError(
                f"must not be part of “[ 1 ”, which begins every quote, got {stop!r}.",
                field="stop",
                value=stop,
            )


def without_stops(sources: Sequence[Source], stops: Sequence[str]) -> list[Source]:
    r"""Return sources of which nothing can be quoted that completes a stop text.

    If a stop ends inside a word, the whole word is removed: its rest would count as another word.

    Args:
        sources: the sources.
        stops: texts that `check_stops` has accepted.

    Example:
        >>> without_stops([Source("One. Two.\nThree.")], ["\n", "wo"])[0].text
        'One. [.[Three.'
    """
    texts = sorted({text for stop in stops for text in _variants(stop, len(sources))})
    return [Source(_barred(one.text, texts), _barred(one.title, texts)) for one in sources]


def _variants(stop: str, sources: int) -> Iterable[str]:
    """Return what of a stop may stand in a span: as it is, or without the frame ``[ k span ]``."""
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
    for stop in stops:
        # Occurrences that overlap with one before hold its barrier, and so are none any more.
        word = stop[-1].isalnum()
        text = text.replace(stop, stop[:-1] + (_WORD_BARRIER if word else _BARRIER))
    pieces = text.split(_WORD_BARRIER)
    for place in range(len(pieces)):
        piece, first = pieces[place], 0
        last = len(piece)
        while place and first < last and piece[first].isalnum():
            first += 1
        while place + 1 < len(pieces) and first < last and piece[last - 1].isalnum():
            last -= 1
        pieces[place] = piece[first:last]
    return "[".join(pieces).replace(_BARRIER, "[")
