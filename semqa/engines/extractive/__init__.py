"""The built-in engine: small statistical models choose the quotes; nothing is downloaded.

`engine` picks one of two pipelines. For passages of one paragraph: `question`, `passage`,
`evidence`, `relevance`, `spans`, `reading`, `compose`. For documents: `matching` (features of
units), `judging` (the model, and the rules of `direct` and `tables`), `documents` (the answer, with
the rules of `names` and `context`), `layout`.
"""

from semqa.engines.extractive.engine import ExtractiveEngine

__all__ = ["ExtractiveEngine"]
