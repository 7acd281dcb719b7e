"""Prompt templates: Jinja files with a macro for each part of a prompt."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, get_args

import semqa
from semqa.data.files import ByteBudget, decode_text, open_input
from semqa.errors import InputError
from semqa.history import Exchange, recent
from semqa.prompting.prompt import Answers, Exemplar, Form, Message, Prompt, Spelling
from semqa.quotes import QuotedAnswer, Source
from semqa.quotes.citations import sentence_citations


class SourceView(NamedTuple):
    """A source in a template."""

    number: int
    title: str
    text: str
    url: str
    context: str = ""
    """The headings and table header above a passage, on one line; it cannot be quoted."""


class TaskView(NamedTuple):
    """A question with its sources in a template and, for an exemplar, the answer."""

    question: str
    sources: tuple[SourceView, ...]
    answer: str = ""


def _view(
    question: str, sources: Sequence[Source], spell: Callable[[str], str], answer: str = ""
) -> TaskView:
    """Return a question with its non-blank sources; `spell` escapes control tokens."""
    shown = (
        # A title with line breaks could look like the next source.
        SourceView(
            number,
            one_line(spell(source.title)),
            spell(source.text),
            one_line(source.url or ""),
            one_line(spell(source.context.replace("\n", " › "))),
        )
        for number, source in enumerate(sources, 1)
        if source.text.strip() or source.title.strip()
    )
    return TaskView(one_line(spell(question)), tuple(shown), spell(answer).strip())


def one_line(text: str) -> str:
    """Collapse white space into single spaces."""
    return " ".join(text.split())


_FIRST_LINE = "semqa prompt"
_COMMENT = re.compile(r"\{#[-+]?(.*?)[-+]?#\}", re.DOTALL)
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]*")


def _read_header(text: str, where: str) -> dict[str, str]:
    """Return the fields of the comment at the beginning, if its first line is ``semqa prompt``."""
    comment = _COMMENT.match(text.lstrip())
    lines = comment[1].strip("\n").splitlines() if comment else []
    if not lines or lines[0].strip() != _FIRST_LINE:
        return {}
    first = text[: text.find(_FIRST_LINE)].count("\n") + 1
    found: dict[str, str] = {}
    for number, line in enumerate(lines[1:], first + 1):
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not (key or colon):
            continue
        if not colon or key not in _RULES or key in found:
            raise InputError(
                f"Invalid header line {line.strip()!r}; expected each of {', '.join(_RULES)} at most once, with a colon.",
                where=f"{where}:{number}",
            )
        rule, fits = _RULES[key]
        if not fits(value):
            raise InputError(
                f"must be {rule}, got {value!r}.", field=key, where=f"{where}:{number}"
            )
        found[key] = value
    return found


def _is_list_of_texts(value: str) -> bool:
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, list) and all(isinstance(text, str) and text for text in found)


_RULES: dict[str, tuple[str, Callable[[str], bool]]] = {
    "name": ("a name", bool),
    "version": ("digits, letters and dots", lambda v: _VERSION.fullmatch(v) is not None),
    "answers": (" or ".join(get_args(Answers)), lambda v: v in get_args(Answers)),
    "about": ("some words", bool),
    "stop": ('a JSON list of texts, such as ["\\nQuestion:"]', _is_list_of_texts),
}


MAX_TEMPLATE_BYTES = 2**20
"""Maximum size of a template file."""

_SUFFIX = ".jinja"
_MACROS: dict[str, tuple[str, ...]] = {
    "system": (),
    "user": ("question", "sources"),
    "assistant": ("answer",),
    "completion": ("question", "sources", "exemplars"),
}
"""The macros of a template and their arguments. Only `user` is required."""


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """A valid template, created by `load` or `parse`.

    Attributes:
        name: the name in the header, or the file's name.
        version: digits, letters and dots; may be empty.
        raw: the content of the file, with the digest `sha256`.
    """

    name: str
    version: str
    answers: Answers
    stop: tuple[str, ...]
    raw: bytes
    sha256: str
    where: str
    _parts: Mapping[str, Any]

    @staticmethod
    def names() -> list[str]:
        """Return the names of the templates included in semqa."""
        found = (path.name for path in shipped_folder().iterdir())
        return sorted(name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX))

    @classmethod
    def load(cls, template: Path | str) -> Template:
        """Load a template by name or from a file.

        Args:
            template: one of `names`, or a path. For a file with one of these names, write
                ``./NAME``.

        Raises:
            InputError: the template does not exist, cannot be read, or fails on a simple question.

        Example:
            >>> Template.load("qsum").answers
            'quotes'
        """
        given = str(template)
        if given in cls.names():
            return _load_shipped(given)
        path = Path(template)
        if not (path.exists() or path.suffix or path.name != given):
            known = cls.names()
            close = difflib.get_close_matches(given, known, n=1, cutoff=0.5)
            raise InputError(
                f"Unknown prompt {given!r}.",
                hint=f"Did you mean {close[0]}?"
                if close
                else f"Choose {', '.join(known)} or the path of a template.",
            )
        with open_input(path, ByteBudget(MAX_TEMPLATE_BYTES)) as file:
            return cls.parse(file.read_all(), file.name, path.stem)

    @classmethod
    def parse(cls, raw: bytes, where: str, name: str) -> Template:
        """Parse a template."""
        text = decode_text(raw, where)
        header = _read_header(text, where)
        template = cls(
            name=header.get("name", name),
            version=header.get("version", ""),
            answers="citations" if header.get("answers") == "citations" else "quotes",
            stop=tuple(json.loads(header.get("stop", "[]"))),
            raw=raw,
            sha256=hashlib.sha256(raw).hexdigest(),
            where=where,
            _parts=_compile(text, where),
        )
        template._test_fill()
        return template

    def fill(
        self,
        question: str,
        sources: Sequence[Source],
        exemplars: Sequence[Exemplar] = (),
        form: Form = "auto",
        spelling: Spelling | None = None,
        history: Sequence[Exchange] = (),
    ) -> Prompt:
        """Fill the template. Exemplars keep the order given.

        The last exchanges of a conversation follow the exemplars. They are shown without sources,
        because their answers quote other ones.
        """
        spell = spelling or Spelling()
        task = _view(question, sources, spell)
        earlier = recent(history)
        shown = [
            *(_view(each.question, each.sources, spell, self._answer(each)) for each in exemplars),
            *(_view(each.question, (), spell, each.answer) for each in earlier),
        ]
        messages = self._messages(task, shown)
        return Prompt(
            messages=messages,
            text=self._completion(task, shown, messages),
            form=form,
            stop=self.stop,
            answers=self.answers,
            exemplars=tuple(exemplars),
            template=self.name,
            version=self.version,
            sha256=self.sha256,
            history=earlier,
            sources=tuple(sources),
        )

    def _answer(self, exemplar: Exemplar) -> str:
        """Return the answer of an exemplar in the template's format."""
        if self.answers == "quotes":
            return exemplar.answer
        parsed = QuotedAnswer.parse(exemplar.answer, exemplar.sources)
        return sentence_citations(parsed, only_verified=False)

    def _messages(self, task: TaskView, exemplars: Sequence[TaskView]) -> tuple[Message, ...]:
        if "user" not in self._parts:
            return (Message("user", self._whole(task, exemplars)),)
        system = self._call("system") if "system" in self._parts else ""
        messages = [Message("system", system)] if system else []
        for each in exemplars:
            messages.append(Message("user", self._user(each)))
            answer = each.answer
            if "assistant" in self._parts:
                answer = self._call("assistant", answer=answer)
            messages.append(Message("assistant", answer))
        return (*messages, Message("user", self._user(task)))

    def _completion(
        self, task: TaskView, exemplars: Sequence[TaskView], messages: Sequence[Message]
    ) -> str:
        if "user" not in self._parts:
            return self._whole(task, exemplars)
        if "completion" not in self._parts:
            return "\n\n".join(message.content for message in messages)
        return self._call(
            "completion", question=task.question, sources=task.sources, exemplars=exemplars
        )

    def _user(self, task: TaskView) -> str:
        return self._call("user", question=task.question, sources=task.sources)

    def _whole(self, task: TaskView, exemplars: Sequence[TaskView]) -> str:
        values = {"question": task.question, "sources": task.sources, "exemplars": exemplars}
        return self._run(lambda: str(self._parts[""].make_module(values)))

    def _call(self, name: str, **values: object) -> str:
        macro = self._parts[name]
        return self._run(lambda: str(macro(**{k: values[k] for k in macro.arguments})))

    def _run(self, render: Any) -> str:
        try:
            return str(render()).strip()
        except Exception as error:  # a template may fail in any way
            raise _failure(error, self.where) from error

    def _test_fill(self) -> None:
        """Fill the template once, to find errors before a model is loaded."""
        sources = [Source("First body.", "First title"), Source("Second body.")]
        exemplar = Exemplar("A solved question?", tuple(sources), "[ 1 First body. ]")
        for exemplars in ((), (exemplar, exemplar)):
            prompt = self.fill("The question?", sources, exemplars)
            for shown in (prompt.messages[-1].content, prompt.text):
                for part in ("The question?", "First title", "First body.", "Second body."):
                    if part not in shown:
                        what = "the question" if part.endswith("?") else "titles and texts"
                        raise InputError(
                            f"The template omits {what}. Its output begins with {one_line(shown)[:60]!r}.",
                            where=self.where,
                            hint="Add {{ question }} and a loop over sources.",
                        )


