"""The engine for models behind an OpenAI-compatible endpoint.

`engine` uses `tasks` (what to request), `client` (HTTP, and the form of requests), `replies` (how to read
them) and `capabilities` (what the endpoint supports).
"""

from semqa.engines.openai.engine import OpenAIEngine
from semqa.engines.options import OpenAIOptions

__all__ = ["OpenAIEngine", "OpenAIOptions"]
