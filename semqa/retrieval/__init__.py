"""Exemplars, which are solved questions shown to a model, and the search in collections.

Read `exemplars` and `settings` for exemplars, `passages` for collections of documents, and `encoder`
for the embeddings that both use.
"""

DEFAULT_PASSAGES = 8
"""Number of passages of a collection to search for, in Python, commands and the server."""
