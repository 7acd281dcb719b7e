"""AIS, "Attributable to Identified Sources" (Rashkin et al. 2023), rated by people or models.

`ratings` has annotators' ratings and their consensus, `released` reads and writes the paper's
files, and `rates` computes rates, tests, agreement and times. `report` combines everything, and
compares annotators with experts. `auto` uses a judge instead of people.
"""
