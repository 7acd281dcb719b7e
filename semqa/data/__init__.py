"""Reads, checks and writes QuoteSum files, users' own sources, and predictions.

Downloads are in `semqa.data.fetch`.
"""

from semqa.data.jsonl import read_rows, write_jsonl
from semqa.data.quotesum import (
    FileCheck,
    Question,
    Reference,
    check_quotesum,
    match_predictions,
    read_predictions,
    read_quotesum,
    write_quotesum,
)
from semqa.data.sources import read_sources, read_sources_jsonl

__all__ = [
    "FileCheck",
    "Question",
    "Reference",
    "check_quotesum",
    "match_predictions",
    "read_predictions",
    "read_quotesum",
    "read_rows",
    "read_sources",
    "read_sources_jsonl",
    "write_jsonl",
    "write_quotesum",
]
