"""Collects questions with several answers in different passages, for people to write answers to.

`collect` runs the steps. `paq`, `ambigqa` and `documents` read candidates, `filters` drops
unsuitable ones, and `similar` merges equivalent questions. `run` manages the output folder and
resumes steps. `curation` draws, splits and reviews the result.

Source: Schuster et al., SEMQA (NAACL 2024), section 4.1, for the steps. The thresholds are ours
(see `rules.Rules`).
"""
