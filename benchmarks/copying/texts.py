"""Source texts of any length, friendly and hostile, and quotes cut from them; all seeded."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from copying.contestants import Boundary

_LONGEST_SPAN = 160


def markov_text(passages: Sequence[str], length: int, seed: int = 0) -> str:
    """Return text whose word pairs are those of the passages: it repeats, but copies nothing long."""
    followers = defaultdict(list)
    words = " ".join(passages).replace("[", "(").replace("]", ")").split()
    for word, follower in pairwise(words):
        followers[word].append(follower)
    chance = random.Random(seed)
    word, parts, size = words[0], [], 0
    while size < length:
        parts.append(word)
        size += len(word) + 1
        word = chance.choice(followers[word] or words)
    return " ".join(parts)[:length]


def _repeated(piece: str) -> Callable[[int], str]:
    return lambda length: (piece * (length // len(piece) + 1))[:length]


def _random_of(alphabet: str, seed: int) -> Callable[[int], str]:
    return lambda length: "".join(random.Random(seed).choices(alphabet, k=length))


def _digits_table(length: int) -> str:
    chance = random.Random(3)
    numbers = [str(chance.randrange(100_000)) for _ in range(length // 4)]
    rows = [",".join(numbers[at : at + 8]) for at in range(0, len(numbers), 8)]
    return "\n".join(rows)[:length]


def _doubled(length: int) -> str:
    chance = random.Random(5)
    words = [f"{chance.choice('abcdefgh')}w{chance.randrange(3000)}" for _ in range(length // 10)]
    half = " ".join(words)[: length // 2 - 1]
    return f"{half} {half}"


HOSTILE: dict[str, Callable[[int], str]] = {
    "'a' * n": _repeated("a"),
    "'ab ' * n": _repeated("ab "),
    "DNA": _random_of("ACGT", 1),
    "digits, CSV": _digits_table,
    "CJK": _random_of("的一是不了人我在有他这中大来上个国和也子时道说", 2),
    "one giant word": _random_of("abcdefghijklmnopqrstuvwxyz", 4),
    "text doubled": _doubled,
}
"""Texts that make suffix structures, masks or position sets large."""


def cut_quotes(text: str, boundary: Boundary, count: int, seed: int = 0) -> Iterator[str]:
    """Yield answers that quote the text once; without the closing mark where no legal end is near.

    Args:
        text: the body of source 1, without brackets.
        boundary: where spans may be cut.
        count: how many answers.
        seed: of the choice.
    """
    chance = random.Random(seed)
    for _ in range(count):
        start = chance.randrange(len(text))
        while start and (text[start].isspace() or not _may_cut(text, start, boundary)):
            start -= 1
        end = min(len(text), start + chance.randint(20, _LONGEST_SPAN))
        closed = end
        while closed > start + 1 and (
            text[closed - 1].isspace() or not _may_cut(text, closed, boundary)
        ):
            closed -= 1
        if closed > start + 1 or _may_cut(text, closed, boundary):
            yield f"It is said that [ 1 {text[start:closed]} ] ."
        else:
            yield f"It is said that [ 1 {text[start:end]}"


def _may_cut(text: str, at: int, boundary: Boundary) -> bool:
    if boundary == "char" or at in {0, len(text)}:
        return True
    return not (text[at - 1].isalnum() and text[at].isalnum())
