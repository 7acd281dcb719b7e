"""Reports on finished runs: tables and a web page, ready to publish."""

from semqa.bench.report.report import BenchReport, make_report, write_report
from semqa.bench.report.runs import FinishedRun, load_runs

__all__ = ["BenchReport", "FinishedRun", "load_runs", "make_report", "write_report"]
