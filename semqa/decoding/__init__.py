"""The copy constraint: masks that let a model quote its sources, and nothing but its sources."""

from semqa.decoding.policy import QuotePolicy

__all__ = ["QuotePolicy"]
