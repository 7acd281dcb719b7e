"""Exemplars, which are solved questions shown to a model, and the search in collections.

Read `exemplars` and `settings` for exemplars, `passages` for collections of documents, and `encoder`
for the embeddings that both use.
"""

from semqa.prompting.prompt import Exemplar
from semqa.retrieval.exemplars import (
    ExemplarPool,
    FixedExemplars,
    KnnExemplars,
    RandomExemplars,
    create_selector,
)
from semqa.retrieval.settings import PromptSettings

__all__ = [
    "Exemplar",
    "ExemplarPool",
    "FixedExemplars",
    "KnnExemplars",
    "PromptSettings",
    "RandomExemplars",
    "create_selector",
]
