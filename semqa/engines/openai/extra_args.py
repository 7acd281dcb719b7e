"""The keys by which a vLLM server with semqa's processor learns what may be quoted."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from semqa.decoding.policy import QuotePolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.quotes import Source

__all__ = ["to_extra_args"]


def to_extra_args(
    sources: Sequence[Source], policy: QuotePolicy, question: str
) -> dict[str, object]:
    """Return the keys: texts, numbers and lists of them, for vLLM lets nothing else through.

    Example:
        >>> from semqa import Source
        >>> to_extra_args([Source("Sung in 1942.")], QuotePolicy(max_words=9), "When?")
        {'semqa_sources': ['Sung in 1942.'], 'semqa_question': 'When?', 'semqa_max_words': 9}
    """
    keys: dict[str, object] = {"semqa_sources": [source.text for source in sources]}
    if any(source.title for source in sources):
        keys["semqa_titles"] = [source.title for source in sources]
    keys["semqa_question"] = question
    default = QuotePolicy()
    for setting in fields(policy):
        value = getattr(policy, setting.name)
        if value == getattr(default, setting.name):
            continue
        if setting.name == "sources":
            keys["semqa_quote_from"] = list(value)
        else:
            keys[f"semqa_{setting.name}"] = value
    return keys
