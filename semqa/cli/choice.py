"""The engine and its options: named, saved with `semqa models use`, or the built-in default.

A command of the class ``taking(EngineOptions)`` has the options of all engines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn

from typer import Option

from semqa.cli.command import declared
from semqa.cli.options import flag
from semqa.cli.output import progress_bar, say, waiting
from semqa.data.files import own_folder
from semqa.decoding.policy import RULES_PANEL, QuotePolicy
from semqa.engines import (
    ConstrainedEngine,
    Engine,
    accepted_options,
    check_options,
    close_engine,
    create_engine,
    engines_with,
)
from semqa.engines.options import OpenAIOptions, TransformersOptions, VllmOptions
from semqa.errors import InputError
from semqa.retrieval.settings import PromptSettings

if TYPE_CHECKING:
    from semqa.prompting import PromptBuilder

BUILT_IN = "extractive"


@dataclass(frozen=True, slots=True)
class _OtherOptions:
    """Options of the extractive engine, and the endpoint of `OpenAIOptions`."""

    max_words: Annotated[
        int,
        Option(min=1, help="Maximum words in an answer (extractive).", rich_help_panel=RULES_PANEL),
    ] = 100
    coverage: Annotated[
        float | None,
        Option(
            min=0,
            max=1,
            help="How readily to quote less relevant sources (extractive).",
            show_default="the engine's",
            rich_help_panel=RULES_PANEL,
        ),
    ] = None
    base_url: Annotated[
        str | None,
        Option(
            help="OpenAI-compatible endpoint; set its key in SEMQA_API_KEY or OPENAI_API_KEY.",
            envvar="SEMQA_BASE_URL",
            metavar="URL",
        ),
    ] = None


@cache
def engine_params() -> dict[str, Any]:
    """Return the command parameters of the options, by name."""
    found: dict[str, Any] = {}
    for each in (PromptSettings, _OtherOptions, OpenAIOptions, TransformersOptions, VllmOptions):
        found = {**{param.name: param for param in declared(each).params}, **found}
    return found


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The engine options that were given.

    Attributes:
        values: the values by option name, as typed.
        optional: options to drop if the engine does not accept them, such as those from the
            environment.
        typed: all options of the command that were given on the command line.
    """

    values: dict[str, Any] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()
    typed: frozenset[str] = frozenset()

    @classmethod
    def params(cls) -> list[Any]:
        """Return the parameters of commands."""
        return list(engine_params().values())

    @classmethod
    def collect(cls, ctx: Any, values: dict[str, Any]) -> EngineOptions:
        """Return the options that were given; those from the environment are optional."""
        sources = {each.name: ctx.get_parameter_source(each.name) for each in ctx.command.params}
        by = {
            kind: frozenset(n for n, source in sources.items() if source and source.name == kind)
            for kind in ("COMMANDLINE", "ENVIRONMENT", "DEFAULT")
        }
        given = {name: value for name, value in values.items() if name not in by["DEFAULT"]}
        return cls(given, by["ENVIRONMENT"] & given.keys(), by["COMMANDLINE"])

    def given(self) -> dict[str, Any]:
        """Return the values, converted for engines and prompts."""
        values = dict(self.values)
        if "train" in values:
            values["train"] = Path(values["train"])
        if "quote_from" in values:
            values["quote_from"] = QuotePolicy(quote_from=values["quote_from"]).quote_from
        if "engine_args" in values:
            values["engine_args"] = _object("engine_args", values["engine_args"])
        return values


