"""Parts of ``benchmarks/constraint.py``: who takes part, on which texts, and what they agree on."""
