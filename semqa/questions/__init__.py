"""Questions with several answers, each in a passage of its own: what people then write answers to.

From the released files of PAQ and AmbigQA, or from a user's own documents, in steps: `paq`, `ambigqa`
and `documents` read, `filters` drop what is of no use, `similar` merges questions that ask the same,
`sampling` draws and splits. `run` keeps the folder that a collection is done in.

Source: Schuster et al., SEMQA (NAACL 2024), section 4.1, for the steps. The numbers that they take are
ours (see `filters.Rules`).
"""
