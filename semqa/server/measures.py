"""Metrics for Prometheus."""

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
    """Counts and times; each server has its own."""

    def __init__(self, under_way: Callable[[], int]) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        times = partial(Histogram, buckets=_SECONDS, registry=registry)
        self.requests = Counter(
            "semqa_requests", "Requests.", ["method", "route", "status"], registry=registry
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
            "semqa_answer_seconds", "Time from a question to its whole answer.", ["engine"]
        )
        self._answers = Counter(
            "semqa_answers",
            "Answers, by verdict; or failed, or left by the client.",
            ["engine", "outcome"],
            registry=registry,
        )
        self._quotes = Counter(
            "semqa_quotes", "Quotes in whole answers.", ["engine", "status"], registry=registry
        )
        Gauge(
            "semqa_answers_under_way", "Answers under way or waiting.", registry=registry
        ).set_function(under_way)

    @contextmanager
    def answer(self, engine: str) -> Iterator[Measured]:
        """Measure one answer, while the block runs."""
        measured = Measured(time.perf_counter())
        failed = False
        try:
            yield measured
        except Exception:
            failed = True
            raise
        finally:  # after a closed generator and a cancelled task, too
            outcome = "failed" if failed else self._outcome(engine, measured)
            self._answers.labels(engine, outcome).inc()

    def _outcome(self, engine: str, measured: Measured) -> str:
        if measured.verdict is None:
            return "left"
        self._whole.labels(engine).observe(measured.whole)
        if measured.first is not None:
            self._first.labels(engine).observe(measured.first)
        for status, count in measured.quotes.items():
            self._quotes.labels(engine, status).inc(count)
        return measured.verdict

    def text(self) -> bytes:
        """Return all of it in the format that Prometheus reads."""
        return generate_latest(self.registry)


class Measured:
    """One answer under measurement.

    Attributes:
        first: seconds to the first segment.
        whole: seconds to the end.
        verdict: of the whole answer; None until it is there.
    """

    def __init__(self, start: float) -> None:
        self._start = start
        self.first: float | None = None
        self.whole = 0.0
        self.verdict: str | None = None
        self.quotes: Mapping[str, int] = {}

    def began(self) -> None:
        """Note that there is a segment."""
        if self.first is None:
            self.first = time.perf_counter() - self._start

    def ended(self, verdict: str, quotes: Mapping[str, int]) -> None:
        """Note the whole answer."""
        self.whole = time.perf_counter() - self._start
        self.verdict, self.quotes = verdict, quotes
