"""The task ``quotesum`` of inspect_ai."""
