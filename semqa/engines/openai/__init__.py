"""The engine for models behind an OpenAI-compatible endpoint."""

from semqa.engines.openai.engine import OpenAIEngine
from semqa.engines.openai.options import OpenAIOptions

__all__ = ["OpenAIEngine", "OpenAIOptions"]
