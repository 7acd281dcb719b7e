"""Span-by-span decoding with vLLM; each step of several answers runs as one batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from semqa.engines.model.spans import Ask, Score, SpanWriter, Tokens, Words
from semqa.engines.vllm.service import Service


class SpanTask(NamedTuple):
    """An answer to write; `params` are used if it is written token by token."""

    writer: SpanWriter
    prompt: Sequence[int]
    generic: Sequence[int]
    params: Any


def write_spans(service: Service, tasks: Sequence[SpanTask]) -> Iterator[None]:
    """Write each answer to its writer's `tokens`; yields after each step."""
    works = [task.writer.write(task.prompt, task.generic) for task in tasks]
    replies: dict[int, Any] = dict.fromkeys(range(len(works)))
    while replies:
        asks: dict[int, Ask] = {}
        for place, reply in replies.items():
            try:
                asks[place] = works[place].send(reply)
            except StopIteration:
                continue
        yield
        replies = _replies(service, tasks, asks)


def _replies(
    service: Service, tasks: Sequence[SpanTask], asks: Mapping[int, Ask]
) -> dict[int, Any]:
    scored = {place: ask for place, ask in asks.items() if isinstance(ask, Score)}
    replies: dict[int, Any] = dict(zip(scored, _score(service, [*scored.values()]), strict=True))
    requests: dict[int, tuple[Sequence[int], Any]] = {}
    for place, ask in asks.items():
        if isinstance(ask, Words):
            requests[place] = ask.before, _words_params(ask.most)
        elif isinstance(ask, Tokens):
            requests[place] = tasks[place].prompt, tasks[place].params
    for place, written in zip(requests, service.run([*requests.values()]), strict=True):
        replies[place] = written.tokens
    return replies


def _words_params(most: int) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    # Without a mask: the writer drops words that the constraint does not allow.
    return SamplingParams(
        max_tokens=most, temperature=0.0, stop=["["], output_kind=RequestOutputKind.FINAL_ONLY
    )


def _score(service: Service, asks: Sequence[Score]) -> list[list[list[float]]]:
    """Return the log-probability of each token of each row."""
    # Cache the prefix first: requests of one step share only what earlier steps have cached.
    service.run([(ask.before, _score_params(shared=True)) for ask in asks if len(ask.rows) > 1])
    rows = [(ask.before, row) for ask in asks for row in ask.rows]
    found = _read_scores(service, rows, shared=True)
    missing = [place for place, scores in enumerate(found) if scores is None]
    again = _read_scores(service, [rows[place] for place in missing], shared=False)
    for place, scores in zip(missing, again, strict=True):
        found[place] = scores
    each = iter([scores or [] for scores in found])
    return [[next(each) for _ in ask.rows] for ask in asks]


def _score_params(*, shared: bool) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    return SamplingParams(
        max_tokens=1,
        temperature=0.0,
        prompt_logprobs=0,
        skip_reading_prefix_cache=not shared,
        flat_logprobs=True,
        detokenize=False,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def _read_scores(
    service: Service, rows: Sequence[tuple[list[int], list[int]]], *, shared: bool
) -> list[list[float] | None]:
    """Return the scores of rows; None if vLLM had some of a row's tokens in its cache, without scores."""
    params = _score_params(shared=shared)
    written = service.run([([*before, *row], params) for before, row in rows])
    found: list[list[float] | None] = []
    for (_, row), each in zip(rows, written, strict=True):
        count = len(row)
        known = list(each.prompt_ids[-count:]) == row
        found.append(list(each.prompt_scores[-count:]) if known else None)
    return found
