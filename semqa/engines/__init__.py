"""Engines: everything that answers a question over sources."""

from semqa.engines.base import Engine
from semqa.engines.registry import create_engine, engine_names

__all__ = ["Engine", "create_engine", "engine_names"]
