"""Options that commands of ``semqa eval`` share, so that they read the same in each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["RecordOut", "Resamples", "Rescore", "Seed", "check_rescore"]

RecordOut = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help="Write the whole record to this file, as JSON.", show_default=False
    ),
]

Rescore = Annotated[
    Path | None,
    typer.Option(
        "--rescore",
        metavar="RECORD",
        help="Score a record that --out wrote once more; no judge is asked.",
        show_default=False,
    ),
]

Resamples = Annotated[
    int, typer.Option(min=0, max=1_000_000, help="Of the bootstrap; 0 for no intervals.")
]

Seed = Annotated[int, typer.Option(min=0, envvar="SEMQA_SEED", help="Of the bootstrap.")]


def check_rescore(
    rescore: Path | None, files: Iterable[Path | None] | None, *beside: Path | None
) -> None:
    """See that there is either a record to score, or files.

    Args:
        rescore: the record.
        files: what is scored without one.
        beside: what may stand beside the files, and not beside a record.

    Raises:
        InputError: there are both, or neither.
    """
    given = any(path is not None for path in files or ())
    others = rescore is not None and any(path is not None for path in beside)
    if given is (rescore is not None) or others:
        raise InputError(
            f"what to score: got {'files' if given or others else 'no file'} and "
            f"{'a' if rescore else 'no'} record, expected files, or --rescore RECORD alone; give one "
            "of them"
        )