def _object(name: str, text: str) -> dict[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(
            f'must be a JSON object such as {{"max_num_seqs": 64}}, got {text!r}.',
            field=name,
            value=text,
        )
    return found


class Saved(NamedTuple):
    """A saved engine and its options, as typed."""

    engine: str
    options: Mapping[str, Any]


def saved_path() -> Path:
    """Return the path of the saved engine, such as ``~/.config/semqa/engine.json``."""
    return own_folder("config") / "engine.json"


def saved_default() -> Saved | None:
    """Return the saved engine, or None."""
    path = saved_path()
    try:
        value = json.loads(path.read_text("utf-8"))
        engine, options = value["engine"], value["options"]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unreadable(path) from error
    if not isinstance(engine, str) or not isinstance(options, dict):
        raise _unreadable(path)
    return Saved(engine, options)


def save_default(engine: str, options: EngineOptions) -> Saved:
    """Save an engine with its typed options; the built-in default deletes the file."""
    given = {name: options.values[name] for name in sorted(options.typed & options.values.keys())}
    if "train" in given:
        given["train"] = str(Path(given["train"]).absolute())
    saved, path = Saved(engine, given), saved_path()
    try:
        if engine == BUILT_IN and not given:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(saved._asdict(), indent=2) + "\n", "utf-8")
    except OSError as error:
        raise InputError(f"{error.strerror or error}.", where=str(path)) from error
    return saved


def with_default(engine: str | None, options: EngineOptions) -> tuple[str, EngineOptions]:
    """Return the engine to use and its options: the saved ones if no engine is named.

    Typed options override saved ones, and saved ones override the environment.
    """
    if engine is not None:
        return engine, options
    saved = saved_default()
    if saved is None:
        return BUILT_IN, options
    if not saved.options.keys() <= engine_params().keys():
        raise _unreadable(saved_path())
    added = {
        name: value
        for name, value in saved.options.items()
        if name not in options.values or name in options.optional
    }
    optional = options.optional - added.keys()
    return saved.engine, replace(options, values={**options.values, **added}, optional=optional)


def _unreadable(path: Path) -> InputError:
    return InputError(
        'Invalid saved engine. Run "semqa models use ENGINE" to replace it.', where=str(path)
    )


PROMPT_OPTIONS = ("prompt", "shots", "train", "exemplars", "encoder", "form")
RULES = ("free", "boundary", "quote_bias", "quote_from")
"""Options of the constraint; without it they have no effect."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An engine with its settings, before it is loaded."""

    engine: str
    options: Mapping[str, object]
    prompts: PromptSettings | None

    @property
    def constrained(self) -> bool:
        """Whether the engine is a language model limited to verbatim quotes."""
        return self.options.get("constraint", "off") != "off"

    def create(self, questions: Sequence[str] = ()) -> Engine:
        """Load the engine; exemplars of the questions are selected before the model loads."""
        if self.prompts is None:
            return create_engine(self.engine, self.options)
        with embedding_bar(self.prompts) as on_progress:
            builder = self.prompts.create_builder(on_progress=on_progress)
            builder.prepare(questions)
        self.say_citations(builder)
        with waiting(f"loading {self.engine}"):
            return create_engine(self.engine, {**self.options, "prompts": builder})

    @contextmanager
    def opened(self, questions: Sequence[str] = (), *, warm: bool = True) -> Iterator[Engine]:
        """Load the engine for a block, and prepare its constraint if `warm`."""
        engine = self.create(questions)
        try:
            if warm and self.constrained:
                warm_up(engine)
            yield engine
        finally:
            close_engine(engine)

    def say_citations(self, prompts: PromptBuilder | None) -> None:
        """Warn that citations count as malformed marks, if the prompt asks for citations."""
        if prompts is not None and prompts.template.answers == "citations" and not self.constrained:
            say(
                f"prompt {prompts.template.name} asks for citations such as [1], which count as "
                "malformed marks because they quote nothing"
            )


def warm_up(engine: Engine) -> None:
    """Prepare the constraint of an engine, if it has one, with a status message."""
    if isinstance(engine, ConstrainedEngine):
        with waiting("preparing the constraint") as tell:
            engine.warm_up(tell)


