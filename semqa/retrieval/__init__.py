"""Exemplars: solved questions that are shown to a model, chosen for the question at hand."""

from semqa.prompting.prompt import Exemplar
from semqa.retrieval.exemplars import (
    ExemplarPool,
    FixedExemplars,
    NearestExemplars,
    SeededExemplars,
    create_selector,
)
from semqa.retrieval.settings import PromptSettings

__all__ = [
    "Exemplar",
    "ExemplarPool",
    "FixedExemplars",
    "NearestExemplars",
    "PromptSettings",
    "SeededExemplars",
    "create_selector",
]
