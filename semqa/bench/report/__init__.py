"""Finished runs as tables, plots and pages that one can publish."""

from semqa.bench.report.report import BenchReport, make_report
from semqa.bench.report.runs import FinishedRun, load_runs
from semqa.bench.report.write import FORMATS, write_report

__all__ = ["FORMATS", "BenchReport", "FinishedRun", "load_runs", "make_report", "write_report"]
