"""`semqa study`: human evaluation in a browser, with links for raters, exports and reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from semqa.cli.eval.ais import ais_notes, ais_tables
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_result
from semqa.cli.serve import http_address
from semqa.cli.tables import print_tables, things_table
from semqa.data.files import make_folder, write_atomic
from semqa.errors import InputError
from semqa.extras import require
from semqa.server.settings import ServerSettings

if TYPE_CHECKING:
    from rich.table import Table

    from semqa.studies.kind import Rated, Study
    from semqa.studies.store import Progress, Store

app = typer.Typer(help="Let people rate or write answers in a browser.", no_args_is_help=True)

_Folder = Annotated[Path, typer.Argument(help="Folder of the study.", metavar="DIR")]


@app.command()
def new(
    kind: Annotated[
        str,
        typer.Argument(
            help="ais, semqa, tofueval, explanations, attrscore, q2 or writing.", metavar="KIND"
        ),
    ],
    inputs: Annotated[
        list[str],
        typer.Argument(help="Files to rate (see docs/studies.md).", metavar="[NAME=]INPUT"),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="New folder.", metavar="DIR")],
    raters: Annotated[
        str | None,
        typer.Option(
            help="Number of raters, or their names, such as ann,ben,eve.", show_default="--per-item"
        ),
    ] = None,
    per_item: Annotated[
        int | None, typer.Option(help="Ratings per item.", show_default="depends on KIND")
    ] = None,
    design: Annotated[
        str | None, typer.Option(help="Study design.", show_default="the first of KIND")
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Title shown to raters.", show_default="depends on KIND")
    ] = None,
    gold: Annotated[
        list[Path] | None,
        typer.Option(help="Items with correct answers; repeatable.", metavar="FILE"),
    ] = None,
    qualify: Annotated[int, typer.Option(help="Gold items in each rater's qualification.")] = 0,
    threshold: Annotated[float, typer.Option(help="Share of these that must be correct.")] = 0.8,
    pilot: Annotated[int, typer.Option(help="Number of items that all raters do first.")] = 0,
    batch: Annotated[int, typer.Option(help="Items per batch.", show_default="all")] = 0,
    reviewers: Annotated[
        str | None, typer.Option(help="Writing: names of the reviewers.", metavar="NAMES")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
) -> None:
    """Create a study.

    \b
    semqa study new ais outputs.jsonl -o study --raters ann,ben,eve --per-item 3
    semqa study new semqa dev.jsonl ours=predictions.jsonl -o study --raters 6
    semqa study new writing questions.jsonl -o study --raters ann,ben,eve --reviewers fay
    semqa study new writing dev.jsonl predictions.jsonl -o study --raters me --per-item 1
    """  # noqa: D301 -- click reads the backspace
    _require()
    from semqa.studies.folder import kind_of
    from semqa.studies.kind import Input, Settings, counted
    from semqa.studies.store import new_study

    chosen = kind_of(kind)
    per_item = chosen.per_item if per_item is None else per_item
    title, design = title or chosen.title, design or chosen.designs[0]
    settings = Settings(chosen, title, design, per_item, qualify, threshold, seed, pilot, batch)
    one_more = settings.design in chosen.adjudicated
    names = _names(raters or str(settings.per_item + one_more))
    given = [Input(Path(path), name) for name, path in map(_split, inputs)]
    given += [Input(path, gold=True) for path in gold or ()]
    items = chosen.read(given, settings.design)
    people = [] if reviewers is None else _people(reviewers)
    study = new_study(out, settings, items, names, chosen.keep(given), people)
    ratings = len(study.ordinary) * settings.per_item
    say(
        f"{out}: {counted(len(study.ordinary), 'item')}, {counted(ratings, 'rating')} by "
        f"{counted(len(names), 'rater')}. "
        f"Start it with: semqa study serve {out}"
    )


@app.command()
def serve(
    folder: _Folder,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 for a free one.", min=0, max=65535)] = 8000,
    public_url: Annotated[
        str | None, typer.Option(help="Public address of the page, for links.", metavar="URL")
    ] = None,
) -> None:
    """Serve a study and print a secret link for the owner and for each rater.

    Links do not change between starts. For access from other machines, use an HTTPS proxy and set
    its address with --public-url.
    """
    store = _store(folder)
    from semqa.server.running import Running, log_to
    from semqa.studies.app import create_app

    log_to()
    settings = ServerSettings(host=host, port=port, data=folder, public_url=public_url)

    def ready() -> None:
        address = public_url or http_address(host, running.port)
        write_result("\n".join(_links(store, address)))
        say("Ctrl-C stops the server; saved ratings are kept.")

    running = Running(create_app(store, settings), settings, ready)
    try:
        running.run()
    finally:
        store.close()


@app.command()
def raters(
    folder: _Folder,
    add: Annotated[
        str | None, typer.Option(help="Names of raters to add, such as dan,fay.")
    ] = None,
    add_reviewers: Annotated[str | None, typer.Option(help="Names of reviewers to add.")] = None,
    remove: Annotated[
        str | None, typer.Option(help="Rater to remove; others get the open items.")
    ] = None,
    links: Annotated[
        str | None, typer.Option(help="Print the links for this address instead.", metavar="URL")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the progress of raters; add or remove raters, also while the study is served."""
    with closing(_store(folder)) as store:
        if remove is not None:
            store.remove_rater(remove)
        if add is not None:
            store.add_raters(_names(add) if not add.isdecimal() else [add])
        if add_reviewers is not None:
            store.add_reviewers(_people(add_reviewers))
        if links is not None:
            write_result("\n".join(_links(store, links)))
            return
        rows = _progress_rows(store.progress())
        missing = store.missing()
    if as_json:
        write_result(json_line({"raters": rows, "missing": missing}, indent=2))
        return

    print_tables(_raters_table(rows))
    if missing:
        from semqa.studies.kind import counted

        say(f"{counted(missing, 'rating')} have no rater. Add one with --add NAME.")


