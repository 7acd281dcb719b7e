"""Plans from a grid file: keys are parsed like their flags, and errors name the line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import typer

from semqa.bench.config import ENGINE, NAME, RUNS, GridConfig, Setting
from semqa.bench.grid import Cell
from semqa.bench.plan import HUMAN, Plan, labels_of, settings_of
from semqa.cli.choice import PROMPT_OPTIONS, RULES, Choice, EngineOptions, choose, engine_params
from semqa.cli.command import plain_message
from semqa.cli.eval.judging import JudgeOptions
from semqa.cli.options import RayOptions, did_you_mean
from semqa.data.quotesum import read_quotesum
from semqa.engines import accepted_options, check_options
from semqa.engines.model.options import check_template
from semqa.errors import InputError, SemqaError
from semqa.prompting import Template

CONSTRAINT = "constraint"


WHOLE = (
    "out",
    "retry_failed",
    *(each.name for options in (JudgeOptions, RayOptions) for each in fields(options)),
)
"""Keys that apply to the whole grid."""

_OF_RUNS = ("data", "engine", "limit")


class ConfigReader:
    """Parses the settings of a grid with the flags of a command.

    Typed flags and the environment apply to all runs.
    """

    def __init__(self, config: GridConfig, ctx: typer.Context) -> None:
        self._config = config
        self._ctx = ctx
        self._options: EngineOptions = ctx.obj[EngineOptions]
        self._fixed = {name: ctx.params[name] for name in _OF_RUNS if name in self._options.typed}
        self._of_engines = engine_params().keys()
        names = {*WHOLE, *_OF_RUNS, *self._of_engines}
        self._flags = {str(p.name): p for p in ctx.command.params if p.name in names}
        self._left_out: Counter[str] = Counter()
        self._template = cache(Template.load)

    @property
    def left_out(self) -> list[str]:
        """Notes on the runs that `cells` left out, one per reason."""
        return [
            f"left out: {f'{count} runs of ' if count > 1 else ''}{reason}"
            for reason, count in self._left_out.items()
        ]

    def setting(self, key: str, value: object) -> Setting | None:
        """Return the setting with this key and value, or None."""
        settings = (each for _, values in self._config.every() for each in values)
        return next((s for s in settings if s.key == key and s.text == str(value)), None)

    @contextmanager
    def at_line(self, in_file: Mapping[str, Any], key: str) -> Iterator[None]:
        """Add the line of a setting to its errors; `key` is the setting of those that name none."""
        try:
            yield
        except InputError as error:
            name = str(error.field if error.field in WHOLE else key)
            place = self.setting(name, in_file.get(name))
            error.where = error.where or (None if place is None else place.where)
            raise

    def whole(self) -> dict[str, Any]:
        """Return the settings of the whole grid, by parameter name."""
        found: dict[str, Any] = {}
        for key, values in self._config.every():
            if key == NAME:
                continue
            for each in values:
                self._value(each)
            if key in WHOLE:
                first = values[0]
                if first.axis or first.own:
                    raise first.error("must have one value for all runs, at the top of the file.")
                if first.text is not None:
                    found[key] = self._value(first)
        return found

    def cells(self) -> list[Cell]:
        """Return the runs of the grid without duplicates.

        Settings that an engine does not accept are left out of its runs, except those in an item of
        ``runs``.
        """
        used: set[str] = set()
        cells: dict[str, Cell] = {}
        names: dict[str, str] = {}
        for settings in self._config.cells():
            cell = self._cell(settings, used)
            if cell is None:
                continue
            name, data = cell.plan.name, cell.plan.data
            if name is not None and names.setdefault(name, cell.where) != cell.where:
                raise settings[NAME].error(f"{name!r} is already used at {names[name]}.")
            same = cells.setdefault(cell.plan.folder, cell)
            if same.plan.data.resolve() != data.resolve():
                raise InputError(
                    f"has two files with the same name, {same.plan.data} and {data}. Rename one.",
                    field="data",
                    where=cell.where,
                )
        for key, values in self._config.settings.items():
            if key in self._of_engines and key not in used and values[0].text is not None:
                is_rule = key in RULES and CONSTRAINT in self._config.settings
                reason = " or the constraint is off" if is_rule else ""
                raise values[0].error(f"has no effect: no engine accepts it{reason}.")
        if not cells:
            raise InputError(
                "Nothing to run: the settings exclude each other.", where=self._config.path
            )
        self._check_data(cell.plan for cell in cells.values())
        labels = labels_of([settings_of(cell.plan) for cell in cells.values()])
        return [
            cell._replace(label=cell.plan.name or label)
            for cell, label in zip(cells.values(), labels, strict=True)
        ]

    def _value(self, setting: Setting) -> Any:
        flag = self._flags.get(setting.key)
        if flag is None:
            hint = did_you_mean(setting.key, [*self._flags, NAME, RUNS])
            raise setting.error("is not a valid key.", hint)
        if setting.text is None:
            return None
        if not setting.text:
            raise setting.error("must not be empty.")
        try:
            return flag.process_value(self._ctx, setting.text)
        except typer.BadParameter as error:
            raise setting.error(
                f"cannot be {setting.text!r:.80}: {plain_message(error).rstrip('.')}."
            ) from error

    def _cell(self, settings: Mapping[str, Setting], used: set[str]) -> Cell | None:
        ignored = {*WHOLE, *self._fixed, *(self._options.typed & self._of_engines)}
        own = {
            key: each
            for key, each in settings.items()
            if key not in ignored and each.text is not None
        }
        place = own.get(ENGINE) or next(
            (each for each in own.values() if each.own), next(iter(settings.values()))
        )
        values = {key: self._value(each) for key, each in own.items() if key != NAME}
        values |= self._fixed
        title = own[NAME].text if NAME in own else None
        try:
            engine = str(values.get("engine") or "extractive")
            accepted = self._accepted(engine, own, values)
            used |= accepted
            if values.get("data") is None:
                raise InputError(
                    "is missing. Give a QuoteSum file.", field="data", where=self._config.path
                )
            given = replace(
                self._options,
                values={**self._options.values, **{name: values[name] for name in accepted}},
                optional=self._options.optional - accepted,
                typed=self._options.typed | accepted,
            )
            choice = choose(engine, given)
            data = Path(values["data"])
            plan = Plan(data, engine, choice.options, values.get("limit"), choice.prompts, title)
            plan.check()
            reason = self._check(choice, own)
        except InputError as error:
            raise self._placed(error, own.get(error.field or "", place)) from error
        except SemqaError as error:
            raise type(error)(f"{place.where}: {error}") from error
        if reason is not None:
            self._left_out[reason] += 1
            return None
        return Cell(plan, title or "", place.where)

    def _accepted(
        self, engine: str, own: Mapping[str, Setting], values: Mapping[str, Any]
    ) -> frozenset[str]:
        """Return the names of the options to pass to this engine."""
        accepted = accepted_options(engine)
        if accepted is None:
            if engine != HUMAN:
                check_options(engine)  # raises, because the engine is unknown
            accepted = ()
        usable = {*accepted, *(PROMPT_OPTIONS if "prompts" in accepted else ())}
        # Options without effect in this run are dropped, unless they are in its own item.
        unused: set[str] = set()
        if "prompts" in accepted and values.get("shots") == 0:
            unused = {"exemplars", "encoder"}
        elif "prompts" in accepted and not str(values.get("exemplars") or "knn").startswith("knn"):
            unused = {"encoder"}
        if values.get(CONSTRAINT) == "off" and CONSTRAINT in accepted:
            unused |= set(RULES)
        named = own.keys() & self._of_engines
        return frozenset(n for n in named if own[n].own or (n in usable and n not in unused))

    def _check(self, choice: Choice, own: Mapping[str, Setting]) -> str | None:
        """Check the settings of a run without loading a model; return a reason to leave it out."""
        if choice.engine == HUMAN:
            return None
        check_options(choice.engine, choice.options)
        if choice.prompts is None:
            return None
        template: Template | None = None
        try:
            template = self._template(choice.prompts.template)
            if not choice.constrained:
                return None
            check_template(template)
        except InputError as error:
            switch, place = own.get(CONSTRAINT), own.get("prompt")
            if template is not None and switch is not None and switch.axis:
                return f"{choice.engine}: {error}"
            raise self._placed(error, place) from error
        return None

    def _placed(self, error: InputError, setting: Setting | None) -> InputError:
        """Add the line of a setting to an error about it, unless the error has one."""
        if setting is None or (error.where or "").startswith(f"{self._config.path}:"):
            return error
        if error.where is not None:
            return InputError(str(error), where=setting.where)
        error.where = setting.where
        return error

    def _check_data(self, plans: Iterable[Plan]) -> None:
        """Read each file once, so that errors in it are found before the first run."""
        seen: set[Path] = set()
        for plan in plans:
            files = {"data": plan.data}
            if plan.prompts is not None and plan.prompts.count and plan.prompts.train is not None:
                files["train"] = plan.prompts.train
            for key, path in files.items():
                if path in seen:
                    continue
                seen.add(path)
                try:
                    if key == "data":
                        plan.questions()
                    else:
                        read_quotesum(path)
                except InputError as error:
                    raise self._placed(error, self.setting(key, path)) from error
