"""Both model runners, played by hand: batches that change, drafts, prompts in pieces, resumption.

Without vLLM: what the adapters see is made here, as the engine was seen to make it.
"""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa import Source
from semqa.decoding import CopyConstraint, QuotePolicy
from semqa.decoding.vllm import to_extra_args
from semqa.decoding.vllm.runners import FirstRunner, SecondRunner
from tests.decoding.vocabularies import straddling_vocabulary, tokens_of

VOCABULARY = straddling_vocabulary()
SOURCES = [[Source("White Christmas, 1943.", "a")], [Source("sun sun and sun"), Source("s é 日本")]]
POLICY = QuotePolicy(free="any")
WIDTH = VOCABULARY.size + 5
MOST_TOKENS = 60
END = VOCABULARY.eos_ids[0]


def params(number: int | None, most: int = 30) -> Any:
    extra = None if number is None else to_extra_args(SOURCES[number], POLICY)
    return SimpleNamespace(extra_args=extra, stop=[], logit_bias=None, max_tokens=most)


class Wanted:
    """What an answer may go on with, by the constraint itself, and how it goes on."""

    def __init__(self, number: int | None, prompt: int, most: int) -> None:
        self.number, self.prompt = number, prompt
        self.tokens: list[int] = []
        if number is not None:
            self.constraint = CopyConstraint(VOCABULARY, SOURCES[number], POLICY)
            self.state = self.constraint.start(min(most, MOST_TOKENS - prompt))

    def allowed(self, drafts: list[int] | None = None) -> list[int] | None:
        if self.number is None:
            return None
        state = self.state
        for token in drafts or []:
            if token not in self.constraint.allowed(state):
                return list(VOCABULARY.eos_ids)
            state = self.constraint.advance(state, token)
        found: list[int] = self.constraint.allowed(state).tolist()
        return found

    def draw(self, rng: random.Random) -> int:
        allowed = self.allowed()
        return rng.choice(allowed) if allowed is not None else rng.randrange(WIDTH)

    def take(self, token: int) -> None:
        self.tokens.append(token)
        if self.number is not None:
            self.state = self.constraint.advance(self.state, token)

    @property
    def over(self) -> bool:
        ended = self.number is not None and self.constraint.has_ended(self.state)
        return ended or len(self.tokens) >= 25


def check_row(logits: Any, allowed: list[int] | None) -> None:
    kept = torch.isfinite(logits).nonzero().flatten().tolist()
    assert kept == (list(range(WIDTH)) if allowed is None else sorted(allowed))


@settings(max_examples=30)
@given(seed=st.integers(0, 10**9))
def test_the_first_runner(seed: int) -> None:
    """Rows join, leave, are taken over, swapped, moved, preempted; tokens come late."""
    rng = random.Random(seed)
    runner = FirstRunner(VOCABULARY, 4, MOST_TOKENS)
    batch: dict[int, tuple[Wanted, list[int]]] = {}
    preempted: list[tuple[Wanted, int]] = []
    for _ in range(40):
        removed: list[Any] = []
        added: list[Any] = []
        moved: list[Any] = []
        for place in sorted(batch):
            wanted, _ = batch[place]
            if wanted.over or rng.random() < 0.08:
                if not wanted.over and rng.random() < 0.6:
                    preempted.append((wanted, 0))
                del batch[place]
                if rng.random() < 0.7:
                    removed.append(place)  # else the place is taken over below
                    continue
                _join(rng, batch, place, added, preempted)
        for place in range(4):
            if place not in batch and rng.random() < 0.4:
                _join(rng, batch, place, added, preempted)
        gaps = [place for place in range(4) if place not in batch]
        for gap in gaps:
            later = [place for place in batch if place > gap]
            if later:
                last = max(later)
                moved.append((last, gap, SimpleNamespace(name="UNIDIRECTIONAL")))
                batch[gap] = batch.pop(last)
        if len(batch) > 1 and rng.random() < 0.3:
            one, other = rng.sample(sorted(batch), 2)
            moved.append((one, other, SimpleNamespace(name="SWAP")))
            batch[one], batch[other] = batch[other], batch[one]
        changed = bool(removed or added or moved)
        update = SimpleNamespace(removed=removed, added=added, moved=moved)
        runner.update_state(update if changed else None)
        if not batch:
            continue
        places = sorted(batch)
        assert places == list(range(len(places)))
        logits = torch.zeros(len(places), WIDTH)
        runner.apply(logits)
        for place in places:
            check_row(logits[place], batch[place][0].allowed())
            if rng.random() < 0.8:  # else its prompt is still being read: the draw is thrown away
                wanted, written = batch[place]
                token = wanted.draw(rng)
                wanted.take(token)
                if rng.random() < 0.2:
                    written.append(-1)  # known only when the next step begins
                    runner.update_state(None)
                    written.pop()
                written.append(token)


