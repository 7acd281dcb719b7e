"""Prometheus metrics."""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


class Measures:
    """The metrics of one server."""

    def __init__(self, under_way: Callable[[], int]) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        times = partial(Histogram, buckets=_SECONDS, registry=registry)
        self.requests = Counter(
            "semqa_requests",
            "Number of requests.",
            ["method", "route", "status"],
            registry=registry,
        )
        self.seconds = times(
            "semqa_request_seconds",
            "Time from a request to the end of its reply.",
            ["method", "route"],
        )
        self._first = times(
            "semqa_first_text_seconds",
            "Time from a question to the first text of its answer.",
            ["engine"],
        )
        self._whole = times(
            "semqa_answer_seconds", "Time from a question to its complete answer.", ["engine"]
        )
        self._answers = Counter(
            "semqa_answers",
            "Number of answers by verdict, failed, or left (the client disconnected).",
            ["engine", "outcome"],
            registry=registry,
        )
        self._quotes = Counter(
            "semqa_quotes",
            "Number of quotes in complete answers.",
            ["engine", "status"],
            registry=registry,
        )
        Gauge(
            "semqa_answers_under_way", "Number of running and queued answers.", registry=registry
        ).set_function(under_way)

    @contextmanager
    def answer(self, engine: str) -> Iterator[AnswerTimer]:
        """Measure one answer while the block runs."""
        timer = AnswerTimer(time.perf_counter())
        failed = False
        try:
            yield timer
        except Exception:
            failed = True
            raise
        finally:  # also if the generator is closed or the task is cancelled
            outcome = "failed" if failed else self._outcome(engine, timer)
            self._answers.labels(engine, outcome).inc()

    def _outcome(self, engine: str, timer: AnswerTimer) -> str:
        if timer.verdict is None:
            return "left"
        self._whole.labels(engine).observe(timer.whole)
        if timer.first is not None:
            self._first.labels(engine).observe(timer.first)
        for status, count in timer.quotes.items():
            self._quotes.labels(engine, status).inc(count)
        return timer.verdict

    def text(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(self.registry)


class AnswerTimer:
    """Measurements of one answer.

    Attributes:
        first: seconds until the first segment; None before it.
        whole: seconds until the end.
        verdict: verdict of the answer; None until it is complete.
        quotes: number of quotes by status.
    """

    def __init__(self, start: float) -> None:
        self._start = start
        self.first: float | None = None
        self.whole = 0.0
        self.verdict: str | None = None
        self.quotes: Mapping[str, int] = {}

    def note_segment(self) -> None:
        """Record the time of the first segment."""
        if self.first is None:
            self.first = time.perf_counter() - self._start

    def finish(self, verdict: str, quotes: Mapping[str, int]) -> None:
        """Record the complete answer."""
        self.whole = time.perf_counter() - self._start
        self.verdict, self.quotes = verdict, quotes
