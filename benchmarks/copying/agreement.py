"""Whether two constraints allow the same tokens, but for the differences of their languages.

The grammar of the peers also lets a span be empty, begin or end with white space, hold the brackets
of its source, run into white space from which no legal end follows, or hold no content word; and it
lets an answer end without a quote, and quote the same text twice. A token that only a peer allows
must lead to one of these; a token that only semqa allows is never right. Once a quote is closed,
peers may allow more: tokens of theirs are not looked at any more.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from semqa.decoding import QuotePolicy, find_breach

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from copying.contestants import Boundary
    from semqa import Source
    from semqa.decoding import Vocabulary

_OPENED = re.compile(r"\[ ([0-9]+) ([^\[\]]*)$")
_CLOSED = re.compile(r"\[ [0-9]+ [^\[\]]* \]")
_POLICY = QuotePolicy(free="any", boundary="char")
_PEERS_ONLY = re.compile(
    r"\[ [0-9]+ \s"  # a span that begins with white space, or is empty
    r"|\s \]"  # a span that ends with white space
    r"|\[[^\]]*\["  # a bracket of the source
    r"|[^ ]\]"
)


def different(ours: NDArray[np.int32], theirs: NDArray[np.int32]) -> tuple[list[int], list[int]]:
    """Return the tokens that only the first mask allows, and those that only the second does."""
    extra = []
    for first, second in ((ours, theirs), (theirs, ours)):
        bits = np.unpackbits((first & ~second).view(np.uint8), bitorder="little")
        extra.append(np.flatnonzero(bits).tolist())
    return extra[0], extra[1]


def unexplained(
    ours: NDArray[np.int32],
    theirs: NDArray[np.int32],
    before: bytes,
    sources: Sequence[Source],
    vocabulary: Vocabulary,
    boundary: Boundary,
) -> list[str]:
    """Return the texts that only one allows although both languages hold them, or neither does.

    Where words are cut differently, only tokens that stay in free text or in a quote's number are
    compared.
    """
    only_ours, only_theirs = different(ours, theirs)
    opens = max(before.rfind(b"["), 0)
    wrong = []
    if b"]" in before:
        only_theirs = []
    only_theirs = [token for token in only_theirs if token not in vocabulary.eos_ids]
    for token, is_ours in [(t, True) for t in only_ours] + [(t, False) for t in only_theirs]:
        data = before[opens:] + vocabulary.token_bytes(token)
        texts = list(_completed(data, sources))
        if boundary == "word" and any(re.search(r"\[ [0-9]+ ", text) for text in texts):
            continue
        if is_ours or not all(_is_peers_only(text, sources) for text in texts):
            side = "only ours" if is_ours else "only theirs"
            wrong.append(f"{side}: {data!r}, {texts[:3]!r}")
    return wrong


def _completed(data: bytes, sources: Sequence[Source]) -> Iterator[str]:
    """Yield the texts that half a character at the end may become: itself, where there is none."""
    whole = data.decode("utf-8", "ignore")
    half = data[len(whole.encode("utf-8")) :]
    opened = _OPENED.search(whole)
    if not half or not opened:
        yield data.decode("utf-8", "replace")
        return
    source = sources[int(opened[1]) - 1]
    for field in (source.title, source.text):
        at = field.find(opened[2])
        while 0 <= at < len(field) - len(opened[2]):
            follower = field[at + len(opened[2])]
            if follower.encode("utf-8").startswith(half):
                yield whole + follower
            at = field.find(opened[2], at + 1)


def _is_peers_only(text: str, sources: Sequence[Source]) -> bool:
    return (
        _PEERS_ONLY.search(text) is not None
        or _cannot_end(text, sources)
        or any(find_breach(quote[0], sources, _POLICY) for quote in _CLOSED.finditer(text))
    )


def _cannot_end(text: str, sources: Sequence[Source]) -> bool:
    """Tell whether only white space or no content word can follow an open span that lacks it."""
    opened = _OPENED.search(text)
    if not opened:
        return False
    source = sources[int(opened[1]) - 1]
    for field in (source.title, source.text):
        at = field.find(opened[2])
        while at >= 0:
            rest = re.split(r"[\[\]]", field[at + len(opened[2]) :], maxsplit=1)[0]
            ended = rest.strip() or not opened[2][-1:].isspace()
            span = (opened[2] + rest).strip()
            if ended and span and not find_breach(f"[ {opened[1]} {span} ]", sources, _POLICY):
                return False
            at = field.find(opened[2], at + 1)
    return True
