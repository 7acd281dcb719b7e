"""Synthetic files of any size in the formats of PAQ and AmbigQA.

    python -m tests.questions.released paq FOLDER --lines 100000
    python -m tests.questions.released ambigqa FOLDER --lines 1000

The questions are of kinds that PAQ has: battles of one name in several years, cups with a winner each
year, letters that stand for several things, places of the same name; most have one answer. Answers come
in two spellings, two passages of a page hold the same one, questions come twice and in other words.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

SYLLABLES = [
    "ka", "lo", "mi", "ren", "tor", "val", "dun", "ash", "ber", "gol", "fen", "har", "wick",
    "mar", "sel", "nor", "pra", "eld", "us", "ton", "ley", "by", "ham", "bra", "cor", "dal",
    "esk", "fal", "gri", "hul", "in", "jor", "kel", "lin", "mon", "nes", "ol", "pen", "quin",
    "ros", "sti", "tam", "ul", "ver", "wes", "yar", "zel"
]  # fmt: skip
FIRST = [
    "Anna", "Boris", "Clara", "David", "Edith", "Felix", "Greta", "Hugo", "Irene", "Jonas",
    "Karla", "Leon", "Maria", "Nils", "Olga", "Peter"
]  # fmt: skip
SPORTS = ["rowing", "chess", "cycling", "fencing", "judo", "sailing", "tennis", "archery"]
THINGS = ["Council", "Centre", "Society", "Agency", "Trust", "Bureau", "League", "Institute"]
FIELDS = [
    "Academic", "Agricultural", "Aquatic", "Atmospheric", "Banking", "Border", "Carbon", "Civic",
    "Climate", "Coastal", "Dairy", "Dental", "Digital", "Energy", "Engine", "Ethical", "Family",
    "Film", "Fisheries", "Forest", "Garden", "Geology", "Glass", "Grain", "Harbour", "Heritage",
    "Housing", "Industrial", "Inland", "Insurance", "Judicial", "Junior", "Justice", "Marine",
    "Maritime", "Medical", "Mining"
]  # fmt: skip
FILLER = (
    "The event was reported in several newspapers of the region at the time",
    "A small museum near the station keeps letters and drawings from those years",
    "Historians have debated the reasons for this since the late nineteenth century",
    "Visitors come mostly in summer when the road across the hills is open",
    "It has since been described in two books and in a radio programme",
    "Many of the people who took part came from villages along the river",
    "The archive was moved twice and part of it was lost in a fire",
)


class Fact(NamedTuple):
    """A page's answer to a question, stated in one sentence."""

    title: str
    sentence: str
    answer: str


class Asked(NamedTuple):
    questions: tuple[str, ...]  # paraphrases
    facts: tuple[Fact, ...]


def name(rng: random.Random) -> str:
    return "".join(rng.sample(SYLLABLES, rng.choice((2, 3, 3)))).capitalize()


def person(rng: random.Random) -> str:
    return f"{rng.choice(FIRST)} {name(rng)}"


def battle(rng: random.Random, count: int) -> Asked:
    place = name(rng)
    facts = []
    for year in rng.sample(range(1100, 1900), count):
        date = f"{rng.randint(1, 28)} {rng.choice(('May', 'June', 'August'))} {year}"
        facts.append(
            Fact(
                f"Battle of {place} ({year})",
                f"The Battle of {place} was fought on {date} between two armies of {person(rng)}",
                date,
            )
        )
    return Asked(
        (
            f"when was the battle of {place.lower()} fought",
            f"when the battle of {place.lower()} was fought",
        ),
        tuple(facts),
    )


def cup(rng: random.Random, count: int) -> Asked:
    place, sport = name(rng), rng.choice(SPORTS)
    facts = []
    for year in rng.sample(range(1950, 2018), count):
        winner = person(rng)
        spelt = rng.choice((winner, winner, f"the young {winner}"))
        facts.append(
            Fact(
                f"{year} {place} Cup",
                f"In {year} the {place} {sport} cup was won by {spelt} after a long final",
                spelt,
            )
        )
        if rng.random() < 0.2:  # another page on the same winner
            facts.append(
                Fact(winner, f"{winner} won the {place} {sport} cup in {year} at home", winner)
            )
    return Asked(
        (f"who won the {place.lower()} {sport} cup", f"the {place.lower()} {sport} cup who won"),
        tuple(facts),
    )


def letters(rng: random.Random, count: int) -> Asked:
    parts = [*rng.sample(FIELDS, 2), rng.choice(THINGS)]
    short = "N" + "".join(part[0] for part in parts)
    facts = []
    for _ in range(count):
        found = [
            rng.choice([each for each in words if each[0] == letter])
            for words, letter in zip((FIELDS, FIELDS, THINGS), short[1:], strict=True)
        ]
        full = " ".join(("National", *found))
        facts.append(Fact(f"{full} of {name(rng)}", f"{short} stands for {full}", full))
    return Asked((f"what does {short.lower()} stand for",), tuple(facts))


