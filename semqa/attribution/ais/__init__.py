"""AIS, "Attributable to Identified Sources" (Rashkin et al. 2023), rated by people or models.

`ratings` has annotators' ratings and their consensus, `released` reads and writes the paper's
files, and `rates` reports rates, tests, agreement and times. `auto` uses a judge instead of people.
"""
