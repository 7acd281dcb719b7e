"""The engine for models behind an OpenAI-compatible endpoint.

`engine` uses `tasks` (what to request), `remote` (in which form), `replies` (how to read it),
`capabilities` (what the endpoint supports) and `client` (HTTP).
"""

from semqa.engines.openai.engine import OpenAIEngine
from semqa.engines.options import OpenAIOptions

__all__ = ["OpenAIEngine", "OpenAIOptions"]
