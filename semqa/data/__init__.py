"""Reads, checks and writes QuoteSum files, users' own sources, and predictions.

Downloads are in `semqa.data.fetch`.
"""

from semqa.data.quotesum import Question, read_quotesum, write_quotesum
from semqa.data.sources import read_sources, read_sources_jsonl

__all__ = ["Question", "read_quotesum", "read_sources", "read_sources_jsonl", "write_quotesum"]
