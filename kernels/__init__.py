"""Device kernels of the copy constraint, installed as `semqa.kernels`.

`bitmask` applies masks computed on the CPU to rows of logits. Importing this package does not import
Triton.
"""
