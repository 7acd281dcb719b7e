"""Engines: everything that answers a question over sources."""

from semqa.engines.base import BatchEngine, Engine, PromptedEngine, Request, StreamingEngine
from semqa.engines.registry import create_engine

__all__ = [
    "BatchEngine",
    "Engine",
    "PromptedEngine",
    "Request",
    "StreamingEngine",
    "create_engine",
]
