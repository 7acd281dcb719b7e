"""Drawing questions evenly over their kinds, and splitting them by pages.

The kind of a question is its question word and how many answers it has. A split never has a page that
another split has: questions that share a page, directly or through others, stay together.

Source: Schuster et al. 2024, section 4.1, for both, and for 60, 7 and 33 percent. How questions are
drawn and put together is ours.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from semqa.data.jsonl import decode_row, encode_row
from semqa.errors import InputError
from semqa.questions.paq import read_from
from semqa.questions.records import question_word
from semqa.questions.similar import groups

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from semqa.data.jsonl import Row

SHARES = {"train": 0.60, "dev": 0.07, "test": 0.33}
"""Splits in the order in which they are written; shares of the questions."""

_NUMBERS = range(1, 9)


class Kind(NamedTuple):
    """What questions are drawn evenly over.

    Attributes:
        word: the question word, or ``other``.
    """

    word: str
    answers: int


class Place(NamedTuple):
    """A question in a file."""

    qid: str
    offset: int
    kind: Kind
    pages: frozenset[str]


def find_questions(path: Path) -> list[Place]:
    """Return where the questions of a QuoteSum file are, the first row of each."""
    places: dict[str, Place] = {}
    for line, _ in read_from(path, 0, 0):
        row = decode_row(line)
        qid = row.text("qid")
        if qid not in places:
            places[qid] = _place(row, qid, line.offset)
    if not places:
        raise InputError("nothing to read: the file is empty.", where=str(path))
    return list(places.values())


def _place(row: Row, qid: str, offset: int) -> Place:
    there = [k for k in _NUMBERS if row.text(f"source{k}", "").strip()]
    if not there:
        raise InputError("There is no source.", where=row.where)
    # A source without a title is a page of its own.
    pages = (
        row.text(f"title{k}", "").strip().casefold() or row.text(f"source{k}").casefold()
        for k in there
    )
    return Place(
        qid, offset, Kind(question_word(row.text("question")), len(there)), frozenset(pages)
    )


def sample(places: Sequence[Place], count: int, seed: int) -> list[Place]:
    """Draw questions, as many of each kind as possible.

    Kinds take turns; one that has no more is passed over. Who is drawn depends on names and seed, not
    on the order of the file; the result is in its order.
    """
    kinds: dict[Kind, list[Place]] = {}
    for place in sorted(places, key=lambda each: _chance(each.qid, seed)):
        kinds.setdefault(place.kind, []).append(place)
    turns = sorted(kinds, key=lambda kind: _chance(f"{kind.word} {kind.answers}", seed))
    drawn: set[str] = set()
    for turn in range(max(map(len, kinds.values()), default=0)):
        for kind in turns:
            if len(drawn) < count and turn < len(kinds[kind]):
                drawn.add(kinds[kind][turn].qid)
    return [place for place in places if place.qid in drawn]


def _chance(name: str, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed} {name}".encode(), digest_size=8).digest()


class Splits(NamedTuple):
    """Questions by split.

    Attributes:
        largest: how many questions the largest group has that pages hold together.
    """

    places: dict[str, list[Place]]
    largest: int


def split(places: Sequence[Place], shares: Mapping[str, float], seed: int) -> Splits:
    """Split questions so that no page is in two splits.

    Groups that pages hold together go, the largest first, to the split that lacks the most of its
    share. With one large group the shares cannot be met; `Splits.largest` tells.

    Args:
        shares: the share of each split; they sum to 1.
    """
    first: dict[str, int] = {}
    pairs = [
        (first.setdefault(page, at), at) for at, place in enumerate(places) for page in place.pages
    ]
    together = groups(len(places), iter(pairs))
    linked = {at for members in together for at in members}
    together += [[at] for at in range(len(places)) if at not in linked]
    together.sort(key=lambda members: (-len(members), _chance(places[members[0]].qid, seed)))
    lacking = {name: share * len(places) for name, share in shares.items()}
    found: dict[str, list[int]] = {name: [] for name in shares}
    for members in together:
        name = max(lacking, key=lambda each: lacking[each])
        found[name] += members
        lacking[name] -= len(members)
    return Splits(
        {name: [places[at] for at in sorted(members)] for name, members in found.items()},
        max(map(len, together), default=0),
    )


def rows_of(path: Path, places: Iterable[Place]) -> Iterator[bytes]:
    """Yield the rows of questions as they stand in their file, other rows of the same question too."""
    wanted = {place.qid for place in places}
    for line, _ in read_from(path, 0, 0):
        row = decode_row(line)
        if row.text("qid") in wanted:
            yield encode_row(row.fields)


def tally(places: Iterable[Place]) -> defaultdict[str, Counter[int]]:
    """Return how many questions there are, by question word and number of answers."""
    counts: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for place in places:
        counts[place.kind.word][place.kind.answers] += 1
    return counts
