"""Say which share of human answers each setting of a `QuotePolicy` admits.

    python scripts/policy_shares.py dev.jsonl [--json]

Counts over all reference answers of a QuoteSum file, in two ways: those that keep the rule, whatever
their quotes are, and those that the constraint admits with the rule, quotes included. For the first,
each answer is judged against sources that hold exactly its own spans, one apart from the other.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semqa import Source
from semqa.data import read_quotesum
from semqa.decoding import QuotePolicy
from semqa.decoding.naive_language import Free, Language
from semqa.quotes.marks import BrokenMark, Mark, canonical_mark, scan_marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.data import Question
    from semqa.decoding.naive_language import Place

SETTINGS: dict[str, QuotePolicy] = {
    '`boundary="char"`': QuotePolicy(boundary="char"),
    '`boundary="word"`': QuotePolicy(),
    '`numbers="quoted"`': QuotePolicy(numbers="quoted"),
    '`names="quoted"`': QuotePolicy(names="quoted"),
    "both of these": QuotePolicy(numbers="quoted", names="quoted"),
    **{f"`max_words={n}`": QuotePolicy(max_words=n) for n in (50, 100, 150)},
    **{f"`max_free_words={n}`": QuotePolicy(max_free_words=n) for n in (5, 10, 20, 40)},
    **{f"`max_span_words={n}`": QuotePolicy(max_span_words=n) for n in (10, 20, 40, 60)},
    **{f"`min_quotes={n}`": QuotePolicy(min_quotes=n) for n in (1, 2, 3)},
}
"""What is counted, by the name in the table; all but the first with ``boundary="word"``."""


def is_admitted(text: str, sources: Sequence[Source], policy: QuotePolicy, question: str) -> bool:
    """Say whether a text is an answer of the constraint's language."""
    language = language_of(tuple(sources), policy, question)
    at: Place | None = Free()
    for byte in text.encode():
        at = None if at is None else language.step(at, byte)
    return at is not None and language.may_end(at)


@lru_cache(maxsize=1)
def language_of(sources: tuple[Source, ...], policy: QuotePolicy, question: str) -> Language:
    """Return the language; answers to one question come one after the other."""
    return Language(sources, policy, question)


def own_sources(text: str) -> tuple[str, list[Source]]:
    """Return the answer with canonical marks, and sources that hold its spans and nothing else."""
    spans: dict[int, list[str]] = {}
    written = []
    for piece in scan_marks(text):
        if isinstance(piece, Mark):
            spans.setdefault(piece.source, []).append(piece.span)
            written.append(canonical_mark(piece.source, piece.span))
        else:
            written.append(piece.raw if isinstance(piece, BrokenMark) else piece.text)
    # No span holds a bracket, so that brackets keep them apart and let each be quoted whole.
    most = max(spans, default=0)
    return "".join(written), [Source("[".join(spans.get(k, []))) for k in range(1, most + 1)]


def count(questions: Sequence[Question]) -> dict[str, Any]:
    """Count the answers of all questions under each setting."""
    answers = [
        (question, reference.text) for question in questions for reference in question.references
    ]
    own = [own_sources(text) for _, text in answers]
    rows = []
    for name, policy in SETTINGS.items():
        admitted = sum(
            is_admitted(text, question.sources, policy, question.question)
            for question, text in answers
        )
        keeping = sum(
            is_admitted(text, sources, policy, question.question)
            for (question, _), (text, sources) in zip(answers, own, strict=True)
        )
        changed = {
            key: value
            for key, value in asdict(policy).items()
            if value != getattr(QuotePolicy(), key)
        }
        rows.append(
            {
                "setting": name,
                "policy": changed,
                # Where a span is cut says nothing about spans that stand alone.
                "keeping": None if name.startswith("`boundary") else keeping,
                "admitted": admitted,
            }
        )
    odd = sum(text != canonical for (_, text), (canonical, _) in zip(answers, own, strict=True))
    return {"answers": len(answers), "odd_marks": odd, "settings": rows}


def table(shares: dict[str, Any]) -> str:
    """Return the counts as a Markdown table."""
    total = shares["answers"]

    def cell(number: int | None) -> str:
        return "" if number is None else f"{number} ({number / total:.1%})"

    lines = [f"| setting | of {total} answers keep the rule | and are admitted |", "|---|---|---|"]
    lines += [
        f"| {row['setting']} | {cell(row['keeping'])} | {cell(row['admitted'])} |"
        for row in shares["settings"]
    ]
    return "\n".join(lines)


def main() -> None:
    """Read the arguments, count, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("file", type=Path, help="a QuoteSum file")
    parser.add_argument("--json", action="store_true", help="print a record in place of a table")
    arguments = parser.parse_args()
    shares = count(read_quotesum(arguments.file))
    print(json.dumps(shares) if arguments.json else table(shares))


if __name__ == "__main__":
    main()
