"""Even sampling, and splits without shared pages."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from semqa.questions.curation import Kind, Place, find_questions, sample, split
from tests.effort import effort

SHARES = {"train": 0.60, "dev": 0.07, "test": 0.33}

kinds = st.builds(Kind, st.sampled_from(("who", "when", "other")), st.integers(2, 4))
pages = st.sets(st.integers(0, 30).map(str), min_size=1, max_size=3).map(frozenset)
places = st.lists(st.tuples(kinds, pages), min_size=1, max_size=40).map(
    lambda found: [Place(f"q{n}", kind, page) for n, (kind, page) in enumerate(found)]
)


@settings(max_examples=effort(40))
@given(places, st.integers(1, 50), st.integers(0, 3), st.randoms())
def test_kinds_are_drawn_evenly(found: list[Place], count: int, seed: int, random: object) -> None:
    drawn = sample(found, count, seed)
    assert len(drawn) == min(count, len(found))
    there, got = Counter(p.kind for p in found), Counter(p.kind for p in drawn)
    # A kind with questions left has at most one fewer than any other.
    for kind in there:
        if got[kind] < there[kind]:
            assert max(got.values()) <= got[kind] + 1
    mixed = [*found]
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert {p.qid for p in sample(mixed, count, seed)} == {p.qid for p in drawn}
    assert drawn == [p for p in found if p in drawn]


@settings(max_examples=effort(40))
@given(places, st.integers(0, 3))
def test_splits_share_no_page(found: list[Place], seed: int) -> None:
    made = split(found, SHARES, seed)
    assert sorted(p.qid for part in made.places.values() for p in part) == sorted(
        p.qid for p in found
    )
    seen: dict[str, str] = {}
    for name, part in made.places.items():
        for place in part:
            for page in place.pages:
                assert seen.setdefault(page, name) == name
    assert 1 <= made.largest <= len(found)


def test_shares_are_met_where_pages_leave_a_choice() -> None:
    found = [Place(f"q{n}", Kind("who", 2), frozenset((f"page {n}",))) for n in range(1_000)]
    made = split(found, SHARES, 0)
    assert {name: len(part) for name, part in made.places.items()} == {
        "train": 600,
        "dev": 70,
        "test": 330,
    }


def test_pages_are_compared_without_case_and_untitled_ones_by_text(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    row = {"unique_id": "u", "summary": "", "source1": "x", "source2": "y", "title2": ""}
    rows = [
        {**row, "qid": "a", "question": "In which year?", "title1": "Oslo"},
        {**row, "qid": "b", "question": "Name two.", "title1": "OSLO ", "source2": "z"},
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    one, other = find_questions(path)
    assert one.pages & other.pages == {"oslo"}
    assert (one.kind, other.kind) == (Kind("which", 2), Kind("other", 2))
