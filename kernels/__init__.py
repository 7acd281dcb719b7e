"""Device kernels of the copy constraint, installed as `semqa.kernels`.

Each operation will be a folder with its definition in plain torch (`naive.py`) and its fast form
beside it. Importing this package imports neither torch nor Triton.
"""
