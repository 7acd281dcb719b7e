"""The keys of a grid's file: which there are, and how each one's value is read, as its flag's is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from semqa.bench.grid.config import NAME, POLICY, RUNS
from semqa.cli.limit import read_limit
from semqa.cli.lm_eval_flags import ALSO, elsewhere, is_auto
from semqa.cli.nearest import nearest_names
from semqa.cli.ray_options import Distributed
from semqa.cli.read_option import OptionType, engine_option_types
from semqa.errors import InputError

if TYPE_CHECKING:
    from semqa.bench.grid.config import Setting

__all__ = ["WHOLE", "KeyReader", "left_to_engine", "shown"]

WHOLE = {
    "out": OptionType(Path),
    "predict_only": OptionType(bool),
    "retry_failed": OptionType(bool),
    "judge": OptionType(str),
    "judge_cache": OptionType(Path),
    "no_judge_cache": OptionType(bool),
    "judge_device": OptionType(str),
    "judge_url": OptionType(str),
    "distributed": OptionType(Distributed),
    "ray_address": OptionType(str),
    "workers": OptionType(str),
    "num_cpus": OptionType(float),
    "num_gpus": OptionType(float),
}
"""Keys that are of the whole grid, not of a run."""


class _Limit(OptionType):
    def read(self, text: str) -> Any:
        return read_limit(text)


_OF_RUNS = {
    "data": OptionType(Path),
    "engine": OptionType(str),
    "limit": _Limit(int, 1),
    "gen_kwargs": OptionType(str),
}


class KeyReader:
    """Reads keys and values.

    Attributes:
        of_engines: names of the options that engines take.
    """

    def __init__(self) -> None:
        of_engines = engine_option_types()
        self._known = {**WHOLE, **_OF_RUNS, **of_engines}
        self.of_engines = of_engines.keys()

    def name(self, setting: Setting) -> str:
        """Return the option that a key means.

        Raises:
            InputError: it means none.
        """
        name = ALSO.get(setting.key, setting.key)
        if name not in self._known:
            hint = elsewhere(setting.key, lambda option: option.replace("_", "-"))
            if hint is None:
                near = nearest_names(setting.key, [*self._known, *ALSO, NAME, POLICY, RUNS])
                hint = f"did you mean {' or '.join(near)}?" if near else ""
            raise InputError(
                f"{setting.where}: unknown key: got {shown(setting)!r}, expected the name of a flag, "
                f"policy or runs; {hint or 'see semqa bench quotesum --help'}"
            )
        return name

    def value(self, setting: Setting) -> Any:
        """Return a key's value.

        Raises:
            InputError: the key means nothing, or its value cannot be read.
        """
        try:
            return self._known[self.name(setting)].read(setting.text or "")
        except ValueError as error:
            raise InputError(
                f"{setting.where}: {shown(setting)}: got {setting.text!r:.80}, expected {error}; "
                "correct it"
            ) from error


def left_to_engine(setting: Setting) -> bool:
    """Tell whether a setting counts as not given."""
    return setting.text is None or (setting.key == "batch_size" and is_auto(setting.text))


def shown(setting: Setting) -> str:
    """Return a key as messages spell it."""
    return setting.key.replace("_", "-")