@app.command(name="import")
def import_ratings(
    folder: _Folder,
    others: Annotated[
        list[Path], typer.Argument(help="Other studies of the same items.", metavar="OTHER")
    ],
) -> None:
    """Import the finished ratings of other studies, with the raters' names."""
    from semqa.studies.kind import counted

    found: list[Rated] = []
    with closing(_store(folder)) as store:
        for each in others:
            with closing(_store(each)) as other:
                here, there = (one.study.settings for one in (store, other))
                if (here.kind.name, here.design) != (there.kind.name, there.design):
                    raise InputError(f"{each} is of another kind or design.")
                found += other.rated()
        store.take_in(found)
    people = {each.rater for each in found}
    say(f"{folder}: imported {counted(len(found), 'rating')} by {counted(len(people), 'rater')}.")


@app.command()
def export(
    folder: _Folder,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="File, - for standard output, or a folder.", metavar="FILE"
        ),
    ],
    form: Annotated[
        Literal["csv", "jsonl"] | None,
        typer.Option("--format", help="File format.", show_default="from the file name"),
    ] = None,
) -> None:
    """Export the ratings in the format of the study's released dataset.

    With a folder (a name without an extension), write the study's input files with its verdicts.
    """
    if form is None and str(out) != "-" and (out.is_dir() or not out.suffix):
        with closing(_store(folder)) as store:
            study, rated = store.study, store.rated()
        files = study.kind.released(study, rated)
        make_folder(out)
        for name, lines in files.items():
            write_atomic(out / name, lines)
        say(f"{out}: {', '.join(files)}")
        _say_unrated(study, rated)
        return
    chosen = form or out.suffix.removeprefix(".").lower()
    if chosen not in ("csv", "jsonl"):
        if str(out) == "-":
            raise InputError("is missing.", field="--format")
        raise InputError(f"must end in .csv or .jsonl, got {out.name!r}.", field="--out")
    with closing(_store(folder)) as store:
        study, rated = store.study, store.rated()
        lines = study.kind.export(study, rated, chosen)  # type: ignore[arg-type]
        if str(out) == "-":
            write_result(b"".join(lines).decode())
        else:
            write_atomic(out, lines)
        if waiting := store.unaccepted():
            from semqa.studies.kind import counted

            say(f"{counted(waiting, 'finished answer')} left out: not yet accepted by a reviewer.")
    _say_unrated(study, rated)


