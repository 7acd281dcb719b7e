"""A title: whether it names what the passage is about, or only the place where it was kept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from semqa.engines.extractive.lexicon import NUMBER_WORDS, STOPWORDS, stem

if TYPE_CHECKING:
    from semqa.engines.extractive.passage import Passage

__all__ = ["quotable"]

_WORDS = re.compile(r"[^\W_]+")


def quotable(title: str, passage: Passage) -> str:
    """Return the title as a quote, or nothing where it cannot be quoted or names nothing.

    Brackets forbid quoting. Text files often carry their file name as title: "notes" names
    nothing, nor does "IMG_2041". A title is taken for a name when it stands in the body, when it
    shares a content word with the body and does not look like an identifier, or when it is several
    capitalised words. A source without a body has only its title.

    Example:
        >>> from semqa.engines.extractive.passage import read_passage
        >>> body = read_passage("The old bridge fell. It was rebuilt.")
        >>> quotable("Old Bridge", body), quotable("notes", body), quotable("bridge_2", body)
        ('Old Bridge', '', '')
    """
    title = title.strip()
    if "[" in title or "]" in title:
        return ""
    words = _WORDS.findall(title)
    if not passage.words or (words and not words[0].isascii() and title in passage.text):
        return title
    content = [w for w in words if w.lower() not in STOPWORDS | NUMBER_WORDS and not w.isdigit()]
    stems = {stem(w.lower()) for w in content}
    single = not re.search(r"\s", title)
    if single and (len(words) > 1 or any(c.isdigit() for c in title) or "_" in title):
        return title if title in passage.text else ""
    if stems & set(passage.stems):
        return title
    several = len(content) > 1 and all(w[0].isupper() for w in content)
    return title if several and not single else ""
