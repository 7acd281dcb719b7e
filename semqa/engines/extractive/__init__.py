"""The engine that ships with semqa: picks spans by a small linear model, without any download."""

from semqa.engines.extractive.engine import ExtractiveEngine

__all__ = ["ExtractiveEngine"]
