"""Evaluate attribution: errors that verbatim quotes do not rule out.

A quote can be verbatim and still be out of context, attached to the wrong subject, or next to
unsupported claims. There is one package for each published measure: `ais`, `attrscore`, `q2`,
`tofueval` and `citations`. They use the models and rules in `judges`; start there. A judgement is
not a verification: nothing here changes the status of a quote.

Invalid files, options and models raise `InputError`, with the place. Failures of the environment,
such as a full disk or a failed download, raise `UnavailableError`; missing packages raise
`MissingExtraError`. Docstrings only list other exceptions.
"""
