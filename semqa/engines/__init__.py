"""Engines: everything that answers a question over sources."""

from semqa.engines.base import Engine
from semqa.engines.registry import create_engine

__all__ = ["Engine", "create_engine"]
