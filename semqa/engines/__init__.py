"""Engines that answer questions from sources.

Read `base` first (the protocols), then `registry` (engines by name), then one package per engine.
"""

from semqa.engines.base import (
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
