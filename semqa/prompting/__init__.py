"""Builds prompts from templates and exemplars, for chat and for completion models.

This package does not know models or tokenizers; callers pass a function that counts tokens.
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