def choose(engine: str, given: EngineOptions) -> Choice:
    """Split options into those of the engine and those of prompts.

    Raise if the engine does not accept an option. Optional ones are dropped instead.
    """
    accepted = accepted_options(engine)
    if accepted is None:  # unknown, so `Choice.create` raises; or the benchmark's human row
        required = {n: v for n, v in given.given().items() if n not in given.optional}
        return Choice(engine, required, None)
    usable = {*accepted, *(PROMPT_OPTIONS if "prompts" in accepted else ())}
    options = {n: v for n, v in given.given().items() if n in usable or n not in given.optional}
    for name, value in options.items():
        if name not in usable:
            _reject(engine, name, value, accepted)
    if "prompts" not in accepted:
        return Choice(engine, options, None)
    own = {name: options.pop(name) for name in PROMPT_OPTIONS if name in options}
    own = _with_learned(engine, own, given.optional)
    own["seed"] = options.get("seed", 0)
    if "encoder" in given.optional:
        plain = PromptSettings(**{k: v for k, v in own.items() if k != "encoder"})
        if not plain.count or plain.strategy != "knn":
            del own["encoder"]
    settings = PromptSettings(**own)
    if "base_url" in accepted and "base_url" not in options:
        from semqa.engines.openai.client import default_url

        options["base_url"] = default_url()  # records should name the endpoint
    if "constraint" not in accepted:
        return Choice(engine, options, settings)
    options.setdefault("constraint", "on")
    if options["constraint"] == "off":
        unused = [name for name in RULES if options.pop(name, None) is not None]
        if unused:
            say(f"no effect with --constraint off: {', '.join(map(flag, unused))}")
    return Choice(engine, options, settings)


def choose_each(
    engines: Sequence[str] | None, given: EngineOptions
) -> tuple[tuple[str, ...], Callable[[str], Choice]]:
    """Return the engines, or the default one, and a function that returns the choice of an engine.

    Each engine gets the options that it accepts; the first engine must accept those that none of
    the others accepts.
    """
    first, given = with_default(engines[0] if engines else None, given)
    names = tuple(dict.fromkeys((first, *(engines or ())[1:])))
    lenient = replace(given, optional=frozenset(given.given()))
    elsewhere = {name for each in names[1:] for name in accepted_options(each) or ()}
    if "prompts" in elsewhere and "prompts" not in (accepted_options(first) or ()):
        elsewhere |= {*PROMPT_OPTIONS}
    strict = replace(given, optional=given.optional | (elsewhere & lenient.optional))

    @cache  # it may warn
    def choice(engine: str) -> Choice:
        return choose(engine, strict if engine == first else lenient)

    for each in map(choice, names):
        check_options(each.engine, each.options)
    return names, choice


def _with_learned(
    engine: str, own: Mapping[str, object], optional: Collection[str]
) -> dict[str, Any]:
    """Return the prompt options, with the settings of a trained model where none are given."""
    from semqa.engines.model.options import learned_settings

    kind, _, model = engine.partition(":")
    learned = learned_settings(model) if kind in ("transformers", "vllm") else {}
    if own.keys() & {"train", "exemplars"}:
        learned.pop("shots", None)
    return {**own, **learned, **{name: own[name] for name in own if name not in optional}}


def _reject(engine: str, name: str, value: object, accepted: Sequence[str]) -> NoReturn:
    expected = "it takes none"
    if "prompts" in accepted:
        expected = f"it belongs to {' and '.join(engines_with(name))}"
    elif accepted:
        expected = f"it takes {', '.join(map(flag, accepted))}"
    raise InputError(
        f"is not an option of the engine {engine}; {expected}.", field=name, value=value
    )


@contextmanager
def embedding_bar(prompts: PromptSettings) -> Iterator[Callable[[int, int], None]]:
    """Show a bar while questions are embedded, if the prompts need embeddings."""
    if not (prompts.count and prompts.strategy == "knn"):
        yield lambda _done, _total: None
        return
    with progress_bar("embedding questions", "examples") as update:
        yield update
