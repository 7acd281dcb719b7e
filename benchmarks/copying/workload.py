"""The workload: the vocabulary, and questions with tokenized answers."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from copying.tekken import tekken_file
from semqa.data.quotesum import read_quotesum
from semqa.decoding import Vocabulary

if TYPE_CHECKING:
    from semqa import Source


class Request(NamedTuple):
    """One question: its sources, its answers as tokens with the end token, and its text."""

    sources: tuple[Source, ...]
    answers: tuple[tuple[int, ...], ...]
    question: str = ""


class Bench:
    """The tokenizer and data shared by all parts.

    Attributes:
        tekken: the tokenizer.
        vocabulary: the vocabulary of the tokenizer.
    """

    def __init__(self, *, few_tokens: bool = False) -> None:
        from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

        with tempfile.TemporaryDirectory() as folder:
            data = tekken_file(Path(folder) if few_tokens else None)
            self.mistral = MistralTokenizer.from_file(str(data))
        self.tekken: Any = self.mistral.instruct_tokenizer.tokenizer
        self.vocabulary = Vocabulary.from_tokenizer(self.mistral)

    def encode(self, text: str, *, end: bool = True) -> tuple[int, ...]:
        """Return the tokens of an answer."""
        return tuple(self.tekken.encode(text, bos=False, eos=end))

    def requests(self, path: Path, limit: int | None) -> list[Request]:
        """Read the questions."""
        return [
            Request(
                q.sources,
                tuple(self.encode(reference.text) for reference in q.references),
                q.question,
            )
            for q in read_quotesum(path)[:limit]
        ]
