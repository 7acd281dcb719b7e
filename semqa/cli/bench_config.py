"""From a file of a grid to plans: every key read as its flag, every mistake with its line."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semqa.bench.grid.cells import Cell, folder_of
from semqa.bench.grid.config import ENGINE, NAME, Setting
from semqa.bench.plan import HUMAN, Plan
from semqa.cli.bench_keys import WHOLE, KeyReader, left_to_engine, shown
from semqa.cli.choice import RULES, Choice, choose
from semqa.cli.engine_options import EngineOptions
from semqa.cli.gen_kwargs import with_gen_kwargs
from semqa.cli.limit import resolve_limit
from semqa.errors import InputError, SemqaError
from semqa.prompting import Template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.bench.grid.config import GridConfig

__all__ = ["ConfigReader"]

MOST_MISTAKES = 20
"""How many mistakes are told at once."""

CONSTRAINT = "constraint"
_PROMPT = ("prompt", "shots", "train", "exemplars", "encoder", "form")


class ConfigReader:
    """Reads the settings of a grid with the flags of a command.

    Args:
        config: the file.
        options: what else was given: by the environment, or typed, which then counts for all runs.
        typed: values of typed flags that are no options of engines, by name.
    """

    def __init__(
        self,
        config: GridConfig,
        options: EngineOptions,
        typed: Mapping[str, object],
    ) -> None:
        self._config = config
        self._options = options
        self._typed = typed
        self._keys = KeyReader()
        self._limits: dict[tuple[float | None, Path], int | None] = {}
        self._left_out: Counter[str] = Counter()
        self._template = cache(Template.load)

    @property
    def left_out(self) -> list[str]:
        """What was left out by `cells`, and why; a line for all runs with the same reason."""
        return [
            f"left out: {f'{count} runs of ' if count > 1 else ''}{why}"
            for why, count in self._left_out.items()
        ]

    def whole(self) -> dict[str, Any]:
        """Return the settings of the whole grid, by the names of their parameters.

        Raises:
            InputError: a key is unknown, or one of these is a list or is not to be read.
        """
        self._check_all()
        found: dict[str, Any] = {}
        for values in self._all_settings():
            name = self._keys.name(values[0])
            if name not in WHOLE:
                continue
            first = values[0]
            if first.axis or first.own:
                raise InputError(
                    f"{first.where}: {shown(first)}: got it for some runs, expected one value for "
                    "all, at the top; move it there"
                )
            if first.text is not None:
                found[name] = self._keys.value(first)
        return found

    def cells(self) -> list[Cell]:
        """Return what is to be run, every run once.

        What an engine of the grid does not take is left out of its runs; a run of ``runs`` must
        take all that its own item says.

        Raises:
            InputError: something in the file is wrong; nothing has been run.
        """
        used: set[str] = set()
        cells: dict[str, Cell] = {}
        names: dict[str, str] = {}
        wrong: dict[str, None] = {}
        for settings in self._config.cells():
            try:
                made = self._cell(settings, used)
            except InputError as error:
                wrong[str(error)] = None
                continue
            if made is None:
                continue
            if made.plan.name is not None:
                first = names.setdefault(made.plan.name, made.where)
                if first != made.where:
                    raise InputError(
                        f"{made.where}: name: got {made.plan.name!r} a second time, expected a name "
                        f"of its own (first at {first}); choose another"
                    )
            same = cells.setdefault(made.folder, made)
            if same.plan.data.resolve() != made.plan.data.resolve():
                raise InputError(
                    f"{made.where}: data: got {made.plan.data} besides {same.plan.data}, expected "
                    "names that differ, for runs are told apart by them; rename one"
                )
        _tell(wrong)
        for key, values in self._config.settings.items():
            name = self._keys.name(values[0])
            given = not all(map(left_to_engine, values))
            if given and name in self._keys.of_engines and key not in used:
                where = "where no engine takes it"
                if name in RULES and CONSTRAINT in self._config.settings:
                    where += " or the constraint is off"
                raise InputError(
                    f"{values[0].where}: {shown(values[0])}: got it {where}, "
                    "expected an option of one of them; leave it out"
                )
        if not cells:
            raise InputError(
                f"{self._config.path}: nothing to run: got settings that exclude each other, "
                "expected a run; see what is said above"
            )
        self._check_data(list(cells.values()))
        return _labelled(list(cells.values()))

    def _all_settings(self) -> list[Sequence[Setting]]:
        found = list(self._config.settings.values())
        found += [[each] for bundle in self._config.policies for each in bundle]
        for run in self._config.runs:
            found += [values for key, values in run.items() if key != NAME]
        return found

    def _cell(self, settings: Mapping[str, Setting], used: set[str]) -> Cell | None:
        own: dict[str, Setting] = {}
        for key, setting in settings.items():
            name = NAME if key == NAME else self._keys.name(setting)
            if name in own:
                raise InputError(
                    f"{setting.where}: {shown(setting)}: got it besides "
                    f"{shown(own[name])}, which is the same, expected one of them; leave one out"
                )
            if name not in WHOLE and name not in self._typed and not left_to_engine(setting):
                own[name] = setting
        overriding = self._options.typed & self._keys.of_engines
        own = {name: each for name, each in own.items() if name not in overriding}
        place = own.get(ENGINE) or next(
            (each for each in own.values() if each.own), next(iter(settings.values()))
        )
        values = {name: self._keys.value(each) for name, each in own.items() if name != NAME}
        engine = str(self._typed.get("engine") or values.get("engine") or "extractive")
        try:
            kept = self._kept(engine, own, values)
        except InputError as error:
            raise _placed(error, own, place) from error
        used |= {own[name].key for name in kept if name in own}
        data = self._typed.get("data") or values.get("data")
        if data is None:
            raise InputError(
                f"{self._config.path}: no data: got no key data, expected a QuoteSum file; write "
                "such as data: dev.jsonl"
            )
        given = replace(
            self._options,
            **{name: values[name] for name in kept},
            habits=self._options.habits - kept,
            typed=self._options.typed | kept,
        )
        try:
            kwargs = self._typed.get("gen_kwargs") or values.get("gen_kwargs")
            if kwargs is not None and self._takes(engine, "max_new_tokens"):
                given = with_gen_kwargs(given, str(kwargs))
            choice = choose(engine, given)
            title = own[NAME].text if NAME in own else None
            first: Any = self._typed.get("limit") or values.get("limit")
            limit = self._limit(first, Path(str(data)))
            plan = Plan(Path(str(data)), engine, choice.options, limit, choice.prompts, title)
            plan.check()
            if (why := self._check(choice, own)) is not None:
                self._left_out[why] += 1
                return None
        except SemqaError as error:
            raise _placed(error, own, place) from error
        return Cell(plan, title or "", folder_of(plan), place.where)

    def _takes(self, engine: str, name: str) -> bool:
        from semqa.engines import accepted_options

        return name in (accepted_options(engine) or ())

    def _kept(
        self, engine: str, own: Mapping[str, Setting], values: Mapping[str, Any]
    ) -> frozenset[str]:
        """Return the names of the options that this engine gets."""
        from semqa.engines import accepted_options, check_options

        accepted: Sequence[str] | None = accepted_options(engine)
        if accepted is None:
            if engine != HUMAN:
                check_options(engine)  # which says what is wrong with the name
            accepted = ()
        usable = {*accepted, *(_PROMPT if "prompts" in accepted else ())}
        named = {name for name in own if name in self._keys.of_engines}
        kept = {name for name in named if name in usable or own[name].own}
        # Of the grid's lists, what has nothing to act on in this run.
        idle: tuple[str, ...] = ()
        if "prompts" not in accepted:
            pass
        elif values.get("shots") == 0:
            idle = ("exemplars", "encoder")
        elif not str(values.get("exemplars") or "knn").startswith("knn"):
            idle = ("encoder",)
        if values.get(CONSTRAINT) == "off" and CONSTRAINT in accepted:
            idle = (*idle, *RULES)
        return frozenset(n for n in kept if n not in idle or own[n].own)

    def _check(self, choice: Choice, own: Mapping[str, Setting]) -> str | None:
        """See what can be seen before a model is loaded; say why a run is to be left out.

        Raises:
            InputError: it cannot be run.
        """
        from semqa.engines import check_options

        if choice.engine == HUMAN:
            return None
        check_options(choice.engine, choice.options)
        if choice.prompts is None:
            return None
        template = self._template(choice.prompts.template)
        if choice.constrained:
            from semqa.engines.model import check_template

            try:
                check_template(template)
            except InputError as error:
                switch = own.get("constraint")
                if switch is not None and switch.axis:
                    return f"{choice.engine}: {error}"
                raise
        return None

    def _check_data(self, cells: Sequence[Cell]) -> None:
        """Read each file once, so that what is wrong with one is found before anything runs."""
        from semqa.data.quotesum import read_quotesum

        seen: set[Path] = set()
        for cell in cells:
            plan = cell.plan
            files = {"data": plan.data}
            if plan.prompts is not None and plan.prompts.count and plan.prompts.train is not None:
                files["train"] = plan.prompts.train
            for key, path in files.items():
                if path in seen:
                    continue
                seen.add(path)
                try:
                    if path == plan.data:
                        plan.questions()
                    else:
                        read_quotesum(path)
                except InputError as error:
                    raise InputError(f"{self.naming(key, path)}{error}") from error

    def naming(self, key: str, value: object) -> str:
        """Return the place where the file gives a key this value, else nothing."""
        for values in self._all_settings():
            for each in values:
                if each.key == key and each.text == str(value):
                    return f"{each.where}: {key}: "
        return ""

    def _limit(self, limit: float | None, data: Path) -> int | None:
        if (limit, data) not in self._limits:
            self._limits[limit, data] = resolve_limit(limit, data)
        return self._limits[limit, data]

    def _check_all(self) -> None:
        """See that every key is known and every value can be read; all mistakes are told at once."""
        wrong: dict[str, None] = {}
        for values in self._all_settings():
            try:
                self._keys.name(values[0])
                for each in values:
                    if not left_to_engine(each):
                        self._keys.value(each)
            except InputError as error:
                wrong[str(error)] = None
        _tell(wrong)


def _tell(wrong: Mapping[str, None]) -> None:
    """Raise all mistakes as one, if there are any, in the order of their lines."""
    if wrong:
        shown = sorted(wrong, key=_line_of)[:MOST_MISTAKES]
        more = [f"and {len(wrong) - len(shown)} more"] if len(wrong) > len(shown) else []
        raise InputError("\n".join([*shown, *more]))


def _labelled(cells: list[Cell]) -> list[Cell]:
    """Give every run that has no name a label: its engine, and what tells it from the others."""
    from semqa.bench.labels import labels_of, settings_of

    labels = labels_of([settings_of(cell.plan) for cell in cells])
    return [
        replace(cell, label=cell.plan.name or label)
        for cell, label in zip(cells, labels, strict=True)
    ]


def _line_of(message: str) -> int:
    found = re.search(r":(\d+): ", message)
    return int(found[1]) if found else 0


def _placed(error: SemqaError, own: Mapping[str, Setting], place: Setting) -> SemqaError:
    """Put the line before a message: that of the file or first key that it names, else the run's."""
    said = str(error)
    if re.match(rf"{re.escape(place.where.rpartition(':')[0])}:\d+: ", said):
        return error
    flag = re.search(r"option --([\w-]+)", said)
    words = [flag[1]] if flag is not None else re.findall(r"[\w-]+", said)
    keys = (word.strip("-").replace("-", "_") for word in words)
    values = {each.text: each for each in own.values()}  # a file's message begins with its name
    found = values.get(said.partition(": ")[0]) or next((own[k] for k in keys if k in own), None)
    return type(error)(f"{(found or place).where}: {said}")
