"""Device kernels of the copy constraint, installed as `semqa.kernels`.

Each operation is a folder: its definition in plain torch (`naive.py`), its fast form in Triton beside
it (`kernel.py`), and a function that chooses by device. Importing this package imports neither.

- `advance`: the state of each row of logits, from the tokens that were written since.
- `mask`: minus infinity for what these states do not allow.
- `bias`: something added to the tokens that open a quote.
- `bitmask`: the same for masks that come from the host.

What the tables hold is in `tables`; who fills them is `semqa.decoding.device`.
"""
