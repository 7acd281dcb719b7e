"""Answers from local language models, through vLLM."""

from semqa.engines.vllm.engine import VllmEngine
from semqa.engines.vllm.options import VllmOptions

__all__ = ["VllmEngine", "VllmOptions"]
