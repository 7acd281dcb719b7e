"""Damage the quotes of human answers and count how many are repaired.

    python scripts/repair_rates.py dev.jsonl

Damages each verbatim quote in the reference answers of a QuoteSum file in one way and tries to
repair it from the cited source. Also counts damage that must not be repaired: another digit,
another name, a negation, another word, and quotes from other questions. The results are in
``docs/endpoints.md``.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from semqa import QuotedAnswer
from semqa.data import read_quotesum
from semqa.quotes.repair import Aligner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa import Source


class Item(NamedTuple):
    """A verbatim quote in a human answer."""

    qid: str
    sources: Sequence[Source]
    number: int
    text: str

    @property
    def source(self) -> Source:
        """The quoted source."""
        return self.sources[self.number - 1]


def other_letter(text: str, rng: random.Random) -> str | None:
    """Replace a letter in a name with a vowel."""
    names = [m for m in re.finditer(r"\b[A-Z][a-z]{2,}\b", text) if m.start()]
    if not names:
        return None
    name = rng.choice(names)
    at = rng.randrange(name.start() + 1, name.end())
    return text[:at] + rng.choice([c for c in "aeiou" if c != text[at]]) + text[at + 1 :]


def other_digit(text: str, rng: random.Random) -> str | None:
    """Change a digit."""
    digits = list(re.finditer("[0-9]", text))
    if not digits:
        return None
    at = rng.choice(digits).start()
    return text[:at] + str((int(text[at]) + rng.randrange(1, 10)) % 10) + text[at + 1 :]


def negated(text: str, _rng: random.Random) -> str | None:
    """Insert “not” after a verb."""
    verb = re.search(r"\b(is|was|were|are|has|had|did|can|will|would)\b", text)
    return None if verb is None else f"{text[: verb.end()]} not{text[verb.end() :]}"


def other_word(text: str, rng: random.Random) -> str | None:
    """Replace a word."""
    words = text.split()
    candidates = [at for at, word in enumerate(words) if _is_plain(word) and len(word) > 3]
    if not candidates:
        return None
    words[rng.choice(candidates)] = rng.choice(
        ["mountain", "released", "before", "orange", "singer"]
    )
    return " ".join(words)


def mistyped(text: str, rng: random.Random) -> str | None:
    """Insert a typing error into a longer word."""
    words = text.split()
    candidates = [at for at, word in enumerate(words) if _is_plain(word) and len(word) >= 6]
    if not candidates:
        return None
    chosen = rng.choice(candidates)
    word = words[chosen]
    at = rng.randrange(1, len(word) - 2)
    typos = (
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
    )
    words[chosen] = rng.choice(typos)
    return " ".join(words)


def without(count: int) -> Callable[[str, random.Random], str | None]:
    """Return a function that drops this many consecutive lower-case words."""

    def damage(text: str, rng: random.Random) -> str | None:
        words = text.split()
        runs = range(1, len(words) - count)
        candidates = [at for at in runs if all(map(_is_plain, words[at : at + count]))]
        if not candidates:
            return None
        at = rng.choice(candidates)
        return " ".join(words[:at] + words[at + count :])

    return damage


def with_article(text: str, rng: random.Random) -> str | None:
    """Insert an article."""
    words = text.split()
    if len(words) < 2:
        return None
    words.insert(rng.randrange(1, len(words)), "the")
    return " ".join(words)


REPAIRABLE: dict[str, Callable[[str, random.Random], str | None]] = {
    "other white space": lambda text, _: text.replace(" ", "\n ", 1),
    "other quotation marks and dashes": lambda text, _: text.translate(
        str.maketrans("'\"-", "’”–")
    ),
    "a full stop at the end": lambda text, _: text.rstrip(".") + ".",
    "the first letter's case": lambda text, _: text[:1].swapcase() + text[1:],
    "all in lower case": lambda text, _: text.lower(),
    "no punctuation": lambda text, _: re.sub(r"""[,;:"'()]""", "", text),
    "an article left out": lambda text, _: re.sub(r"\b(the|a|an) ", "", text, count=1),
    "an article added": with_article,
    "a typing error": mistyped,
    "one small word left out": without(1),
    "two small words left out": without(2),
    "four small words left out": without(4),
}
NOT_REPAIRABLE: dict[str, Callable[[str, random.Random], str | None]] = {
    "another digit": other_digit,
    "another letter in a name": other_letter,
    "a negation": negated,
    "another word": other_word,
}


def quotes_of(path: Path) -> list[Item]:
    """Return the verbatim quotes of all reference answers."""
    return [
        Item(question.qid, question.sources, quote.source, quote.text)
        for question in read_quotesum(path)
        for reference in question.references
        for quote in QuotedAnswer.parse(reference.text, question.sources).quotes
        if quote.verified
    ]


def rates(
    items: Sequence[Item], damage: Callable[[str, random.Random], str | None]
) -> dict[str, int]:
    """Count quotes that were damaged, repaired, and restored to their original words."""
    rng = random.Random(1)
    counts: Counter[str] = Counter(tried=0, repaired=0, restored=0)
    for item in items:
        damaged = damage(item.text, rng)
        if damaged is None or damaged in item.source.text or damaged in item.source.title:
            continue
        counts["tried"] += 1
        found = Aligner(item.sources).find(damaged, item.number)
        if found is not None:
            repaired = item.source.field(found.field)[found.start : found.end]
            counts["repaired"] += 1
            counts["restored"] += _bare(repaired) == _bare(item.text)
    return dict(counts)


def unrelated_quotes(items: Sequence[Item], pairs: int = 2_000) -> dict[str, int]:
    """Count quotes of other questions that are wrongly “repaired” from unrelated sources."""
    rng = random.Random(2)
    counts = Counter(tried=0, repaired=0)
    for _ in range(pairs):
        one, other = rng.choice(items), rng.choice(items)
        if one.qid == other.qid:
            continue
        aligner = Aligner(one.sources)
        for number, source in enumerate(one.sources, 1):
            if other.text not in source.text and other.text not in source.title:
                counts["tried"] += 1
                counts["repaired"] += aligner.find(other.text, number) is not None
    return dict(counts)


def _is_plain(word: str) -> bool:
    return word.isalpha() and word.islower()


def _bare(text: str) -> str:
    return text.strip(".,;:\"'() ")


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    items = quotes_of(parser.parse_args().data)
    print(f"{len(items)} quotes; tried, repaired, restored")
    for name, damage in (REPAIRABLE | NOT_REPAIRABLE).items():
        print(f"  {name:34}", "/".join(map(str, rates(items, damage).values())))
    print(
        "  a quote of another question        ",
        "/".join(map(str, unrelated_quotes(items).values())),
    )


if __name__ == "__main__":
    main()
