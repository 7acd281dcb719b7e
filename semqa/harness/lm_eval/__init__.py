"""The ``quotesum`` task for lm-evaluation-harness; pass this folder as ``--include_path``."""
