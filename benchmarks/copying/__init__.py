"""Parts of ``benchmarks/constraint.py``: implementations, workload, and comparison of masks."""
