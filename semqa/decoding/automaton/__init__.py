"""The automaton of the copy constraint, compiled by numba: bytes in, masks over tokens out.

Read `memory` (tables and the fields of a state), `step` (the language, byte by byte), `mask` (what may
come next); then `passages` and `words` (what the tables hold), `explore` and `listing` (walks over the
tokens), `finish` and `costs` (the end of a budget, and poor vocabularies), `entries` (what Python calls).
`docs/constraint.md` defines the language.
"""
