"""AIS, "Attributable to Identified Sources" (Rashkin et al. 2023), rated by people or models.

`ratings` has annotators' ratings and their consensus, `released` reads and writes the paper's
files, and `rates` computes rates, tests, agreement and times. `experts` compares annotators with
experts, and `report` combines everything. `auto` uses a judge instead of people.
"""
