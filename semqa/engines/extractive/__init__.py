"""The engine that ships with semqa: quotes chosen by small linear models, without any download.

`engine` decides between two ways. Passages of one paragraph: `reading`, `relevance`, `candidates`,
`ranker`, `chooser`, `compose`. Documents: `matching` (features of units), `selection` (the model),
`documents` (the answer).
"""

from semqa.engines.extractive.engine import ExtractiveEngine

__all__ = ["ExtractiveEngine"]