def place(rng: random.Random, count: int) -> Asked:
    what = f"{name(rng)} national park"
    facts = []
    for _ in range(count):
        where = f"{name(rng)}, {rng.choice(('Ohio', 'Kent', 'Bavaria', 'Quebec'))}"
        facts.append(
            Fact(f"{what.title()} ({where})", f"The {what.title()} is located in {where}", where)
        )
    return Asked((f"where is the {what.lower()} located",), tuple(facts))


def born(rng: random.Random, count: int) -> Asked:
    del count
    who = person(rng)
    year = str(rng.randint(1700, 1999))
    return Asked(
        (f"when was {who.lower()} born",),
        (Fact(who, f"{who} was born in {year} as the third of five children", year),),
    )


KINDS = (battle, cup, letters, place)


def asked(rng: random.Random) -> Asked:
    if rng.random() < 0.85:
        return born(rng, 1)
    return rng.choice(KINDS)(rng, rng.choice((1, 2, 2, 3, 3, 4, 5, 7)))


def passage(rng: random.Random, fact: Fact) -> str:
    """About 100 words that begin with the title; sometimes far fewer."""
    words = rng.choice((100, 100, 100, 100, 100, 40))
    sentences = [fact.title, fact.sentence]
    while sum(len(each.split()) for each in sentences) < words:
        sentences.insert(rng.choice((1, 2, len(sentences))), rng.choice(FILLER))
    return " ".join(". ".join(sentences).split()[:words])


def write_paq(folder: Path, lines: int, seed: int = 0) -> tuple[Path, Path]:
    """Write ``PAQ.unfiltered_metadata.jsonl`` with some number of lines, and its ``psgs_w100.tsv``."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    questions, passages = folder / "PAQ.unfiltered_metadata.jsonl", folder / "psgs_w100.tsv"
    number = 0
    with questions.open("w", encoding="utf-8") as asks, passages.open("w", encoding="utf-8") as tsv:
        tsv.write("id\ttext\ttitle\n")
        waiting: list[str] = []
        written = 0
        while written < lines:
            each = asked(rng)
            answers = []
            for fact in each.facts:
                for _ in range(rng.choice((1, 1, 1, 2))):
                    text = passage(rng, fact)
                    if fact.answer not in text:
                        continue
                    number += 1
                    quoted = text.replace('"', '""')
                    tsv.write(f'{number}\t"{quoted}"\t{fact.title}\n')
                    answers.append(
                        {
                            "passage_id": str(number),
                            "offset": text.index(fact.answer),
                            "text": fact.answer,
                            "extractor": rng.choice(("L", "NE")),
                            "consistent": rng.random() < 0.3,
                        }
                    )
            if not answers:
                continue
            # Some questions have two lines, and some are paraphrased.
            parts = [answers]
            if len(answers) > 1 and rng.random() < 0.3:
                cut = rng.randint(1, len(answers) - 1)
                parts = [answers[:cut], answers[cut:]]
            for part in parts:
                question = each.questions[0] if rng.random() < 0.8 else each.questions[-1]
                row = {
                    "question": question,
                    "subsets": ["L1"],
                    "consistent_subsets": [],
                    "canonical_answer": part[0]["text"],
                    "consistent": False,
                    "passage_score": round(-rng.random(), 4),
                    "answers": part,
                }
                waiting.append(json.dumps(row, ensure_ascii=False) + "\n")
            while len(waiting) > 1_000 or (waiting and written + len(waiting) >= lines):
                asks.write(waiting.pop(rng.randrange(len(waiting))))
                written += 1
                if written == lines:
                    break
    return questions, passages


def write_ambigqa(folder: Path, lines: int, seed: int = 0) -> Path:
    """Write AmbigQA with evidence articles."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "train_with_evidence_articles.json"
    with path.open("w", encoding="utf-8") as out:
        out.write("[")
        for number in range(lines):
            each = asked(rng)
            pairs = [
                {"question": f"{each.questions[0].capitalize()}, in {n}?", "answer": [fact.answer]}
                for n, fact in enumerate(each.facts)
            ]
            single = {"type": "singleAnswer", "answer": [each.facts[0].answer]}
            several = {"type": "multipleQAs", "qaPairs": pairs}
            row = {
                "id": str(number),
                "question": f"{each.questions[0].capitalize()}?",
                "annotations": [single, several] if len(pairs) > 1 else [single],
                "articles_plain_text": [article(rng, each.facts[at::3]) for at in range(3)],
                "articles_html_text": [],
            }
            out.write(("," if number else "") + json.dumps(row, ensure_ascii=False))
        out.write("]")
    return path


def article(rng: random.Random, facts: Sequence[Fact]) -> str:
    """An article that states facts, one per paragraph, between other paragraphs."""
    parts = [f"# {facts[0].title if facts else name(rng)}"]
    for fact in facts:
        words = [fact.sentence, *rng.sample(FILLER, rng.randint(1, 6))]
        parts += [". ".join(rng.sample(FILLER, 2)) + ".", "## Later years", ". ".join(words) + "."]
    return "\n\n".join([*parts, ". ".join(rng.sample(FILLER, 4)) + "."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("paq", "ambigqa"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    writers: dict[str, Callable[..., object]] = {"paq": write_paq, "ambigqa": write_ambigqa}
    writers[given.what](given.folder, given.lines, given.seed)


if __name__ == "__main__":
    main()