def _say_unrated(study: Study, rated: Sequence[Rated]) -> None:
    """Report the number of unrated items. Tasks with reviewers report unaccepted answers instead."""
    from semqa.studies.kind import counted

    items = {study.kind.key(each) for each in study.ordinary_items}
    left = len(items - {study.kind.key(each.item) for each in rated})
    if left and not study.kind.reviewed:
        say(
            f"{left:,} of {counted(len(items), 'item')} not rated yet: "
            "the export has no verdict for them."
        )


@app.command()
def report(
    folders: Annotated[
        list[Path], typer.Argument(help="Studies of the same kind to compare.", metavar="DIR")
    ],
    as_json: AsJson = False,
) -> None:
    """Report the figures of the paper that introduced this kind of study."""
    studies: list[tuple[Study, list[Rated]]] = []
    people: list[dict[str, Any]] = []
    for folder in folders:
        with closing(_store(folder)) as store:
            # Raters of different studies are different people, even with the same name.
            name = f"{folder}: " if len(folders) > 1 else ""
            rated = [each._replace(rater=name + each.rater) for each in store.rated()]
            studies.append((store.study, rated))
            people += _progress_rows(store.progress(), name)
    kinds = list(dict.fromkeys(study.kind.name for study, _ in studies))
    if len(kinds) > 1:
        raise InputError(f"The studies are of different kinds: {', '.join(kinds)}.")
    if not any(rated for _, rated in studies):
        raise InputError("Nothing to report: no item is finished yet.")
    figures = studies[0][0].kind.report(studies)
    notes: Iterable[str] = figures.notes
    if as_json:
        write_result(json_line({**figures.record, "raters": people}, indent=2))
        return
    if kinds == ["ais"]:
        print_tables(*ais_tables(figures.record))
        notes = ais_notes(figures.record)
    else:
        print_tables(*(things_table(title, rows) for title, rows in figures.tables))
    print_tables(_raters_table(people))
    for note in notes:
        write_result(note)


def _progress_rows(progress: Sequence[Progress], prefix: str = "") -> list[dict[str, Any]]:
    """Return the progress of raters as JSON objects, with `prefix` before their names."""
    rows = []
    for each in progress:
        row = {"rater": prefix + each.name, **each._asdict(), "seconds": round(each.seconds, 1)}
        del row["name"], row["last"]
        rows.append(row)
    return rows


def _raters_table(rows: Sequence[dict[str, Any]]) -> Table:
    return things_table(
        ("rater", "state", "finished", "of", "gold right", "of", "minutes"),
        [
            [
                row["rater"],
                row["state"],
                *(str(row[name]) for name in ("done", "total", "gold_right", "gold_done")),
                f"{row['seconds'] / 60:.1f}",
            ]
            for row in rows
        ],
    )


def _require() -> None:
    for module in ("fastapi", "uvicorn", "sqlalchemy", "prometheus_client"):
        require(module, extra="serve", purpose="semqa study")


def _store(folder: Path) -> Store:
    _require()
    from semqa.studies.folder import open_study
    from semqa.studies.store import Store

    return Store(open_study(folder))


def _links(store: Store, address: str) -> list[str]:
    from semqa.studies.records import CLOSED, OWNER

    people = [store.rater(OWNER), *(each for each in store.raters() if each.state not in CLOSED)]
    width = max(len(each.name) for each in people)
    base = address.rstrip("/") + "/"
    return [f"{each.name:<{width}}  {base}#{each.token}" for each in people]


def _names(given: str) -> list[str]:
    if given.isdecimal():
        if not 1 <= int(given) <= 1000:
            raise InputError(f"must be 1 to 1000, got {given}.", field="--raters")
        return [f"rater-{number}" for number in range(1, int(given) + 1)]
    return _people(given)


def _people(given: str) -> list[str]:
    return [name.strip() for name in given.split(",")]


def _split(given: str) -> tuple[str, str]:
    name, equals, path = given.partition("=")
    return (name, path) if equals and "/" not in name else ("", given)
