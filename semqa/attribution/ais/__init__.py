"""AIS (Rashkin et al. 2023): attributable to identified sources, as people and models rate it.

`ratings` has what annotators say and the consensus of it, `released` the files of the paper; `rates`
computes rates, tests, agreement and times, and `report` all of them. `auto` asks a judge in place of
people.
"""