def shipped_folder() -> Traversable:
    """Return the folder of the templates included in semqa.

    In an installed semqa it is the package `semqa.prompts`. In a checkout it is a folder next to the
    package, which Python does not find if the checkout shadows an installed semqa.
    """
    try:
        return files("semqa.prompts")
    except ModuleNotFoundError:
        beside = Path(semqa.__file__).resolve().parents[1] / "prompts"
        if (beside / f"zero-shot{_SUFFIX}").is_file():
            return beside
        raise


@cache
def _load_shipped(name: str) -> Template:
    raw = shipped_folder().joinpath(name + _SUFFIX).read_bytes()
    return Template.parse(raw, f"{name}{_SUFFIX}", name)


def _compile(text: str, where: str) -> dict[str, Any]:
    """Return the macros by name; if there is no `user`, the whole template under the name ""."""
    from jinja2 import StrictUndefined, TemplateSyntaxError, nodes
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    try:
        tree = environment.parse(text)
        whole = environment.from_string(text)
    except TemplateSyntaxError as error:
        raise InputError(
            f"Invalid Jinja: {error.message}.", where=f"{where}:{error.lineno}"
        ) from error
    except RecursionError as error:
        raise InputError("Invalid Jinja: nested too deeply.", where=where) from error
    macros = {node.name: node for node in tree.body if isinstance(node, nodes.Macro)}
    if "user" not in macros:
        for name in _MACROS:
            if name in macros:
                raise InputError(
                    f"The macro {name} requires the macro user(question, sources).",
                    where=f"{where}:{macros[name].lineno}",
                )
        return {"": whole}
    for name, allowed in _MACROS.items():
        if name in macros:
            _check_arguments(macros[name], allowed, where)
    try:
        module = whole.make_module()
    except Exception as error:  # a template may fail in any way
        raise _failure(error, where) from error
    return {name: getattr(module, name) for name in _MACROS if name in macros}


def _check_arguments(macro: Any, allowed: tuple[str, ...], where: str) -> None:
    for argument in macro.args:
        if argument.name not in allowed:
            raise InputError(
                f"The macro {macro.name} has the unknown argument {argument.name!r}. Allowed: {', '.join(allowed) or 'none'}.",
                where=f"{where}:{argument.lineno}",
            )


def _failure(error: Exception, where: str) -> InputError:
    line = _line(error.__traceback__)
    place = where if line is None else f"{where}:{line}"
    message = (str(error) or type(error).__name__).replace(f"{__name__}.", "").rstrip(".")
    return InputError(
        f"The template failed: {message}.",
        where=place,
        hint="docs/prompts.md lists what a template may use.",
    )


def _line(trace: TracebackType | None) -> int | None:
    """Return the innermost line of the template in a traceback."""
    line = None
    for frame, number in traceback.walk_tb(trace):
        template = frame.f_globals.get("__jinja_template__")
        if template is not None:
            line = template.get_corresponding_lineno(number)
    return line
