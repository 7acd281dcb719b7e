"""semqa: answers whose every claim is a quote that a reader can check at a glance.

The core types are here; engines, metrics and the rest are imported from their packages
(`semqa.engines`, `semqa.metrics`, …), so that `import semqa` stays instant.
"""

from semqa.errors import InputError, SemqaError
from semqa.quotes import Quote, QuotedAnswer, Source

__version__ = "0.1.0"

__all__ = ["InputError", "Quote", "QuotedAnswer", "SemqaError", "Source", "__version__"]
