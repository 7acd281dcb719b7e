"""``semqa data``: fetch, list and check the files of public datasets."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated

import typer

from semqa.cli.options import AsJson
from semqa.cli.output import json_line, print_error, progress_bar, write_result
from semqa.data.quotesum import check_quotesum

if TYPE_CHECKING:
    from semqa.data.fetch import RemoteFile

app = typer.Typer(help="Fetch, list and check the files of public datasets.", no_args_is_help=True)


@app.command("fetch")
def fetch_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Dataset: quotesum.")],
    split: Annotated[str, typer.Option(help="dev, train, test, or all.")] = "dev",
    as_json: AsJson = False,
) -> None:
    """Download a public dataset to the cache, check its digest, and print its path."""
    from semqa.data.fetch import REMOTE_FILES, fetch, remote_file

    splits = [file.split for file in REMOTE_FILES] if split == "all" else [split]
    chosen = [remote_file(name, each) for each in splits]
    for file in chosen:
        with progress_bar(f"{name} {file.split}", "bytes") as progress:
            path = fetch(name, file.split, progress)
        if not as_json:
            write_result(str(path))
    if as_json:
        write_result(json_line({"files": [_entry(file) for file in chosen]}))


@app.command("list")
def list_command(as_json: AsJson = False) -> None:
    """List the available files and whether they are cached."""
    from semqa.data.fetch import REMOTE_FILES

    entries = [_entry(file) for file in REMOTE_FILES]
    if as_json:
        write_result(json_line({"files": entries}))
        return
    for entry in entries:
        size = "" if entry["bytes"] is None else f"{entry['bytes']:,} bytes"
        if size and entry["state"] != "cached":
            size += " to download"
        name = f"{entry['dataset']} {entry['split']}"
        write_result(f"{name:<16} {entry['state']:<8} {size:>25}  {entry['path']}")


@app.command("check")
def check_command(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="QuoteSum file; - for standard input.")
    ],
    as_json: AsJson = False,
) -> None:
    """Validate a QuoteSum file: print its counts, or its errors with exit code 2."""
    check = check_quotesum(file)
    counts = {
        "questions": len(check.questions),
        "references": sum(len(question.references) for question in check.questions),
        "sources": sum(len(question.numbers) for question in check.questions),
    }
    wrong = len(check.errors) + check.more_errors
    if as_json:
        report = {"ok": not wrong, **counts, "errors": check.errors, "more": check.more_errors}
        write_result(json_line(report))
    elif not wrong:
        nouns = [(n, noun.removesuffix("s") if n == 1 else noun) for noun, n in counts.items()]
        write_result(", ".join(f"{count} {noun}" for count, noun in nouns))
    else:
        for error in check.errors:
            print_error(error)
        if check.more_errors:
            print_error(f"… and {check.more_errors} more")
    if wrong:
        raise typer.Exit(2)


def _entry(file: RemoteFile) -> dict[str, object]:
    from semqa.data.fetch import DATASET, LICENCE

    path, state = file.path(), file.state()
    cached = state == "cached"
    return {
        "dataset": DATASET,
        "split": file.split,
        "state": state,
        "path": str(path),
        "bytes": path.stat().st_size if cached else file.pin.size,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest() if cached else None,
        "url": file.url,
        "licence": LICENCE,
    }
