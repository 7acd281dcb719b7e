"""Prompts: templates and exemplars to text, for chat and for completion models.

Knows nothing of models or tokenizers; what needs one (counting tokens) is given by the caller.
"""

from semqa.prompting.builder import PromptBuilder, ShippedExemplars
from semqa.prompting.prompt import Exemplar, ExemplarSelector, Form, Message, Prompt
from semqa.prompting.template import Template

__all__ = [
    "Exemplar",
    "ExemplarSelector",
    "Form",
    "Message",
    "Prompt",
    "PromptBuilder",
    "ShippedExemplars",
    "Template",
]
