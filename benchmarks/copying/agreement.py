"""Compare the masks of two constraints, allowing for known differences between their languages.

The peer's grammar also allows spans that are empty, start or end with white space, contain brackets
of the source, run into white space without a legal end, or have no content word. It also allows
answers that end without a quote or repeat a quote. A token that only the peer allows must lead to
one of these; a token that only semqa allows is always an error. After the first quote is closed,
the peer may allow more, so its extra tokens are ignored from there on.
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
    r"\[ [0-9]+ \s"  # a span that is empty or starts with white space
    r"|\s \]"  # a span that ends with white space
    r"|\[[^\]]*\["  # a bracket in the source
    r"|[^ ]\]"
)


def different(ours: NDArray[np.int32], theirs: NDArray[np.int32]) -> tuple[list[int], list[int]]:
    """Return the tokens allowed only by the first mask, and those allowed only by the second."""
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
    """Return the texts whose difference between the masks the languages do not explain.

    If `boundary` is ``word``, the two split words differently, so only tokens in free text or in
    the number of a quote are compared.
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
    """Yield the possible completions of an incomplete character at the end, or the text itself."""
    complete = data.decode("utf-8", "ignore")
    rest = data[len(complete.encode("utf-8")) :]
    opened = _OPENED.search(complete)
    if not rest or not opened:
        yield data.decode("utf-8", "replace")
        return
    source = sources[int(opened[1]) - 1]
    for field in (source.title, source.text):
        at = field.find(opened[2])
        while 0 <= at < len(field) - len(opened[2]):
            following = field[at + len(opened[2])]
            if following.encode("utf-8").startswith(rest):
                yield complete + following
            at = field.find(opened[2], at + 1)


def _is_peers_only(text: str, sources: Sequence[Source]) -> bool:
    return (
        _PEERS_ONLY.search(text) is not None
        or _cannot_end(text, sources)
        or any(find_breach(quote[0], sources, _POLICY) for quote in _CLOSED.finditer(text))
    )


def _cannot_end(text: str, sources: Sequence[Source]) -> bool:
    """Return whether an open span can no longer end legally, for lack of a word to end with."""
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
