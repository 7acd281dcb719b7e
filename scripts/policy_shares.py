"""Report the share of human answers that each `QuotePolicy` allows.

    python scripts/policy_shares.py dev.jsonl

Counts all reference answers in a QuoteSum file. Also counts the words outside their quotes that are
glue or in the question.
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


def count_answers(questions: Sequence[Question]) -> dict[str, Any]:
    """Count the answers allowed by each policy and the words outside quotes."""
    answers = [
        (question, reference.text) for question in questions for reference in question.references
    ]
    allowed = {
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
                count = len(_WORD.findall(piece.text))
                words += count
                known += count - len(leaks(piece.text, question.question))
    return {"answers": len(answers), "allowed": allowed, "free_words": words, "known": known}


def table(counts: dict[str, Any]) -> str:
    """Return the counts as Markdown."""
    answers, words, known = counts["answers"], counts["free_words"], counts["known"]
    lines = [f"| policy | allowed of {answers} answers |", "|---|---|"]
    lines += [
        f"| {name} | {number} ({number / answers:.1%}) |"
        for name, number in counts["allowed"].items()
    ]
    share = f"{known} ({known / max(words, 1):.1%})"
    lines += ["", f"Of {words} words outside quotes, {share} are glue or in the question."]
    return "\n".join(lines)


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("file", type=Path, help="QuoteSum file")
    arguments = parser.parse_args()
    print(table(count_answers(read_quotesum(arguments.file))))


if __name__ == "__main__":
    main()
