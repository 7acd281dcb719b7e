"""Code shared by all engines with a language model, whether local or behind an endpoint."""