def _join(
    rng: random.Random, batch: dict[int, Any], place: int, added: list[Any], preempted: list[Any]
) -> None:
    if preempted and rng.random() < 0.6:
        wanted, _ = preempted.pop()
    else:
        wanted = Wanted(rng.choice([None, 0, 1]), rng.choice([3, 45]), 30)
    written = list(wanted.tokens)
    batch[place] = wanted, written
    added.append((place, params(wanted.number), [5] * wanted.prompt, written))


def test_tokens_of_the_first_runner_that_the_constraint_refuses() -> None:
    runner = FirstRunner(VOCABULARY, 4, MOST_TOKENS)
    bad, good = ([token] for token in tokens_of(VOCABULARY, b"]a"))
    added: list[Any] = [
        (0, params(0), [5], bad),
        (1, params(0), [5], good),
        (2, params(None), [5], []),
    ]
    runner.update_state(SimpleNamespace(removed=[], added=added, moved=[]))
    logits = torch.zeros(3, WIDTH)
    runner.apply(logits)
    wanted = Wanted(0, 1, 30)
    wanted.take(good[0])
    check_row(logits[0], list(VOCABULARY.eos_ids))
    check_row(logits[1], wanted.allowed())
    check_row(logits[2], None)


def test_embeddings_have_no_length() -> None:
    runner = FirstRunner(VOCABULARY, 4, MOST_TOKENS)
    runner.update_state(SimpleNamespace(removed=[], added=[(0, params(0), None, [])], moved=[]))
    logits = torch.zeros(1, WIDTH)
    runner.apply(logits)
    check_row(logits[0], list(VOCABULARY.eos_ids))


def test_other_processors_may_leave_nothing() -> None:
    """Then the answer ends, for vLLM would take token 0."""
    runner = FirstRunner(VOCABULARY, 4, MOST_TOKENS)
    added: list[Any] = [(0, params(0), [5], []), (1, params(1), [5], [])]
    runner.update_state(SimpleNamespace(removed=[], added=added, moved=[]))
    logits = torch.zeros(2, WIDTH)
    logits[0] = -torch.inf
    runner.apply(logits)
    check_row(logits[0], [END])
    check_row(logits[1], Wanted(1, 1, 30).allowed())


class Requests:
    """vLLM's record of the requests of Model Runner V2, on the host."""

    def __init__(self, slots: int) -> None:
        self.max_num_reqs = slots
        self.device = torch.device("cpu")
        self.all_token_ids = SimpleNamespace(
            gpu=torch.randint(0, 99, (slots, MOST_TOKENS + 40), dtype=torch.int32)
        )
        self.total_len = SimpleNamespace(gpu=torch.zeros(slots, dtype=torch.int32))
        self.prompt_len = SimpleNamespace(np=np.zeros(slots, np.int32))
        self.prefill_len = SimpleNamespace(np=np.zeros(slots, np.int32))

    def put(self, slot: int, wanted: Wanted) -> None:
        length = wanted.prompt + len(wanted.tokens)
        self.all_token_ids.gpu[slot, wanted.prompt : length] = torch.tensor(
            wanted.tokens, dtype=torch.int32
        )
        self.total_len.gpu[slot] = length
        self.prompt_len.np[slot] = wanted.prompt


