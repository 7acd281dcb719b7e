"""Exemplars: solved questions that are shown to a model, chosen for the question at hand."""

from semqa.prompting.exemplar import Exemplar
from semqa.retrieval.choose import create_selector
from semqa.retrieval.fixed import FixedExemplars
from semqa.retrieval.nearest import NearestExemplars
from semqa.retrieval.pool import ExemplarPool
from semqa.retrieval.seeded import SeededExemplars
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
