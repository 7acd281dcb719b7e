"""Inputs of small TofuEval, AttrScore and Q² studies."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from semqa.studies.kind import Input
from tests.studies.made import write_lines

MEETING = """CHAIR: Good evening. First, the swimming pool in Mill Lane.
LEE: The roof has leaked since March. The engineer says a new one would cost 420,000.
ORTIZ: I think the whole building is unsafe. That is my personal impression, I have no report to show.
CHAIR: The engineer's report does not say so. Let us keep to what is written in it.
LEE: We could apply to the county for half of the sum. The deadline is the end of May.
CHAIR: Who is in favour of applying? Four. Against? None. One abstention. The motion passes."""

TOPIC = "The roof of the swimming pool"

POINTS = (
    "The pool's roof leaks.",
    "A new roof would cost 420,000.",
    "The council applies to the county for half of the sum.",
    "Without the county's money the pool may close in winter.",
)

SENTENCES = (
    "The roof of the pool in Mill Lane has leaked since March, and a new one would cost 420,000.",
    "The building is unsafe.",
    "The council voted to apply to the county for half of the sum.",
)

TOFUEVAL_COLUMNS = (
    "doc_id", "annotation_id", "topic", "model_name", "sent_idx", "summ_sent", "sent_label",
    "exp", "type",
)  # fmt: skip


def write_csv(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def tofueval_inputs(folder: Path, *, points: bool = True, systems: str = "AB") -> list[Input]:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "doc_id": "council-3", "annotation_id": 1, "topic": TOPIC, "model_name": f"model_{system}",
            "sent_idx": number, "summ_sent": text, "sent_label": "yes", "exp": "", "type": "",
        }
        for system in systems
        for number, text in enumerate(SENTENCES if system == "A" else SENTENCES[:2], 1)
    ]  # fmt: skip
    found = [
        write_csv(folder / "council_factual_eval_dev.csv", TOFUEVAL_COLUMNS, rows),
        write_lines(folder / "documents.jsonl", [{"doc_id": "council-3", "source": MEETING}]),
    ]
    if points:
        cell = repr([f"{n}. {point}" for n, point in enumerate(POINTS, 1)])
        row = {"doc_id": "council-3", "topic": TOPIC, "key_points": cell}
        found.append(write_csv(folder / "council_completeness_final.csv", list(row), [row]))
    return [Input(path) for path in found]


CLAIMS = (
    {
        "query": "When was the Kettle Bridge opened?",
        "answer": "The Kettle Bridge was opened in 1931.",
        "reference": "The Kettle Bridge, begun in 1928, was opened by the mayor in May 1931. "
        "It carries the coast road over the Arden and is 340 metres long.",
        "label": "Attributable",
        "domain": "history",
    },
    {
        "query": "",
        "answer": "The Orlen mill opened in 1861 and employed two hundred people.",
        "reference": "The Orlen mill opened in 1868, two years after the railway.",
        "label": "Contradictory",
        "domain": "industry",
    },
    {
        "query": "Who designed the lighthouse?",
        "answer": "Maud Ferrer designed the lighthouse.",
        "reference": "The lighthouse stands on a rock two miles off the coast. Maud Ferrer wrote a "
        "poem about it.",
        "label": "Extrapolatory",
        "domain": "history",
    },
)


def attrscore_inputs(folder: Path) -> list[Input]:
    folder.mkdir(parents=True, exist_ok=True)
    columns = ("query", "answer", "reference", "label", "domain")
    return [Input(write_csv(folder / "claims.csv", columns, CLAIMS))]


TALK = (
    {
        "topic": "Gardening",
        "message": "I have just bought a house with a garden. What should I plant first?",
        "near_response": "i would start with apple trees . they need about 800 hours of cold a year .",
        "far_response": "how nice ! i love gardening , it was invented in 1802 by the romans .",
        "knowledge": "Apple trees are hardy. Most kinds need 800 to 1,000 hours of cold in winter "
        "to bear fruit.",
    },
    {
        "topic": "Skating",
        "message": "My daughter wants to learn to skate.",
        "near_response": "great ! the oldest skates that we know of are made of bone , 3000 years old .",
        "far_response": "skates were first made of steel , 3000 years ago .",
        "knowledge": "The oldest known skates, found in Scandinavia, are made of bone and about "
        "3,000 years old.",
    },
)  # fmt: skip


def q2_inputs(folder: Path) -> list[Input]:
    folder.mkdir(parents=True, exist_ok=True)
    return [Input(write_csv(folder / "talk.csv", list(TALK[0]), TALK))]
