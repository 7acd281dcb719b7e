"""``semqa eval``: answers over documents, and attribution; one command a score."""
