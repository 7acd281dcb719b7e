"""The engine for local language models that run on vLLM."""

from semqa.engines.options import VllmOptions
from semqa.engines.vllm.engine import VllmEngine

__all__ = ["VllmEngine", "VllmOptions"]
