"""Evaluation of attribution: what a verbatim quote does not show.

A quote can be verbatim and out of context, glued to the wrong subject, or surrounded by claims that
nothing supports. Each paper that measures this has a package of its own: `ais`, `attrscore`, `q2`,
`tofueval`, `citations`; what they ask is answered by `judges`. A judgement is never a verification:
nothing here changes the status of a quote.

Invalid files, options and models raise an `InputError` that names the place; what fails outside, such as a
disk or a model that cannot be fetched, an `UnavailableError`; a package that is not installed a
`MissingExtraError`. Only other exceptions are named where they are raised.
"""
