"""What several builders of prompts share: encoders, and the solved questions of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.retrieval.encoder import SentenceEncoder
from semqa.retrieval.pool import ExemplarPool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from semqa.retrieval.embeddings import TextEncoder

__all__ = ["ExemplarShelf"]


class ExemplarShelf:
    """Makes each encoder and reads each file once, as long as it lives.

    Args:
        on_progress: called with how many questions are embedded, and of how many.
    """

    def __init__(
        self, on_progress: Callable[[int, int], None] = lambda _done, _total: None
    ) -> None:
        self._on_progress = on_progress
        self._encoders: dict[str, TextEncoder] = {}
        self._pools: dict[tuple[Path, tuple[tuple[str, str], ...]], ExemplarPool] = {}

    def encoder(self, name: str) -> TextEncoder:
        """Return the encoder of a name.

        Raises:
            InputError: it is a path where no folder is.
        """
        if name not in self._encoders:
            self._encoders[name] = SentenceEncoder(name, on_progress=self._on_progress)
        return self._encoders[name]

    def pool(self, train: Path, asked: Iterable[tuple[str, str]]) -> ExemplarPool:
        """Return the exemplars of a QuoteSum file, for questions of which none may see itself.

        Args:
            train: the file.
            asked: text and qid of the questions that will be asked.

        Raises:
            InputError: the file is not usable.
        """
        from semqa.data.quotesum import read_quotesum

        key = train, tuple(asked)
        if key not in self._pools:
            self._pools[key] = ExemplarPool.of(read_quotesum(train), key[1])
        return self._pools[key]
