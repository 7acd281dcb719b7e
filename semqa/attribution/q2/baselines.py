"""The paper's baselines: word overlap, BLEU, BERTScore and end-to-end entailment.

All compare a response with its knowledge; the higher, the more consistent. Overlap, BLEU and BERTScore
see the knowledge in lower case, as in the released code, because its responses are. One more, the overlap
of all words, needs no package.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from semqa.attribution.judges.base import (
    EntailmentJudge,
    Judge,
    Pair,
    TooLongError,
    able,
    unless_too_long,
)
from semqa.attribution.q2.responses import entailment_score
from semqa.errors import InputError, SemqaError
from semqa.extras import require
from semqa.metrics.text import bag_f1

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa.attribution.q2.responses import Response


MODEL = "roberta-large"
"""The model that bert-score takes for English, and the paper with it."""


class BertScore:
    """F1 of matched tokens, of responses against the lower-cased knowledge.

    bert-score knows the best layer of its own models, and rescales those scores as the paper does;
    other models need `layers`, and are not rescaled. The device is a GPU if there is one.

    Raises:
        InputError: a layer is needed.
        MissingExtraError: a package is missing.
    """

    def __init__(self, model: str = MODEL, *, layers: int | None = None) -> None:
        package = require("bert_score", extra="eval", purpose="the baseline BERTScore")
        tables = require("bert_score.utils", extra="eval", purpose="the baseline BERTScore")
        known: bool = model in tables.model2layers
        if layers is None and not known:
            raise InputError(
                f"is needed: bert-score does not know the best layer of {model!r}.",
                field="--bertscore-layer",
            )
        self.model, self.layers = model, layers
        self.rescale = known and layers is None
        self._package = package
        self._scorer: Any = None

    def scores(self, responses: Sequence[str], knowledge: Sequence[str]) -> list[float]:
        """Return the F1 of each response, at most 1."""
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
                    device=str(choose_device(None)),
                )
        except SemqaError:
            raise
        except Exception as error:  # the libraries below raise all sorts
            raise explained(
                self.model, None, error, "an encoder that bert-score can read"
            ) from error


BASELINES = ("overlap", "words", "bleu", "bertscore", "nli")
"""Their names; BLEU is on a scale of 0 to 100, the others end at 1."""

_NO_WORD = re.compile(r"[^\w\s]")


class Overlap:
    """F1 of the words that a response shares with its knowledge.

    Words are spaCy's tokens (the blank English tokenizer, which needs no model), in lower case,
    without stop words and punctuation. Nothing shared is 0.
    """

    def __init__(self) -> None:
        spacy = require("spacy", extra="eval", purpose="the baseline overlap")
        self._nlp = spacy.blank("en")

    def score(self, response: str, knowledge: str) -> float:
        """Return the F1, in [0, 1].

        Example:
            >>> Overlap().score("paris paris", "Paris")
            0.6666666666666666
        """
        return bag_f1(self.tokens(knowledge.lower()), self.tokens(response))

    def tokens(self, text: str) -> list[str]:
        """Return the words of a text that count."""
        return [
            token.text.lower() for token in self._nlp(text) if not (token.is_stop or token.is_punct)
        ]


def word_overlap(response: str, knowledge: str) -> float:
    """Return the F1 of all words of two texts: lower-cased, parted by white space and punctuation.

    Example:
        >>> word_overlap("the bridge", "The old bridge!")
        0.8
    """
    sides = [_NO_WORD.sub(" ", text.lower()).split() for text in (knowledge, response)]
    return bag_f1(*sides)


def bleu(response: str, knowledge: str) -> float:
    """Return sacrebleu's corpus BLEU of one response against the lower-cased knowledge, 0-100.

    The baseline of a system is the mean of these, not the BLEU of all its responses together.

    Example:
        >>> round(bleu("red hair is rare in the world", "Red hair is rare in Europe."), 2)
        61.48
    """
    sacrebleu = require("sacrebleu", extra="eval", purpose="the baseline BLEU")
    return float(sacrebleu.corpus_bleu([response], [[knowledge.lower()]]).score)


def end_to_end(
    judge: EntailmentJudge, responses: Sequence[Response], *, official: bool = False
) -> list[float | None]:
    """Return 1 if the knowledge entails the response, 0 if it contradicts it, otherwise 0.5.

    None if it is too long for the judge. The official way lower-cases the knowledge, as the released
    code does.
    """
    pairs = [end_to_end_pair(each, official=official) for each in responses]
    return [
        None if isinstance(each, TooLongError) else entailment_score(each)
        for each in unless_too_long(judge.entailment, pairs)
    ]


def end_to_end_pair(response: Response, *, official: bool = False) -> Pair:
    """Return the pair of a whole response and its knowledge."""
    knowledge = response.knowledge.lower() if official else response.knowledge
    return Pair(knowledge, response.text)


def baseline_scores(
    name: str,
    responses: Sequence[Response],
    *,
    judge: Judge | None = None,
    bertscore: BertScore | None = None,
    official: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[float | None]:
    """Return one baseline of each response; None if it is too long for the judge.

    Args:
        name: one of `BASELINES`.
        responses: what to score.
        judge: of entailment; needed for ``nli``.
        bertscore: for ``bertscore``; by default the paper's.
        official: see `end_to_end`.
        on_progress: called with the number done and the total.
    """
    score: Callable[[Sequence[Response]], Sequence[float | None]]
    if name == "overlap":
        score = _one_by_one(Overlap().score)
    elif name == "words":
        score = _one_by_one(word_overlap)
    elif name == "bleu":
        score = _one_by_one(bleu)
    elif name == "bertscore":
        scorer = bertscore or BertScore()

        def score(part: Sequence[Response]) -> Sequence[float | None]:
            return scorer.scores([each.text for each in part], [each.knowledge for each in part])

    elif name == "nli":
        if judge is None:
            raise InputError("The baseline nli needs a judge.", hint="Choose one with --judge.")
        entails = able(judge, "entailment")

        def score(part: Sequence[Response]) -> Sequence[float | None]:
            return end_to_end(entails, part, official=official)

    else:
        raise InputError(
            f"must be one of {', '.join(BASELINES)}, got {name!r}.", field="--baseline", value=name
        )
    found: list[float | None] = []
    for start in range(0, len(responses), _AT_ONCE):
        found += score(responses[start : start + _AT_ONCE])
        if on_progress is not None:
            on_progress(len(found), len(responses))
    return found


_AT_ONCE = 64


def _one_by_one(
    score: Callable[[str, str], float],
) -> Callable[[Sequence[Response]], Sequence[float | None]]:
    return lambda part: [score(each.text, each.knowledge) for each in part]
