"""Measure how much evidence the first passages from a collection have.

    python benchmarks/evidence.py [SET ...] [--passages N] [--words-only] [--smoke]

A SET is a folder such as tests/data/docs/formats. Its documents are indexed as one collection, in
which the evidence of each answerable question is searched for. Prints the mean share of the evidence
that is in the passages, or in the headings and table header above them; the last line is JSON.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from machine import describe_machine

from semqa.bench.docqa import LIMITS, QuestionSet
from semqa.retrieval.passages import Library

DOCS = Path(__file__).resolve().parents[1] / "tests/data/docs"
SETS = [DOCS / name for name in ("formats", "told", "technical", "work")]

SHORTEST = 40
"""Letters of an evidence span that must be in one passage; longer spans may end in the next one."""


def main() -> None:
    """Index, search and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*", type=Path, default=SETS)
    parser.add_argument("--passages", type=int, default=8)
    parser.add_argument("--words-only", action="store_true", help="without the encoder")
    parser.add_argument("--smoke", action="store_true", help="one small set, words only")
    args = parser.parse_args()
    record: dict[str, object] = {"benchmark": "evidence", "passages": args.passages}
    with TemporaryDirectory() as folder:
        library = Library(folder, limits=LIMITS, encoder=not (args.words_only or args.smoke))
        for each in [DOCS / "first"] if args.smoke else args.sets:
            asked = QuestionSet.read(each / "questions.jsonl")
            collection = library.create("", each.name)
            collection.put_all([(name, file.data) for name, file in asked.documents.items()])
            shares = []
            for question in asked.questions:
                if question.evidence:
                    found = collection.search(question.question, args.passages)
                    sources = (passage.source for passage in found)
                    texts = [letters(f"{source.context} {source.text}") for source in sources]
                    spans = [letters(span)[:SHORTEST] for span in question.evidence]
                    shares.append(fmean(any(span in text for text in texts) for span in spans))
            share = round(100 * fmean(shares), 1)
            record[each.name] = share
            print(f"{each.name}: {share}% of the evidence of {len(shares)} questions", flush=True)
    print(json.dumps(record | describe_machine()))


def letters(text: str) -> str:
    """Return the letters and digits of a text."""
    return "".join(filter(str.isalnum, text))


if __name__ == "__main__":
    main()
