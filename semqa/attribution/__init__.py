"""Evaluation of attribution: what a verbatim quote does not show.

A quote can be verbatim and out of context, glued to the wrong subject, or surrounded by claims that
nothing supports. Each paper that measures this has a package of its own: `ais`, `attrscore`, `q2`,
`tofueval`, `citations`; what they ask is answered by `judges`. A judgement is never a verification:
nothing here changes the status of a quote.
"""
