"""Q²: consistency of a response with its knowledge, by questions (Honovich et al. 2021)."""

from semqa.attribution.q2.measure import Q2, Settings
from semqa.attribution.q2.responses import Response, summarise
from semqa.attribution.q2.spans import create_span_finder

__all__ = ["Q2", "Response", "Settings", "create_span_finder", "summarise"]
