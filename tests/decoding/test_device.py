"""Slots on a device: whole answers, step by step, beside the constraint itself."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch

from semqa import InputError, QuotedAnswer, Source
from semqa.decoding import CopyConstraint, QuotePolicy
from semqa.decoding.device import DeviceSlots
from semqa.decoding.program import DeviceProgram, build_program, shared_program
from semqa.kernels.tables import DEAD, NOT_OURS
from tests.decoding.vocabularies import byte_vocabulary, straddling_vocabulary
from tests.kernels.implementations import Form, forms

TEXTS = ("White Christmas by Bing Crosby.", "Irving Berlin wrote it in 1942.", "the end", "")


def program_of(constraint: CopyConstraint) -> DeviceProgram:
    made = build_program(constraint)
    assert isinstance(made, DeviceProgram)
    return made


class Engine:
    """An engine that decodes at random: requests come, go, change slots and are drafted for."""

    def __init__(self, form: Form, rng: random.Random, count: int, length: int) -> None:
        self.form, self.rng = form, rng
        self.vocabulary = straddling_vocabulary()
        self.shared = shared_program(self.vocabulary)
        self.slots = DeviceSlots(self.shared, count, form.device, fast=form.fast)
        self.history = torch.zeros((count, length), dtype=torch.int32, device=form.device)
        self.lengths = torch.zeros(count, dtype=torch.int32, device=form.device)
        self.free = list(range(count))
        self.running: dict[int, dict[str, Any]] = {}
        self.finished: list[dict[str, Any]] = []

    def join(self) -> None:
        rng = self.rng
        sources = [Source(text, title="Bing") for text in rng.sample(TEXTS, 2)]
        policy = QuotePolicy(
            min_quotes=rng.choice([0, 1]),
            boundary=rng.choice(["word", "char"]),
            quote_bias=rng.choice([0.0, 0.0, 1.5, -2.0]),
        )
        constraint = CopyConstraint(self.vocabulary, sources, policy)
        budget = rng.choice([None, 12, 25])
        self.place(
            {
                "constraint": constraint,
                "program": program_of(constraint),
                "budget": budget,
                "prompt": rng.choices(range(self.vocabulary.size), k=rng.randint(1, 5)),
                "state": constraint.start(budget),
                "tokens": [],
                "foreign": rng.random() < 0.2,
            }
        )

    def place(self, request: dict[str, Any]) -> None:
        slot = self.free.pop(self.rng.randrange(len(self.free)))
        self.running[slot] = request
        written = [*request["prompt"], *request["tokens"]]
        self.history[slot, : len(written)] = torch.tensor(written, dtype=torch.int32)
        self.lengths[slot] = len(written)
        if request["foreign"]:
            self.slots.release(slot)
        else:
            begin, budget = len(request["prompt"]), request["budget"]
            assert self.slots.admit(slot, request["program"], begin=begin, max_tokens=budget)

    def leave(self, slot: int) -> dict[str, Any]:
        self.free.append(slot)
        return self.running.pop(slot)

    def step(self) -> int:
        """Mask the rows of some requests, compare, and go on by tokens that were allowed."""
        rng, device = self.rng, self.form.device
        batch = rng.sample(sorted(self.running), rng.randint(1, len(self.running)))
        rows: list[tuple[int, int, int, Any]] = []  # slot, position, token, state or None
        for slot in batch:
            request = self.running[slot]
            constraint, state = request["constraint"], request["state"]
            rows.append((slot, 0, 0, state))
            for position in range(1, rng.choice([1, 1, 3])):
                token = rng.choice([-1, rng.randrange(self.vocabulary.size)])
                if state is not None and not constraint.has_ended(state) and rng.random() < 0.8:
                    token = int(rng.choice(constraint.allowed(state).tolist()))
                try:
                    state = None if state is None else constraint.advance(state, token)
                except InputError:
                    state = None
                rows.append((slot, position, token, state))
        width = self.vocabulary.size + 5
        logits = torch.zeros((len(rows), width), device=device)
        stood = self.slots.apply(
            logits,
            slots=torch.tensor([row[0] for row in rows], device=device),
            positions=torch.tensor([row[1] for row in rows], dtype=torch.int32, device=device),
            input_ids=torch.tensor([row[2] for row in rows], dtype=torch.int32, device=device),
            history=self.history,
            lengths=self.lengths,
        )
        kept = logits.isfinite().cpu()
        for number, (slot, _, _, state) in enumerate(rows):
            request, found = self.running[slot], kept[number].nonzero().flatten().tolist()
            if request["foreign"]:
                assert len(found) == width
            elif state is None:
                assert int(stood[number, 1]) == DEAD
                assert found == list(self.vocabulary.eos_ids)
            else:
                constraint = request["constraint"]
                assert found == constraint.allowed(state).tolist()
                biased = torch.zeros(width)
                if not constraint.in_quote(state):
                    biased[constraint.quote_openers] = constraint.policy.quote_bias
                assert torch.equal(logits[number, found].cpu(), biased[found])
        for slot in batch:
            self.write(slot)
        return len(rows)

    def write(self, slot: int) -> None:
        request = self.running[slot]
        constraint = request["constraint"]
        for _ in range(self.rng.choice([1, 1, 2])):  # two: a draft was taken
            token = int(self.rng.choice(constraint.allowed(request["state"]).tolist()))
            if self.rng.random() < 0.5:
                token = constraint.shortest_completion(request["state"])[0]
            request["state"] = constraint.advance(request["state"], token)
            self.history[slot, self.lengths[slot]] = token
            self.lengths[slot] += 1
            request["tokens"].append(token)
            if constraint.has_ended(request["state"]):
                self.finished.append(self.leave(slot))
                return
            if len(request["tokens"]) > 30:
                self.leave(slot)
                return
        if self.rng.random() < 0.05:
            self.place(self.leave(slot))  # preempted, and back elsewhere


@forms
def test_answers_are_masked_as_the_constraint_masks_them(form: Form) -> None:
    rng = random.Random(5)
    engine = Engine(form, rng, 6, 64)
    rows = 0
    for _ in range(60):
        while engine.free and (rng.random() < 0.6 or not engine.running):
            engine.join()
        rows += engine.step()
    assert rows > 150
    assert len(engine.finished) > 5
    for request in engine.finished:
        text = engine.vocabulary.decode(request["tokens"])
        assert QuotedAnswer.parse(text, request["constraint"].sources).verified


def new_slots(count: int = 3, most_bytes: int = 1 << 20) -> tuple[DeviceSlots, DeviceProgram]:
    vocabulary = byte_vocabulary()
    program = program_of(CopyConstraint(vocabulary, [Source("White Christmas")]))
    shared = shared_program(vocabulary)
    return DeviceSlots(shared, count, torch.device("cpu"), most_bytes=most_bytes), program


def test_equal_programs_share_their_room() -> None:
    slots, program = new_slots()
    again = program_of(CopyConstraint(byte_vocabulary(), [Source("White Christmas")]))
    assert again is not program
    assert again.fingerprint == program.fingerprint
    assert slots.admit(0, program, begin=0)
    assert slots.admit(1, again, begin=0, max_tokens=9)
    slots.flush()
    assert slots.tables.places[0].tolist() == slots.tables.places[1].tolist()
    assert 0 in slots
    assert 2 not in slots


def test_room_is_bounded_and_comes_back() -> None:
    slots, _ = new_slots(most_bytes=5_000)
    texts = [f"White Christmas {number}" for number in range(12)]
    programs = [program_of(CopyConstraint(byte_vocabulary(), [Source(text)])) for text in texts]
    assert programs[0].nbytes * 4 < 5_000 < programs[0].nbytes * 12
    for each in programs:  # one slot: what nobody uses makes room
        assert slots.admit(0, each, begin=0)
    slots, _ = new_slots(count=12, most_bytes=5_000)
    admitted = [slots.admit(slot, each, begin=0) for slot, each in enumerate(programs)]
    assert admitted == sorted(admitted, reverse=True)
    assert 4 <= sum(admitted) < 12
    refused = admitted.index(False)
    assert refused not in slots
    slots.release(0)
    assert slots.admit(refused, programs[refused], begin=0)
    slots.flush()
    places = slots.tables.places[:, 0].tolist()
    assert places[0] == NOT_OURS
    spans = sorted(
        (places[slot], places[slot] + programs[slot].nbytes // 4)
        for slot in range(12)
        if slot in slots
    )
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert spans[-1][1] <= slots.tables.arena.numel() <= 1_250


def test_a_slot_without_room_is_nobodys() -> None:
    slots, program = new_slots(most_bytes=5_000)
    assert slots.admit(0, program, begin=0)
    large = program_of(CopyConstraint(byte_vocabulary(), [Source("a b c d e " * 60)]))
    assert not slots.admit(0, large, begin=0)
    assert 0 not in slots
    slots.flush()
    assert slots.tables.places[0].tolist() == [NOT_OURS] * 3


def test_the_arena_grows_and_keeps_what_it_holds() -> None:
    slots, program = new_slots(most_bytes=1 << 24)
    assert slots.admit(0, program, begin=0)
    large = program_of(CopyConstraint(byte_vocabulary(), [Source("a b " * 40_000)]))
    assert large.nbytes > 4 * slots.tables.arena.numel()
    assert slots.admit(1, large, begin=0)
    slots.flush()
    for slot, each in enumerate((program, large)):
        first = slots.tables.places[slot, 0]
        kept = slots.tables.arena[first : first + each.rows.size]
        assert torch.equal(kept, torch.from_numpy(each.rows.reshape(-1)))


@pytest.mark.parametrize(
    ("slot", "changes", "max_tokens", "message"),
    [
        (3, {}, None, "slot: got 3, expected 0 to 2; make room for more"),
        (-1, {}, None, "slot: got -1, expected 0 to 2; make room for more"),
        (
            0,
            {"min_quotes": 2},
            5,
            r"max_tokens: got 5, expected at least \d+ for min_quotes=2; raise it",
        ),
        (0, {}, 0, "max_tokens: got 0, expected at least 1 for min_quotes=0"),
    ],
)
def test_what_does_not_fit_is_refused(
    slot: int, changes: dict[str, Any], max_tokens: int | None, message: str
) -> None:
    slots, program = new_slots()
    with pytest.raises(InputError, match=message):
        slots.admit(slot, replace(program, **changes), begin=0, max_tokens=max_tokens)


def test_programs_of_other_vocabularies_are_refused() -> None:
    slots, _ = new_slots()
    other = program_of(CopyConstraint(straddling_vocabulary(), [Source("a")]))
    with pytest.raises(InputError, match="program: got one of vocabulary"):
        slots.admit(0, other, begin=0)
