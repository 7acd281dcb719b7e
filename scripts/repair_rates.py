"""Spoil the quotes of human answers, and count how many of them are repaired.

    python scripts/repair_rates.py dev.jsonl

Each verbatim quote of a QuoteSum file's reference answers is spoilt in one way and looked for in the
source that it names. What nobody should repair (another digit, another name, a
negation, another word, quotes of other questions) is counted likewise. The figures stand in
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
    """A verbatim quote of a human answer."""

    qid: str
    sources: Sequence[Source]
    number: int
    text: str

    @property
    def source(self) -> Source:
        """The source it quotes."""
        return self.sources[self.number - 1]


def other_letter(text: str, rng: random.Random) -> str | None:
    """Return a text with another vowel in one of its names."""
    names = [m for m in re.finditer(r"\b[A-Z][a-z]{2,}\b", text) if m.start()]
    if not names:
        return None
    name = rng.choice(names)
    at = rng.randrange(name.start() + 1, name.end())
    return text[:at] + rng.choice([c for c in "aeiou" if c != text[at]]) + text[at + 1 :]


def other_digit(text: str, rng: random.Random) -> str | None:
    """Return a text with another digit in one of its numbers."""
    found = list(re.finditer("[0-9]", text))
    if not found:
        return None
    at = rng.choice(found).start()
    return text[:at] + str((int(text[at]) + rng.randrange(1, 10)) % 10) + text[at + 1 :]


def negated(text: str, _rng: random.Random) -> str | None:
    """Return a text with a negation more."""
    verb = re.search(r"\b(is|was|were|are|has|had|did|can|will|would)\b", text)
    return None if verb is None else f"{text[: verb.end()]} not{text[verb.end() :]}"


def other_word(text: str, rng: random.Random) -> str | None:
    """Return a text with one word in place of another."""
    words = text.split()
    places = [at for at, word in enumerate(words) if _is_plain(word) and len(word) > 3]
    if not places:
        return None
    words[rng.choice(places)] = rng.choice(["mountain", "released", "before", "orange", "singer"])
    return " ".join(words)


def mistyped(text: str, rng: random.Random) -> str | None:
    """Return a text with a typing error inside one of its longer words."""
    words = text.split()
    places = [at for at, word in enumerate(words) if _is_plain(word) and len(word) >= 6]
    if not places:
        return None
    place = rng.choice(places)
    word = words[place]
    at = rng.randrange(1, len(word) - 2)
    spoilt = (
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
    )
    words[place] = rng.choice(spoilt)
    return " ".join(words)


def without(count: int) -> Callable[[str, random.Random], str | None]:
    """Return what leaves so many small words out."""

    def spoil(text: str, rng: random.Random) -> str | None:
        words = text.split()
        runs = range(1, len(words) - count)
        places = [at for at in runs if all(map(_is_plain, words[at : at + count]))]
        if not places:
            return None
        at = rng.choice(places)
        return " ".join(words[:at] + words[at + count :])

    return spoil


def with_article(text: str, rng: random.Random) -> str | None:
    """Return a text with an article more."""
    words = text.split()
    if len(words) < 2:
        return None
    words.insert(rng.randrange(1, len(words)), "the")
    return " ".join(words)


MENDED: dict[str, Callable[[str, random.Random], str | None]] = {
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
REFUSED: dict[str, Callable[[str, random.Random], str | None]] = {
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
    items: Sequence[Item], spoil: Callable[[str, random.Random], str | None]
) -> dict[str, int]:
    """Count quotes that were spoilt, that were repaired, and that got back the words they had."""
    rng = random.Random(1)
    counts: Counter[str] = Counter(tried=0, repaired=0, restored=0)
    for item in items:
        spoilt = spoil(item.text, rng)
        if spoilt is None or spoilt in item.source.text or spoilt in item.source.title:
            continue
        counts["tried"] += 1
        found = Aligner(item.sources).find(spoilt, item.number)
        if found is not None:
            said = item.source.field(found.field)[found.start : found.end]
            counts["repaired"] += 1
            counts["restored"] += _bare(said) == _bare(item.text)
    return dict(counts)


def strangers(items: Sequence[Item], pairs: int = 2_000) -> dict[str, int]:
    """Count quotes of other questions that are “repaired” into sources that do not hold them."""
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


def by_chance(items: Sequence[Item], words: int) -> float:
    """Return the share of runs of so many quoted words that another source has as well."""
    tried = found = 0
    for item in items:
        pieces = item.text.split()
        for at in range(0, len(pieces) - words + 1, max(1, (len(pieces) - words + 1) // 5)):
            run = " ".join(pieces[at : at + words])
            if run not in item.source.text:
                continue
            tried += 1
            others = (s for k, s in enumerate(item.sources, 1) if k != item.number)
            found += any(run in s.text or run in s.title for s in others)
    return found / tried if tried else 0.0


def _is_plain(word: str) -> bool:
    return word.isalpha() and word.islower()


def _bare(text: str) -> str:
    return text.strip(".,;:\"'() ")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    items = quotes_of(parser.parse_args().data)
    print(f"{len(items)} quotes; tried, repaired, restored")
    for name, spoil in (MENDED | REFUSED).items():
        print(f"  {name:34}", "/".join(map(str, rates(items, spoil).values())))
    print("  a quote of another question        ", "/".join(map(str, strangers(items).values())))
    for words in range(1, 8):
        print(f"  {words} words in another source: {by_chance(items, words):.1%}")


if __name__ == "__main__":
    main()
