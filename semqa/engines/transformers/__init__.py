"""The engine for local language models that run on Hugging Face transformers."""

from semqa.engines.transformers.engine import TransformersEngine
from semqa.engines.transformers.options import TransformersOptions

__all__ = ["TransformersEngine", "TransformersOptions"]
