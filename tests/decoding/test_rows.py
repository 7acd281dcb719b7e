"""A batch of answers equals single answers; scores are masked in place."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa import InputError, Source
from semqa.decoding import CopyConstraint, QuotePolicy
from semqa.decoding.masks import mask_in_place, mask_on_device, packed
from semqa.decoding.rows import ConstraintRows
from tests.decoding.test_walks import ARTICLES, POLICIES, QUESTION
from tests.decoding.vocabularies import straddling_vocabulary, tokens_of
from tests.effort import effort

VOCABULARY = straddling_vocabulary()
ENDS = packed(VOCABULARY.eos_ids, -(-VOCABULARY.size // 32))


def constraints() -> list[CopyConstraint]:
    made = [CopyConstraint(VOCABULARY, ARTICLES, one, question=QUESTION) for one in POLICIES]
    return [*made, CopyConstraint(VOCABULARY, [Source("ab ac ad")], QuotePolicy(quote_bias=2.0))]


CONSTRAINTS = constraints()


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), budget=st.sampled_from([None, 12, 30, 60]))
def test_rows_equal_single_answers(seed: int, budget: int | None) -> None:
    """Advances of different lengths, rows in any order, some with drafts."""
    rng = random.Random(seed)
    rows = ConstraintRows(VOCABULARY, slots=6)
    own: dict[int, tuple[CopyConstraint, Any]] = {}
    for _ in range(20):
        for slot in range(6):
            if slot not in own and rng.random() < 0.5:
                constraint = rng.choice(CONSTRAINTS)
                try:
                    own[slot] = constraint, constraint.start(budget)
                except InputError:
                    with pytest.raises(InputError):
                        rows.admit(slot, constraint, budget)
                    continue
                rows.admit(slot, constraint, budget)
            elif slot in own and rng.random() < 0.05:
                rows.release(slot)
                del own[slot]
        slots = rng.sample(sorted(own), rng.randint(0, len(own)))
        if not slots:
            continue
        new = []
        for slot in slots:
            constraint, state = own[slot]
            tokens = []
            for _ in range(rng.choice([0, 1, 1, 1, 3])):
                tokens.append(rng.choice(constraint.allowed(state).tolist()))
                state = constraint.advance(state, tokens[-1])
            new.append(tokens)
            own[slot] = constraint, state
        if rng.random() < 0.5:
            assert (rows.advance(np.array(slots), new) == -1).all()
        else:
            room = np.full((len(slots), rows.width), -1, np.int32)
            assert (rows.advance_and_fill(np.array(slots), new, room) == -1).all()
            assert np.array_equal(room, [own[slot][0].mask(own[slot][1]) for slot in slots])
        places = [rng.choice(sorted(own)) for _ in range(5)]
        ahead, wanted = [], []
        for slot in places:
            constraint, state = own[slot]
            drafts: list[int] = []
            for _ in range(rng.randint(0, 2)):
                drafts.append(rng.choice(constraint.allowed(state).tolist()))
                state = constraint.advance(state, drafts[-1])
            ahead.append(drafts)
            wanted.append(constraint.mask(state))
        masks = np.full((5, rows.width), -1, np.int32)
        assert (rows.fill(np.array(places), masks, ahead) == -1).all()
        assert np.array_equal(masks, wanted)
        rows.fill(np.array(places), masks)
        assert np.array_equal(masks, [own[slot][0].mask(own[slot][1]) for slot in places])


def test_a_token_that_is_not_allowed_ends_only_its_row() -> None:
    rows = ConstraintRows(VOCABULARY, slots=3)
    for slot in range(3):
        rows.admit(slot, CONSTRAINTS[0], 50)
    bracket, letter = tokens_of(VOCABULARY, b"]a")
    room = np.empty((3, rows.width), np.int32)
    status = rows.advance_and_fill(np.arange(3), [[letter], [letter, bracket], [letter]], room)
    assert np.array_equal(room[1], ENDS)
    assert status.tolist() == [-1, 1, -1]
    masks = np.empty((4, rows.width), np.int32)
    told = rows.fill(np.array([0, 1, 2, 2]), masks, [[], [], [], [bracket]])
    assert told.tolist() == [-1, -1, -1, 0]
    state = CONSTRAINTS[0].advance(CONSTRAINTS[0].start(50), letter)
    assert np.array_equal(masks[0], CONSTRAINTS[0].mask(state))
    for row in (1, 3):
        assert np.array_equal(masks[row], ENDS)


@pytest.mark.parametrize("token", [-1, 10**6])
def test_invalid_tokens_are_not_allowed(token: int) -> None:
    rows = ConstraintRows(VOCABULARY, slots=1)
    rows.admit(0, CONSTRAINTS[0], None)
    assert rows.advance(np.array([0]), [[token]]).tolist() == [0]


@pytest.mark.parametrize("done", [True, False])
def test_costs_are_requested_before_they_are_needed(done: bool) -> None:
    """They are requested once and not at the start; a step computes them if they are late."""
    constraint = CopyConstraint(VOCABULARY, [Source("In 1943.")], QuotePolicy(free="any"))
    asked: list[Callable[[], object]] = []
    rows = ConstraintRows(VOCABULARY, slots=1, later=asked.append)
    rows.admit(0, constraint, 200)
    state, masks = constraint.start(200), np.empty((1, rows.width), np.int32)
    (letter,) = tokens_of(VOCABULARY, b"a")
    for step in range(200):
        if not constraint.mask(state)[letter // 32] >> letter % 32 & 1:
            break
        assert rows.advance_and_fill(np.array([0]), [[letter]], masks).tolist() == [-1]
        state = constraint.advance(state, letter)
        assert np.array_equal(masks[0], constraint.mask(state))
        assert len(asked) <= (step > 100)
        if asked and done:
            asked[0]()
    assert len(asked) == 1


def test_after_an_end_token() -> None:
    """Only end tokens follow an end token."""
    rows = ConstraintRows(VOCABULARY, slots=1)
    rows.admit(0, CONSTRAINTS[0], 12)
    quote = tokens_of(VOCABULARY, b"[ 1 White ]")
    assert rows.advance(np.array([0]), [quote + [VOCABULARY.eos_ids[0]] * 9]).tolist() == [-1]
    masks = np.empty((1, rows.width), np.int32)
    rows.fill(np.array([0]), masks)
    assert np.array_equal(masks[0], ENDS)


def test_openers_get_a_bias_between_quotes() -> None:
    rows = ConstraintRows(VOCABULARY, slots=2)
    rows.admit(1, CONSTRAINTS[0], None)
    assert rows.biases(np.array([1])) is None
    rows.admit(0, CONSTRAINTS[-1], None)
    biases = rows.biases(np.array([1, 0]))
    assert biases is not None
    assert biases.tolist() == [0.0, 2.0]
    assert np.array_equal(rows.quote_openers, CONSTRAINTS[-1].quote_openers)
    opener = next(t for t in rows.quote_openers.tolist() if VOCABULARY.token_bytes(t) == b"[ ")
    rows.advance(np.array([0]), [[opener]])
    biases = rows.biases(np.array([0]))
    assert biases is not None
    assert biases.tolist() == [0.0]


MOST = np.finfo(np.float32).max


def masked_plainly(scores: Any, row: int, mask: Any) -> Any:
    """Mask a row; scores that are not finite are replaced unless their whole block is allowed."""
    kept = scores[row].copy()
    for first in range(0, kept.size, 32):
        block = kept[first : first + 32]
        word = int(mask[first // 32]) if first // 32 < mask.size else 0
        if word == -1 and block.size == 32 and (kept[:first] > -np.inf).any():
            continue
        for place, score in enumerate(block):
            allowed = (word >> place) & 1 and not np.isnan(score)
            block[place] = min(score, MOST) if allowed else -np.inf
    return kept


def on_device_plainly(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """On a device, only the end token 0 is left in rows with no usable score."""
    bits = [
        token // 32 < mask.size and mask[token // 32] >> token % 32 & 1
        for token in range(scores.size)
    ]
    kept = np.where(bits, scores, -np.inf)
    if not np.isfinite(kept[kept != -np.inf]).all() or (kept == -np.inf).all():
        kept = np.where(np.arange(scores.size) == 0, 0.0, -np.inf)
    return kept


@settings(max_examples=effort(100))
@given(data=st.data())
def test_masking_in_place(data: st.DataObject) -> None:
    height, width = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 100))
    words = data.draw(st.integers(1, 4))
    beyond = data.draw(st.integers(0, 3))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    whole = rng.choice(
        np.array([0.0, 1.5, -3e38, np.inf, -np.inf, np.nan], np.float32), (height, width + beyond)
    ).astype(np.float32)
    before = whole.copy()
    scores = whole[:, :width]
    chosen = data.draw(st.lists(st.integers(0, height - 1), unique=True, max_size=height))
    masks = (
        rng.choice(np.array([0, -1, 1, 1 << 31, 0x55555555], np.int64), (len(chosen), words))
        .astype(np.uint32)
        .view(np.int32)
        .reshape(len(chosen), words)
        .copy()
    )
    wanted = before.copy()
    for place, row in enumerate(chosen):
        wanted[row, :width] = masked_plainly(before[:, :width], row, masks[place])
    alive = mask_in_place(scores, np.array(chosen, np.int64), masks)
    assert np.array_equal(whole, wanted, equal_nan=True)
    assert alive.tolist() == [bool((wanted[row, :width] > -np.inf).any()) for row in chosen]
    tensor = torch.from_numpy(before.copy())
    mask_on_device(tensor[:, :width], np.array(chosen, np.int64), masks, 0)
    for row in chosen:
        wanted[row, :width] = on_device_plainly(before[row, :width], masks[chosen.index(row)])
    assert np.array_equal(tensor.numpy(), wanted, equal_nan=True)


@given(width=st.integers(1, 80), bias=st.sampled_from([0.0, -2.5, 7.0]))
def test_biases_are_added_before_masking(width: int, bias: float) -> None:
    scores = np.zeros((2, width), np.float32)
    mask = np.array([[0x0F0F0F0F, 0, -1]], np.int32)
    lifted = np.array([0, 3, 4, 70, 1000])
    wanted = scores.copy()
    wanted[1, lifted[lifted < width]] += np.float32(bias)
    wanted[1] = masked_plainly(wanted, 1, mask[0])
    mask_in_place(scores, np.array([1]), mask, lifted, np.array([bias], np.float32))
    assert np.array_equal(scores, wanted)


def test_rows_without_scores_may_end_on_a_device() -> None:
    scores = torch.full((2, 40), -torch.inf)
    mask_on_device(scores, np.array([1]), np.array([[-1, -1]], np.int32), 7)
    assert scores[1].argmax() == 7
    assert torch.isinf(scores[0]).all()