@settings(max_examples=30)
@given(seed=st.integers(0, 10**9), most_drafts=st.sampled_from([0, 1, 3]))
def test_the_second_runner(seed: int, most_drafts: int) -> None:
    """Requests take slots over without a word; rows of drafts; prompts in pieces; resumption."""
    rng = random.Random(seed)
    requests = Requests(4)
    runner = SecondRunner(VOCABULARY, requests, MOST_TOKENS, most_drafts)
    held: dict[int, Wanted] = {}
    reading: dict[int, int] = {}
    preempted: list[Wanted] = []
    for _ in range(30):
        for slot in range(4):
            wanted = held.get(slot)
            if wanted is not None and (wanted.over or rng.random() < 0.08):
                if not wanted.over and rng.random() < 0.6:
                    preempted.append(wanted)
                del held[slot]
            if slot not in held and rng.random() < 0.4:
                fresh = Wanted(rng.choice([None, 0, 1]), rng.choice([3, 45]), 30)
                held[slot] = preempted.pop() if preempted and rng.random() < 0.6 else fresh
                requests.put(slot, held[slot])
                length = held[slot].prompt + len(held[slot].tokens)
                requests.prefill_len.np[slot] = length
                reading[slot] = rng.choice([0, 0, 1, 2])
                ours = runner.add_request(slot, params(held[slot].number))
                assert ours == (held[slot].number is not None)
        if not held:
            continue
        order = rng.sample(sorted(held), len(held))
        rows: list[tuple[int, int, int, int]] = []
        drafts_of: dict[int, list[int]] = {}
        for slot in order:
            length = held[slot].prompt + len(held[slot].tokens)
            last = int(requests.all_token_ids.gpu[slot, length - 1])
            if reading[slot]:
                rows.append((slot, 0, 7, length - 2))
                continue
            drafts_of[slot] = _drafts(rng, held[slot], rng.randint(0, most_drafts))
            for place, token in enumerate([last, *drafts_of[slot]]):
                rows.append((slot, place, token, length - 1 + place))
        columns = torch.tensor(rows)
        context = SimpleNamespace(
            expanded_idx_mapping=columns[:, 0],
            expanded_local_pos=columns[:, 1].int(),
            input_ids=columns[:, 2].int(),
            pos=columns[:, 3],
            idx_mapping_np=np.array(order),
        )
        logits = torch.zeros(len(rows), WIDTH)
        for _ in range(rng.choice([1, 1, 2])):  # what is done twice is done once
            runner.apply(logits, context)
        for row, (slot, place, _, _) in enumerate(rows):
            if reading[slot]:  # nothing is sampled, whatever stands there
                check_row(logits[row], None)
            else:
                check_row(logits[row], held[slot].allowed(drafts_of[slot][:place]))
        for slot in order:
            if reading[slot]:
                reading[slot] -= 1
                continue
            for token in drafts_of[slot]:
                allowed = held[slot].allowed()
                if held[slot].over or (allowed is not None and token not in allowed):
                    break
                if token < 0 or rng.random() < 0.2:
                    break
                held[slot].take(token)
            if not held[slot].over:
                held[slot].take(held[slot].draw(rng))
            requests.put(slot, held[slot])


def _drafts(rng: random.Random, wanted: Wanted, count: int) -> list[int]:
    """Some that are allowed, some that are not, some that are none."""
    found: list[int] = []
    for _ in range(count):
        allowed = wanted.allowed(found)
        kind = rng.random()
        if kind < 0.15:
            found.append(-1)
        elif kind < 0.35 or allowed is None:
            found.append(rng.randrange(VOCABULARY.size))
        else:
            found.append(rng.choice(allowed))
    return found


def test_a_slot_that_is_taken_over_by_another_is_not_ours_any_more() -> None:
    requests = Requests(2)
    runner = SecondRunner(VOCABULARY, requests, MOST_TOKENS, 0)
    assert runner.add_request(1, params(0))
    assert not runner.add_request(1, params(None))
    requests.put(1, Wanted(None, 3, 30))
    logits = torch.zeros(1, WIDTH)
    runner.apply(logits, SimpleNamespace(idx_mapping_np=np.array([1])))
    check_row(logits[0], None)


def _nonsense() -> Any:
    wrong = params(0)
    wrong.extra_args["semqa_boundary"] = "nonsense"
    return wrong


@pytest.mark.parametrize(
    "wrong", [_nonsense(), object(), SimpleNamespace(**vars(params(0)) | {"stop": 5})]
)
@pytest.mark.parametrize("second", [False, True])
def test_what_is_added_wrong_is_ours_and_ends(wrong: Any, second: bool) -> None:
    """Should a request come that was never checked, nothing but its end is written."""
    logits = torch.zeros(2, WIDTH)
    if second:
        requests = Requests(2)
        later = SecondRunner(VOCABULARY, requests, MOST_TOKENS, 0)
        assert [later.add_request(slot, one) for slot, one in enumerate((wrong, params(1)))]
        for slot in (0, 1):
            requests.put(slot, Wanted(1, 3, 30))
        slots, last = torch.tensor([0, 1]), torch.tensor([2, 2])
        context = SimpleNamespace(
            expanded_idx_mapping=slots,
            expanded_local_pos=0 * slots,
            input_ids=requests.all_token_ids.gpu[slots, last],
            pos=last,
            idx_mapping_np=slots.numpy(),
        )
        later.apply(logits, context)
    else:
        runner = FirstRunner(VOCABULARY, 2, MOST_TOKENS)
        added: list[Any] = [(0, wrong, [5] * 3, []), (1, params(1), [5] * 3, [])]
        runner.update_state(SimpleNamespace(removed=[], added=added, moved=[]))
        runner.apply(logits)
    check_row(logits[0], list(VOCABULARY.eos_ids))
    check_row(logits[1], Wanted(1, 3, 30).allowed())
