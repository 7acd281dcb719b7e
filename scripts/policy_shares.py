"""Say which share of human answers each setting of a `QuotePolicy` admits.

    python scripts/policy_shares.py dev.jsonl

Counts over all reference answers of a QuoteSum file; and, over all words outside of their quotes, how
many are glue or of the question.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semqa.data import read_quotesum
from semqa.decoding import QuotePolicy, find_breach
from semqa.quotes.marks import FreePiece, scan_marks
from semqa.quotes.words import leaks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.data import Question

SETTINGS = {
    '`free="any"`, `boundary="char"`': QuotePolicy(free="any", boundary="char"),
    '`free="any"`': QuotePolicy(free="any"),
    '`free="glue"`': QuotePolicy(),
}
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def count(questions: Sequence[Question]) -> dict[str, Any]:
    """Count the answers that each setting admits, and the words outside of quotes."""
    answers = [
        (question, reference.text) for question in questions for reference in question.references
    ]
    admitted = {
        name: sum(
            find_breach(text, question.sources, policy, question.question) is None
            for question, text in answers
        )
        for name, policy in SETTINGS.items()
    }
    words = known = 0
    for question, text in answers:
        for piece in scan_marks(text):
            if isinstance(piece, FreePiece):
                found = len(_WORD.findall(piece.text))
                words += found
                known += found - len(leaks(piece.text, question.question))
    return {"answers": len(answers), "admitted": admitted, "free_words": words, "known": known}


def table(shares: dict[str, Any]) -> str:
    """Return the counts as Markdown."""
    answers, words, known = shares["answers"], shares["free_words"], shares["known"]
    lines = [f"| setting | of {answers} answers are admitted |", "|---|---|"]
    lines += [
        f"| {name} | {number} ({number / answers:.1%}) |"
        for name, number in shares["admitted"].items()
    ]
    share = f"{known} ({known / max(words, 1):.1%})"
    lines += ["", f"Of {words} words outside of quotes, {share} are glue or of the question."]
    return "\n".join(lines)


def main() -> None:
    """Read the arguments, count, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("file", type=Path, help="a QuoteSum file")
    arguments = parser.parse_args()
    print(table(count(read_quotesum(arguments.file))))


if __name__ == "__main__":
    main()
