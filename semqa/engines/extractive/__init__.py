"""The built-in engine: small statistical models choose the quotes; nothing is downloaded.

`engine` picks one of two pipelines. For passages of one paragraph: `question`, `passage`,
`evidence`, `relevance`, `spans`, `reading`, `compose`. For documents: `matching` (features of units
and the model), then `documents` (the answer).
"""

from semqa.engines.extractive.engine import ExtractiveEngine

__all__ = ["ExtractiveEngine"]
