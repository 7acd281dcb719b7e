"""TofuEval (Tang et al. 2024): topic-focused summaries of dialogues and their errors.

`data` reads the released files, `judging` runs judges, and `meta` counts errors and compares
evaluators with annotators.
"""
