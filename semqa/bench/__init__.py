"""Benchmark runs on QuoteSum: plan, journal, resume, results."""

from semqa.bench.plan import Plan
from semqa.bench.run import run

__all__ = ["Plan", "run"]
