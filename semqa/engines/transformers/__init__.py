"""The engine for local language models that run on Hugging Face transformers."""

from semqa.engines.options import TransformersOptions
from semqa.engines.transformers.engine import TransformersEngine

__all__ = ["TransformersEngine", "TransformersOptions"]
