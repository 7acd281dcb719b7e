"""The built-in engine: small statistical models choose the quotes; nothing is downloaded.

`engine` picks one of two pipelines. For passages of one paragraph: `question`, `passage`,
`evidence`, `relevance`, `spans`, `reading`, `compose`. For documents, in this order:

- `matching`: splits them into units and compares each with the question (the features)
- `judging`: which units answer, by fitted trees; `direct` and `tables` override them for units of a
  certain form, and `answerable` estimates whether any unit answers
- `choosing`: which units to quote, with the context that they need
- `layout`: the text of the answer

`documents` runs these steps for each part of a question; `asked` finds the parts and the names in it.
"""

from semqa.engines.extractive.engine import ExtractiveEngine

__all__ = ["ExtractiveEngine"]
