"""The ``quotesum`` task for inspect_ai."""
