"""Device kernels of the copy constraint, installed as `semqa.kernels`.

`bitmask` applies masks that were made on the host to rows of logits. Importing this package does not
import Triton.
"""
