"""The task ``quotesum`` of lm-evaluation-harness; this folder is its ``--include_path``."""
