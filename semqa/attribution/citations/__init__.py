"""Citations at sentences: ALCE's recall and precision, and ASQA's Disambig-F1."""
