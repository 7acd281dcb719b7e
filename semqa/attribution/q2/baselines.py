"""The paper's baselines: word overlap, BLEU, BERTScore and end-to-end entailment.

Each baseline compares a response with its knowledge; higher is more consistent. As in the released
code, where responses are lower-case, overlap, BLEU and BERTScore use the knowledge in lower case.
An additional baseline, the overlap of all words, needs no package.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from semqa.attribution.judges.base import Judge, Pair, TooLongError, unless_too_long
from semqa.attribution.q2.responses import Response, entailment_score
from semqa.errors import InputError, SemqaError
from semqa.extras import require
from semqa.metrics.text import bag_f1

MODEL = "roberta-large"
"""The default English model of bert-score, which the paper uses."""


class BertScore:
    """BERTScore F1 of responses against the lower-cased knowledge.

    For models that bert-score knows, it selects the best layer and rescales the scores, as in the
    paper. Other models need `layers` and are not rescaled. Runs on a GPU if available.
    """

    def __init__(self, model: str = MODEL, *, layers: int | None = None) -> None:
        package = require("bert_score", extra="eval", purpose="the baseline BERTScore")
        tables = require("bert_score.utils", extra="eval", purpose="the baseline BERTScore")
        known: bool = model in tables.model2layers
        if layers is None and not known:
            raise InputError(
                f"is required, because bert-score does not know the best layer of {model!r}.",
                field="--bertscore-layer",
            )
        self.model, self.layers = model, layers
        self.rescale = known and layers is None
        self._package = package
        self._scorer: Any = None

    def scores(self, responses: Sequence[Response]) -> list[float]:
        from semqa.engines.model.hub import quiet

        self.load()
        knowledge = [each.knowledge.lower() for each in responses]
        with quiet():
            _, _, f1 = self._scorer.score([each.text for each in responses], knowledge)
        return [float(value) for value in f1]

    def load(self) -> None:
        from semqa.engines.model.hub import explained, folder_of, is_on_disk_only, quiet
        from semqa.engines.transformers.loading import choose_device

        if self._scorer is not None:
            return
        if folder_of(self.model) is None:
            is_on_disk_only(self.model, None)  # fails fast; the package would retry for a minute
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
        except Exception as error:  # the libraries raise exceptions of many types
            raise explained(
                self.model, None, error, "an encoder that bert-score can read"
            ) from error


BASELINES = ("overlap", "words", "bleu", "bertscore", "nli")
"""Names of the baselines; BLEU is at most 100, the others at most 1."""


class Overlap:
    """Word-overlap F1 of a response and its knowledge; 0 if no word matches.

    Words are lower-case tokens of spaCy's blank English tokenizer, which needs no model, without
    stop words and punctuation.
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
        return [
            token.text.lower() for token in self._nlp(text) if not (token.is_stop or token.is_punct)
        ]


def word_overlap(response: str, knowledge: str) -> float:
    """Return the F1 of all words of two texts: lower-cased, split at white space and punctuation.

    Example:
        >>> word_overlap("the bridge", "The old bridge!")
        0.8
    """
    sides = [re.sub(r"[^\w\s]", " ", text.lower()).split() for text in (knowledge, response)]
    return bag_f1(*sides)


def bleu(response: str, knowledge: str) -> float:
    """Return sacrebleu's corpus BLEU of one response against the lower-cased knowledge, 0-100.

    The baseline of a system is the mean over its responses, not the BLEU of the corpus.

    Example:
        >>> round(bleu("red hair is rare in the world", "Red hair is rare in Europe."), 2)
        61.48
    """
    sacrebleu = require("sacrebleu", extra="eval", purpose="the baseline BLEU")
    return float(sacrebleu.corpus_bleu([response], [[knowledge.lower()]]).score)


def end_to_end_pair(response: Response, *, official: bool = False) -> Pair:
    """Return a pair with the knowledge as the premise and the response as the hypothesis."""
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
    """Compute one of `BASELINES` for each response; None if it is too long for the judge.

    ``nli`` needs an entailment judge: it is 1 if the knowledge entails the response, 0 if it
    contradicts it, otherwise 0.5. With `official`, it lower-cases the knowledge, as in the released
    code. `on_progress` gets the number of finished responses and the total.
    """
    score: Callable[[Sequence[Response]], Sequence[float | None]]
    if name == "bertscore":
        score = (bertscore or BertScore()).scores
    elif name == "nli":
        if judge is None:
            raise ValueError("The baseline nli needs a judge.")
        judge.require("entailment")
        entailment = judge.entailment

        def score(part: Sequence[Response]) -> Sequence[float | None]:
            pairs = [end_to_end_pair(each, official=official) for each in part]
            judged = unless_too_long(entailment, pairs)
            return [None if isinstance(e, TooLongError) else entailment_score(e) for e in judged]

    else:
        one = {"words": word_overlap, "bleu": bleu}.get(name) or Overlap().score

        def score(part: Sequence[Response]) -> Sequence[float | None]:
            return [one(each.text, each.knowledge) for each in part]

    found: list[float | None] = []
    for start in range(0, len(responses), _CHUNK):
        found += score(responses[start : start + _CHUNK])
        if on_progress is not None:
            on_progress(len(found), len(responses))
    return found


_CHUNK = 64
