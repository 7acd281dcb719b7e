"""How questions are put to a model: settings as a user gives them, and the builder they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from semqa.errors import InputError
from semqa.prompting import Form, PromptBuilder, ShippedExemplars, Template
from semqa.retrieval.encoder import DEFAULT_ENCODER, SentenceEncoder
from semqa.retrieval.exemplars import (
    ExemplarPool,
    check_strategy,
    create_selector,
    named_qids,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from semqa.retrieval.encoder import TextEncoder


class ExemplarShelf:
    """Makes each encoder and reads each file once, as long as it lives."""

    def __init__(
        self, on_progress: Callable[[int, int], None] = lambda _done, _total: None
    ) -> None:
        self._on_progress = on_progress
        self._encoders: dict[str, TextEncoder] = {}
        self._pools: dict[tuple[Path, tuple[tuple[str, str], ...]], ExemplarPool] = {}

    def encoder(self, name: str) -> TextEncoder:
        """Return the encoder of a name."""
        if name not in self._encoders:
            self._encoders[name] = SentenceEncoder(name, on_progress=self._on_progress)
        return self._encoders[name]

    def pool(self, train: Path, asked: Iterable[tuple[str, str]]) -> ExemplarPool:
        """Return the exemplars of a QuoteSum file, for questions of which none may see itself."""
        from semqa.data.quotesum import read_quotesum

        key = train, tuple(asked)
        if key not in self._pools:
            self._pools[key] = ExemplarPool.of(read_quotesum(train), key[1])
        return self._pools[key]


DEFAULT_SHOTS = 5
"""Most exemplars in a prompt, where no number is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSettings:
    """Settings of prompts; None means that one was not given.

    Attributes:
        prompt: a template's name or path; by default ``qsum`` with exemplars, else ``zero-shot``.
        shots: how many exemplars. By default those that are named, or else `DEFAULT_SHOTS`, fewer
            if the `train` file has fewer.
        exemplars: how they are chosen (`semqa.retrieval.create_selector`); by default ``knn``.
        train: the QuoteSum file that they come from; by default those that come with semqa.
        encoder: the model that ``knn`` compares questions with.
        form: as messages or as one text; by default as the model likes it.

    Raises:
        InputError: a setting is not usable, or has nothing to act on.
    """

    prompt: str | None = None
    shots: int | None = None
    exemplars: str | None = None
    train: Path | None = None
    encoder: str | None = None
    form: Form | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.train is None and (self.shots or 0) > DEFAULT_SHOTS:
            raise InputError(
                f"must be at most {DEFAULT_SHOTS} without a file of solved questions (train), got {self.shots}.",
                field="shots",
                value=self.shots,
            )
        for name in ("exemplars", "encoder"):
            if getattr(self, name) is not None and not (self.count and self.train):
                raise InputError(
                    "needs a file of solved questions (train), and shots.",
                    field=name,
                    value=getattr(self, name),
                )
        check_strategy(self.strategy)
        if self.encoder is not None and self.strategy != "knn":
            raise InputError(
                f"is for knn exemplars only; they are {self.strategy}.",
                field="encoder",
                value=self.encoder,
            )

    @property
    def count(self) -> int:
        """How many exemplars a prompt shows; at most, where `shots` was not given."""
        if self.shots is not None:
            return self.shots
        return len(named_qids(self.strategy)) or DEFAULT_SHOTS

    @property
    def strategy(self) -> str:
        """How exemplars are chosen."""
        return self.exemplars or ("knn" if self.train else "fixed")

    @property
    def template(self) -> str:
        """The template's name or path."""
        return self.prompt or ("qsum" if self.count else "zero-shot")

    def create_builder(
        self,
        asked: Iterable[tuple[str, str]] = (),
        on_progress: Callable[[int, int], None] = lambda _done, _total: None,
        shelf: ExemplarShelf | None = None,
    ) -> PromptBuilder:
        """Read what is needed and make the builder.

        Args:
            asked: text and qid of the questions that will be asked: none is an exemplar of itself.
            shelf: has encoders and files that several builders share; `on_progress` is its business
                then.
        """
        # First what is quick to find wrong.
        template = Template.load(self.template)
        if self.train is None:
            return PromptBuilder(template, ShippedExemplars(), self.count, self.form or "auto")
        if not self.count:
            return PromptBuilder(template, form=self.form or "auto")
        held = shelf or ExemplarShelf(on_progress)
        selector = create_selector(
            self.strategy,
            held.pool(self.train, asked),
            seed=self.seed,
            up_to=self.shots is None,
            encoder=lambda: held.encoder(self.encoder or DEFAULT_ENCODER),
        )
        return PromptBuilder(template, selector, self.count, self.form or "auto")
