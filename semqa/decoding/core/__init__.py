"""The compiled half of the copy constraint: numba kernels over flat tables.

Imported only when a constraint is built, for numba is an optional package. The kernels know bytes,
positions and counters; they know nothing of sources, policies or Python objects.
"""
