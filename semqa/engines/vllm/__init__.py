"""The engine for local language models that run on vLLM."""

from semqa.engines.vllm.engine import VllmEngine
from semqa.engines.vllm.options import VllmOptions

__all__ = ["VllmEngine", "VllmOptions"]
