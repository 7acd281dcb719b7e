"""Q²: is a response consistent with its knowledge, by questions about it (Honovich et al. 2021)."""

from semqa.attribution.q2.measure import Q2, Settings
from semqa.attribution.q2.responses import Response, summarise
from semqa.attribution.q2.spans import create_span_finder

__all__ = ["Q2", "Response", "Settings", "create_span_finder", "summarise"]
