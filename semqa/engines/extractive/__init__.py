"""The built-in engine: small statistical models choose the quotes; nothing is downloaded.

`engine` picks one of two pipelines. For passages of one paragraph: `question`, `passage`,
`evidence`, `relevance`, `spans`, `reading`, `compose`. For documents, in this order:

- `matching`: splits them into units and compares each with the question (the features)
- `judging`: which units answer, by fitted trees; `direct` and `tables` overrule them by form, and
  `answerable` estimates whether anything answers
- `choosing`: which units to quote, with the context that they need
- `layout`: the text of the answer

`documents` leads through these steps for each part of a question; `asked` finds the parts, and names.
"""

from semqa.engines.extractive.engine import ExtractiveEngine

__all__ = ["ExtractiveEngine"]
