"""The automaton of the copy constraint, compiled by numba: it reads bytes and fills token masks.

Start with `memory` (tables and state fields), `step` (the language, byte by byte) and `mask` (the tokens
that may come next). Then read `passages` and `words` (building the tables), `explore` (walks
over the token trie), `finish` and `costs` (small budgets and incomplete vocabularies), and
`entries` (the functions that Python calls). `docs/constraint.md` defines the language.
"""
