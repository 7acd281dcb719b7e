"""BERTScore of responses against their knowledge, by the package bert-score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semqa.errors import InputError, SemqaError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BertScore"]

MODEL = "roberta-large"
"""The model that bert-score takes for English, and the paper with it."""


class BertScore:
    """F1 of matched tokens, of responses against the lower-cased knowledge.

    Args:
        model: a folder or a name on the Hub; bert-score knows the best layer of its own models, and
            rescales those scores as the paper does.
        layers: at which layer to compare; needed for a model that bert-score does not know.
        rescale: rescale with bert-score's baseline; None for where it has one.
        device: of torch; None for a GPU if there is one.

    Raises:
        InputError: a layer is needed.
        MissingExtraError: a package is missing.
    """

    def __init__(
        self,
        model: str = MODEL,
        *,
        layers: int | None = None,
        rescale: bool | None = None,
        device: str | None = None,
    ) -> None:
        package = require("bert_score", extra="eval", purpose="the baseline BERTScore")
        tables = require("bert_score.utils", extra="eval", purpose="the baseline BERTScore")
        known: bool = model in tables.model2layers
        if layers is None and not known:
            raise InputError(
                f"--bertscore-layer: got none for {model!r}, expected the layer to compare at, for "
                "bert-score knows only its own models; give one"
            )
        self.model, self.layers = model, layers
        self.rescale = known and layers is None if rescale is None else rescale
        self._package, self._device = package, device
        self._scorer: Any = None

    def scores(self, responses: Sequence[str], knowledge: Sequence[str]) -> list[float]:
        """Return the F1 of each response, at most 1.

        Raises:
            InputError: the model cannot be loaded.
            UnavailableError: the Hub was not reached.
        """
        from semqa.engines.model.hub import quiet

        self.load()
        with quiet():
            _, _, f1 = self._scorer.score(list(responses), [text.lower() for text in knowledge])
        return [float(value) for value in f1]

    def load(self) -> None:
        """Load the model, if it is not loaded yet; see `scores`."""
        from semqa.engines.model.hub import explained, folder_of, is_on_disk_only, quiet
        from semqa.engines.transformers.loading import choose_device

        if self._scorer is not None:
            return
        if folder_of(self.model) is None:
            is_on_disk_only(self.model, None)  # asks once, where the package would ask for a minute
        try:
            with quiet():
                self._scorer = self._package.BERTScorer(
                    model_type=self.model,
                    num_layers=self.layers,
                    lang="en",
                    rescale_with_baseline=self.rescale,
                    device=str(choose_device(self._device)),
                )
        except SemqaError:
            raise
        except Exception as error:  # the libraries below raise all sorts
            raise explained(
                self.model, None, error, "an encoder that bert-score can read"
            ) from error
