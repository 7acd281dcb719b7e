"""Device kernels of the copy constraint, installed as `semqa.kernels`.

`bitmask` applies masks that were made on the host to rows of logits: its definition in plain torch
(`naive.py`), its fast form in Triton beside it (`kernel.py`), and a function that chooses by device.
Importing this package imports neither.
"""
