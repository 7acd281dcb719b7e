"""Engines: everything that answers a question over sources."""

from semqa.engines.base import (
    AbstainingEngine,
    CompletingEngine,
    ConstrainedEngine,
    Engine,
    GeneratingEngine,
    Request,
    SharingEngine,
    StreamingEngine,
    close_engine,
)
from semqa.engines.registry import (
    accepted_options,
    batch_size_of,
    check_options,
    create_engine,
    engines_with,
)

__all__ = [
    "AbstainingEngine",
    "CompletingEngine",
    "ConstrainedEngine",
    "Engine",
    "GeneratingEngine",
    "Request",
    "SharingEngine",
    "StreamingEngine",
    "accepted_options",
    "batch_size_of",
    "check_options",
    "close_engine",
    "create_engine",
    "engines_with",
]
