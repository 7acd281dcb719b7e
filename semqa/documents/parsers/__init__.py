"""Parsers, one a kind: ``parse(name, data, limits) -> (title, text, pages)``.

They run in the process of `semqa.documents.reader`, which holds them to limits.
"""
