"""semqa: answers in which every claim is a quote that a reader can check at a glance.

This module holds the core types. Import engines, metrics and the rest from their packages
(`semqa.engines`, `semqa.metrics`, …); that keeps `import semqa` fast.
"""

from semqa.errors import InputError, SemqaError
from semqa.quotes import Quote, QuotedAnswer, Source

__version__ = "0.1.0"

__all__ = ["InputError", "Quote", "QuotedAnswer", "SemqaError", "Source", "__version__"]
