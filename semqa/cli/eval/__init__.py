"""``semqa eval``: attribution, one command a score."""
