"""Parsers, one per kind of document: ``parse(name, data, limits) -> (title, text, pages)``.

They run in the process of `semqa.documents.reader`, which limits time and memory.
"""
