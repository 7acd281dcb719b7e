"""Prometheus metrics."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

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
        self.first = times(
            "semqa_first_text_seconds",
            "Time from a question to the first text of its answer.",
            ["engine"],
        )
        self.whole = times(
            "semqa_answer_seconds", "Time from a question to its complete answer.", ["engine"]
        )
        self.answers = Counter(
            "semqa_answers",
            "Number of answers by verdict, failed, or left (the client disconnected).",
            ["engine", "outcome"],
            registry=registry,
        )
        self.quotes = Counter(
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
        timer = AnswerTimer(self, engine)
        try:
            yield timer
        except Exception:
            timer.outcome = "failed"
            raise
        finally:  # also if the generator is closed or the task is cancelled
            self.answers.labels(engine, timer.outcome).inc()

    def text(self) -> bytes:
        return generate_latest(self.registry)


class AnswerTimer:
    """Measures one answer; its outcome is the verdict, or ``left`` if the answer is not completed."""

    def __init__(self, measures: Measures, engine: str) -> None:
        self._measures, self._engine = measures, engine
        self._start = time.perf_counter()
        self._begun = False
        self.outcome = "left"

    def note_segment(self) -> None:
        if not self._begun:
            self._begun = True
            self._observe(self._measures.first)

    def finish(self, verdict: str, quotes: Mapping[str, int]) -> None:
        """Record the complete answer, with its number of quotes by status."""
        self.outcome = verdict
        self._observe(self._measures.whole)
        for status, count in quotes.items():
            self._measures.quotes.labels(self._engine, status).inc(count)

    def _observe(self, times: Histogram) -> None:
        times.labels(self._engine).observe(time.perf_counter() - self._start)
