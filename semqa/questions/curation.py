"""Draws questions evenly over their kinds, splits them by pages, and reviews them one by one.

The kind of a question is its question word and its number of answers. Two splits never share a
page: questions that share a page, directly or through other questions, stay together.

Source: Schuster et al. 2024, section 4.1, for both, and for 60, 7 and 33 percent. The algorithms
are ours.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from semqa.data.jsonl import AppendFile, Row, encode_row
from semqa.errors import InputError
from semqa.questions.paq import read_rows
from semqa.questions.records import question_word
from semqa.questions.similar import groups

_NUMBERS = range(1, 9)


class Kind(NamedTuple):
    """The kind of a question: its question word, or ``other``, and its number of answers."""

    word: str
    answers: int


class Place(NamedTuple):
    """A question in a file, with its kind and pages."""

    qid: str
    kind: Kind
    pages: frozenset[str]


def find_questions(path: Path) -> list[Place]:
    """Return the kind and pages of each question in a QuoteSum file, from its first row."""
    places: dict[str, Place] = {}
    for row in read_rows(path):
        qid = row.text("qid")
        if qid not in places:
            places[qid] = _place(row, qid)
    if not places:
        raise InputError("has no questions.", where=str(path))
    return list(places.values())


def _place(row: Row, qid: str) -> Place:
    there = [k for k in _NUMBERS if row.text(f"source{k}", "").strip()]
    if not there:
        raise InputError("has no sources.", where=row.where)
    # A source without a title counts as a separate page.
    pages = (
        row.text(f"title{k}", "").strip().casefold() or row.text(f"source{k}").casefold()
        for k in there
    )
    return Place(qid, Kind(question_word(row.text("question")), len(there)), frozenset(pages))


def sample(places: Sequence[Place], count: int, seed: int) -> list[Place]:
    """Draw questions evenly over kinds.

    One question of each kind is drawn in turn, until the kind is exhausted. The choice depends on
    ids and the seed, not on the order of the file. The result is in file order.
    """
    kinds: dict[Kind, list[Place]] = {}
    for place in sorted(places, key=lambda each: _random_key(each.qid, seed)):
        kinds.setdefault(place.kind, []).append(place)
    turns = sorted(kinds, key=lambda kind: _random_key(f"{kind.word} {kind.answers}", seed))
    drawn: set[str] = set()
    for turn in range(max(map(len, kinds.values()), default=0)):
        for kind in turns:
            if len(drawn) < count and turn < len(kinds[kind]):
                drawn.add(kinds[kind][turn].qid)
    return [place for place in places if place.qid in drawn]


def _random_key(name: str, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed} {name}".encode(), digest_size=8).digest()


class Splits(NamedTuple):
    """Questions by split, and the number of those in the largest group that shares pages."""

    places: dict[str, list[Place]]
    largest: int


def separable(places: Iterable[Place]) -> bool:
    """Return whether some two questions share no page; otherwise all belong in one split."""
    pages = {place.pages for place in places}
    if frozenset.intersection(*pages):  # fast if all questions share a page
        return False
    return any(one.isdisjoint(other) for one, other in combinations(pages, 2))


def split(places: Sequence[Place], shares: Mapping[str, float], seed: int) -> Splits:
    """Split questions so that no page is in two splits.

    Groups of questions that share pages are assigned, largest first, to the split that lacks the
    most questions. A very large group can make the shares, which sum to 1, unattainable; see
    `Splits.largest`.
    """
    first: dict[str, int] = {}
    pairs = [
        (first.setdefault(page, at), at) for at, place in enumerate(places) for page in place.pages
    ]
    together = groups(len(places), iter(pairs))
    linked = {at for members in together for at in members}
    together += [[at] for at in range(len(places)) if at not in linked]
    together.sort(key=lambda members: (-len(members), _random_key(places[members[0]].qid, seed)))
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
    """Yield all rows of some questions, in file order."""
    wanted = {place.qid for place in places}
    for row in read_rows(path):
        if row.text("qid") in wanted:
            yield encode_row(row.fields)


def tally(places: Iterable[Place]) -> defaultdict[str, Counter[int]]:
    """Count questions by question word and number of answers."""
    counts: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for place in places:
        counts[place.kind.word][place.kind.answers] += 1
    return counts


class Checking:
    """A review of the questions in the file `path`, which saves each decision at once.

    Kept rows are appended to `keep` with ``"checked": true``, dropped rows to `drop`. Questions in
    neither file are undecided.
    """

    def __init__(self, path: Path, keep: Path, drop: Path) -> None:
        self._rows: dict[str, dict[str, Any]] = {}
        for row in read_rows(path):
            self._rows.setdefault(row.text("qid"), dict(row.fields))
        self.total = len(self._rows)
        self._files = {True: _open(keep), False: _open(drop)}
        kept, dropped = (
            {row.text("qid") for row in file.rows} & self._rows.keys()
            for file in self._files.values()
        )
        self.kept, self.dropped = len(kept), len(dropped - kept)
        self._done = kept | dropped

    def left(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the undecided rows, each with its number from 1."""
        for number, (qid, row) in enumerate(self._rows.items(), 1):
            if qid not in self._done:
                yield number, dict(row)

    def decide(self, row: Mapping[str, Any], *, keep: bool) -> None:
        """Save a decision."""
        self._files[keep].append({**row, "checked": True})
        self._done.add(str(row["qid"]))
        self.kept += keep
        self.dropped += not keep


def _open(path: Path) -> AppendFile:
    """Open a file of decisions; its last line may lack a newline, as saved by some editors."""
    if path.is_file():
        raw = path.read_bytes()
        try:
            json.loads(raw[raw.rfind(b"\n") + 1 :])
        except ValueError:  # empty, or torn by a killed process
            pass
        else:
            path.write_bytes(raw + b"\n")
    return AppendFile(path)
