"""Synthetic files of any size in the formats of PAQ and AmbigQA.

Each question asks for a cup's winners or for a person's year of birth. As in PAQ, most have one answer,
some answers come in two spellings or in two passages of a page, and some questions come twice or in
other words.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

SYLLABLES = [
    "ka", "lo", "mi", "ren", "tor", "val", "dun", "ash", "ber", "gol", "fen", "har", "wick", "mar",
    "sel", "nor", "pra", "eld", "us", "ton", "ley", "by",
]  # fmt: skip
FIRST = [
    "Anna", "Boris", "Clara", "David", "Edith", "Felix", "Greta", "Hugo", "Irene", "Jonas", "Karla",
    "Leon", "Maria", "Nils",
]  # fmt: skip
SPORTS = ["rowing", "chess", "cycling", "fencing", "judo", "sailing", "tennis", "archery"]
FILLER = (
    "The event was reported in several newspapers of the region at the time",
    "A small museum near the station keeps letters and drawings from those years",
    "Historians have debated the reasons for this since the late nineteenth century",
    "Visitors come mostly in summer when the road across the hills is open",
    "Many of the people who took part came from villages along the river",
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


def asked(rng: random.Random) -> Asked:
    who = f"{rng.choice(FIRST)} {name(rng)}"
    if rng.random() < 0.85:
        year = str(rng.randint(1700, 1999))
        fact = Fact(who, f"{who} was born in {year} as the third of five children", year)
        return Asked((f"when was {who.lower()} born",), (fact,))
    place, sport = name(rng), rng.choice(SPORTS)
    facts = []
    for won in rng.sample(range(1950, 2018), rng.choice((1, 2, 2, 3, 3, 4, 5, 7))):
        winner = f"{rng.choice(FIRST)} {name(rng)}"
        spelt = rng.choice((winner, winner, f"the young {winner}"))
        sentence = f"In {won} the {place} {sport} cup was won by {spelt} after a long final"
        facts.append(Fact(f"{won} {place} Cup", sentence, spelt))
        if rng.random() < 0.2:  # another page on the same winner
            sentence = f"{winner} won the {place} {sport} cup in {won} at home"
            facts.append(Fact(winner, sentence, winner))
    question = f"the {place.lower()} {sport} cup"
    return Asked((f"who won {question}", f"{question} who won"), tuple(facts))


def passage(rng: random.Random, fact: Fact) -> str:
    """About 100 words that begin with the title; sometimes far fewer."""
    words = rng.choice((100, 100, 100, 100, 100, 40))
    sentences = [fact.title, fact.sentence]
    while sum(len(each.split()) for each in sentences) < words:
        sentences.insert(rng.choice((1, 2, len(sentences))), rng.choice(FILLER))
    return " ".join(". ".join(sentences).split()[:words])


def write_paq(folder: Path, lines: int) -> tuple[Path, Path]:
    """Write ``PAQ.unfiltered_metadata.jsonl`` with some number of lines, and its ``psgs_w100.tsv``."""
    rng = random.Random(0)
    rows: list[str] = []
    passages = ["id\ttext\ttitle\n"]
    while len(rows) < lines:
        each = asked(rng)
        answers = []
        for fact in each.facts:
            for _ in range(rng.choice((1, 1, 1, 2))):
                text = passage(rng, fact)
                if fact.answer in text:
                    passages.append(f'{len(passages)}\t"{text}"\t{fact.title}\n')
                    place = {
                        "passage_id": str(len(passages) - 1),
                        "offset": text.index(fact.answer),
                    }
                    answers.append({**place, "text": fact.answer, "extractor": "L"})
        # Some questions have two lines, and some are paraphrased.
        cut = rng.randint(1, len(answers) - 1) if len(answers) > 1 and rng.random() < 0.3 else 0
        for part in filter(None, (answers[:cut], answers[cut:])):
            question = each.questions[0] if rng.random() < 0.8 else each.questions[-1]
            score = round(-rng.random(), 4)
            rows.append(
                json.dumps({"question": question, "passage_score": score, "answers": part}) + "\n"
            )
    del rows[lines:]
    rng.shuffle(rows)
    files = folder / "PAQ.unfiltered_metadata.jsonl", folder / "psgs_w100.tsv"
    for path, content in zip(files, (rows, passages), strict=True):
        path.write_text("".join(content), encoding="utf-8")
    return files


def write_ambigqa(folder: Path, lines: int) -> Path:
    """Write AmbigQA with evidence articles."""
    rng = random.Random(0)
    rows = []
    for number in range(lines):
        question, facts = asked(rng)
        pairs = [
            {"question": f"{question[0].capitalize()}, in {n}?", "answer": [fact.answer]}
            for n, fact in enumerate(facts)
        ]
        single = {"type": "singleAnswer", "answer": [facts[0].answer]}
        several = {"type": "multipleQAs", "qaPairs": pairs}
        rows.append(
            {
                "id": str(number),
                "question": f"{question[0].capitalize()}?",
                "annotations": [single, several] if len(pairs) > 1 else [single],
                "articles_plain_text": [article(rng, facts[at::3]) for at in range(3)],
            }
        )
    path = folder / "train_with_evidence_articles.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def article(rng: random.Random, facts: Sequence[Fact]) -> str:
    """An article that states facts, one per paragraph, between other paragraphs."""
    parts = [f"# {facts[0].title if facts else name(rng)}"]
    for fact in facts:
        words = [fact.sentence, *rng.sample(FILLER, rng.randint(1, 5))]
        parts += [". ".join(rng.sample(FILLER, 2)) + ".", "## Later years", ". ".join(words) + "."]
    return "\n\n".join([*parts, ". ".join(rng.sample(FILLER, 4)) + "."])
