"""Question words and function words of a few languages besides English.

A question is read in the first language whose question word it holds; only then do the function
words of that language count for nothing, since "die" and "war" are content words in English.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Language", "language_of"]


class Language(NamedTuple):
    """What is known of a language.

    Attributes:
        kinds: kind of answer by the pattern of its question words; the first that matches counts.
        stopwords: words that tell nothing about what is asked.
    """

    kinds: tuple[tuple[str, re.Pattern[str]], ...]
    stopwords: frozenset[str]


def _language(stopwords: str, **kinds: str) -> Language:
    return Language(
        tuple((kind, re.compile(pattern)) for kind, pattern in kinds.items()),
        frozenset(stopwords.split()),
    )


_GERMAN = _language(
    "der die das den dem des ein eine einen einem einer eines ist sind war waren wird wurde wurden "
    "werden hat haben hatte sein kann und oder von vom zu zum zur in im an am auf bei mit für aus "
    "nach es er sie ich wir ihr man nicht wie wer was wo wann warum wieso welche welcher welches "
    "wen wem viele viel lang hoch groß alt schwer tief weit schnell",
    when=r"\b(wann|seit wann|in welchem jahr)\b",
    quantity=r"\bwie ?(viele?|lang|lange|hoch|groß|alt|schwer|tief|breit|weit|schnell|oft|heiß)\b",
    where=r"\b(wo|woher|wohin)\b",
    why=r"\b(warum|wieso|weshalb)\b",
    who=r"\b(wer|wen|wem|wessen)\b",
    how=r"\bwie\b",
    which=r"\b(welche[rs]?|welchen|was)\b",
)
_SPANISH = _language(
    "el la los las un una unos unas de del al a en y o que es son era fue fueron está están hay se "
    "su sus lo le con por para qué quién quiénes cuándo dónde cómo cuánto cuánta cuántos cuántas "
    "cuál cuáles tan muy",
    when=r"\bcuándo\b|\ben qué año\b",
    quantity=r"\bcuánt[oa]s?\b|\bqué (altura|longitud|edad) ",
    where=r"\b(a|de)?dónde\b",
    why=r"\bpor qué\b",
    who=r"\bquién(es)?\b",
    how=r"\bcómo\b",
    which=r"\b(qué|cuál(es)?)\b",
)
_FRENCH = _language(
    "le la les l un une des de du d au aux à en et ou que qui est sont était a ont été se s son sa "
    "ses il elle on ce cette ne pas quand où comment combien pourquoi quel quelle quels quelles "
    "quoi par pour dans",
    when=r"\bquand\b|\ben quelle année\b",
    quantity=r"\bcombien\b|\bquelle est la (longueur|hauteur)\b",
    where=r"\boù\b",
    why=r"\bpourquoi\b",
    who=r"^qui\b",
    how=r"\bcomment (est|sont|était|a|fait|fonctionne)\b",
    which=r"\bquel(le)?s?\b|\bqu'est-ce\b",
)
_CHINESE = _language(
    "的 是 了 在 有 这 那 多 吗 呢 什 么 谁 哪 里 何 几 少 怎 样 个 为 被 和 与 长 高 大 座",
    when=r"什么时候|何时|哪一?年|几时|几月",
    quantity=r"多(长|高|大|少|深|重|远|宽|快|久)|几(个|人|年|米)",
    where=r"哪里|哪儿|在哪|什么地方",
    why=r"为什么|为何",
    who=r"谁",
    how=r"怎么|怎样|如何",
    which=r"[吗呢什哪]",
)


_ENGLISH = re.compile(r"\b(who|whom|whose|what|when|where|why|which|how|is|are|did|does|do)\b")


def language_of(question: str) -> Language | None:
    """Return the language of a question, or None for English and all that is not known.

    Example:
        >>> language_of("When did it open?") is None
        True
        >>> "die" in language_of("Wie lang ist die Straße?").stopwords
        True
    """
    lowered = question.lower()
    if _ENGLISH.search(lowered) or re.search(r"\w .*\bwas\b", lowered):
        return None
    for language in (_GERMAN, _SPANISH, _FRENCH, _CHINESE):
        if any(pattern.search(lowered) for _, pattern in language.kinds):
            return language
    return None
