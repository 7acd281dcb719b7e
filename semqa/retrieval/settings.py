"""Prompt settings, and the prompt builder that they configure."""

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


class ExemplarCache:
    """A cache of encoders and exemplar files for several builders."""

    def __init__(
        self, on_progress: Callable[[int, int], None] = lambda _done, _total: None
    ) -> None:
        self._on_progress = on_progress
        self._encoders: dict[str, TextEncoder] = {}
        self._pools: dict[tuple[Path, tuple[tuple[str, str], ...]], ExemplarPool] = {}

    def encoder(self, name: str) -> TextEncoder:
        """Return an encoder by its name."""
        if name not in self._encoders:
            self._encoders[name] = SentenceEncoder(name, on_progress=self._on_progress)
        return self._encoders[name]

    def pool(self, train: Path, asked: Iterable[tuple[str, str]]) -> ExemplarPool:
        """Return the exemplars in a QuoteSum file; no question in `asked` is shown its own answer."""
        from semqa.data.quotesum import read_quotesum

        key = train, tuple(asked)
        if key not in self._pools:
            self._pools[key] = ExemplarPool.of(read_quotesum(train), key[1])
        return self._pools[key]


DEFAULT_SHOTS = 5
"""Maximum number of exemplars in a prompt if `shots` is not set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSettings:
    """Prompt settings; None means not set.

    Attributes:
        prompt: a template's name or path; by default ``qsum`` with exemplars, else ``zero-shot``.
        shots: number of exemplars. By default those named in `exemplars`, or at most
            `DEFAULT_SHOTS`.
        exemplars: the strategy (`semqa.retrieval.create_selector`); by default ``knn`` with `train`.
        train: the QuoteSum file with exemplars; by default those included in semqa.
        encoder: the model that embeds questions for ``knn``.
        form: messages or one text; by default what the model supports.
        seed: random seed for ``random`` exemplars.

    Raises:
        InputError: a setting is invalid or would have no effect.
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
                    "needs a file of solved questions (train) and at least one shot.",
                    field=name,
                    value=getattr(self, name),
                )
        check_strategy(self.strategy)
        if self.encoder is not None and self.strategy != "knn":
            raise InputError(
                f"has no effect on {self.strategy} exemplars; it is for knn.",
                field="encoder",
                value=self.encoder,
            )

    @property
    def count(self) -> int:
        """Number of exemplars in a prompt; a maximum if `shots` is not set."""
        if self.shots is not None:
            return self.shots
        return len(named_qids(self.strategy)) or DEFAULT_SHOTS

    @property
    def strategy(self) -> str:
        """The strategy for choosing exemplars."""
        return self.exemplars or ("knn" if self.train else "fixed")

    @property
    def template(self) -> str:
        """The template's name or path."""
        return self.prompt or ("qsum" if self.count else "zero-shot")

    def create_builder(
        self,
        asked: Iterable[tuple[str, str]] = (),
        on_progress: Callable[[int, int], None] = lambda _done, _total: None,
        cache: ExemplarCache | None = None,
    ) -> PromptBuilder:
        """Create the prompt builder.

        Args:
            asked: text and qid of the questions to ask; none is an exemplar for itself.
            on_progress: called while exemplars are embedded; ignored if there is a `cache`.
            cache: shared by several builders.
        """
        # The template first, because its errors are found quickly.
        template = Template.load(self.template)
        if self.train is None:
            return PromptBuilder(template, ShippedExemplars(), self.count, self.form or "auto")
        if not self.count:
            return PromptBuilder(template, form=self.form or "auto")
        cache = cache or ExemplarCache(on_progress)
        selector = create_selector(
            self.strategy,
            cache.pool(self.train, asked),
            seed=self.seed,
            up_to=self.shots is None,
            encoder=lambda: cache.encoder(self.encoder or DEFAULT_ENCODER),
        )
        return PromptBuilder(template, selector, self.count, self.form or "auto")
