"""Thresholds of the filters, and the data behind their defaults.

The defaults are ours. The paper (Schuster et al. 2024, section 4.1) names the filters, but we could
not compare with its numbers. "Dev" is QuoteSum's dev split, which people have approved: 91
questions, 280 passages, 354 pairs of answers.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from typer import Option

from semqa.checks import check_settings
from semqa.errors import InputError

MOST_SOURCES = 8
"""Maximum number of sources in a QuoteSum row."""

_filter = partial(Option, rich_help_panel="Filters")
_share = partial(_filter, min=0, max=1)

LeastScore = Annotated[float, _share(help="Minimum score of the QA model.")]
LeastWords = Annotated[int, _filter(min=0, help="Minimum words in a passage.")]
OnePerPage = Annotated[bool, _filter(help="Keep one passage per page, or all that do not overlap.")]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Thresholds of the filters; the defaults are for PAQ. They keep 59 of dev's 65 PAQ questions.

    Basis of the defaults: the lexical judge's score is the proportion of the question's words in
    the best sentence of a passage. A threshold of 0.5 keeps 82% of dev's 217 PAQ passages, which
    have 83 to 200 words (AmbigQA's have 17 to 107). Of dev's 354 pairs of answers, 1% have an edit
    distance below 0.31 of the longer answer, and 99% have a word overlap (intersection over union)
    of at most 0.33; one has 0.5. The lexical judge finds 2 pairs equal.
    """

    qa: Annotated[
        str,
        _filter(help="QA model: lexical, transformers:qa=MODEL or engine:SPEC.", metavar="JUDGE"),
    ] = "lexical"
    least_score: LeastScore = 0.5
    one_per_page: OnePerPage = True
    least_words: LeastWords = 80
    most_words: Annotated[int, _filter(min=0, help="Maximum words in a passage.")] = 200
    least_edits: Annotated[
        float,
        _share(help="Edit distance, relative to the longer answer, below which answers are equal."),
    ] = 0.3
    most_overlap: Annotated[
        float, _share(help="Word overlap (0 to 1) at which answers are equal.")
    ] = 0.5
    equivalence: Annotated[
        str,
        _filter(
            help="Judge that compares answers: lexical, transformers:nli=MODEL, engine:SPEC or none.",
            metavar="JUDGE",
        ),
    ] = "lexical"
    least_equivalence: Annotated[
        float, _share(help="Minimum probability, in both directions, of equal answers.")
    ] = 0.5
    similar: Annotated[
        float, _filter(min=0.001, max=1, help="TF-IDF cosine at which questions are merged.")
    ] = 0.9
    most_sources: Annotated[
        int, _filter(min=2, max=MOST_SOURCES, help="Maximum passages per question.")
    ] = MOST_SOURCES
    device: Annotated[
        str | None, _filter(help="Device for models.", show_default="a GPU if any")
    ] = None

    def __post_init__(self) -> None:
        check_settings(self)
        if self.least_words > self.most_words:
            raise InputError(
                f"must be at most most_words ({self.most_words}), got {self.least_words}.",
                field="least_words",
            )


@dataclass(frozen=True, kw_only=True)
class AmbigqaRules(Rules):
    """Rules for AmbigQA. Its answers were found by people, so the score only chooses between passages.

    Passages are paragraphs, of 17 to 107 words in dev. 14 of dev's 26 questions have two of the same
    page.
    """

    least_score: LeastScore = 0.0
    least_words: LeastWords = 15
    one_per_page: OnePerPage = False


@dataclass(frozen=True, kw_only=True)
class DocumentRules(Rules):
    """Rules for own documents, where the lexical judge scores unrelated passages too high."""

    least_score: LeastScore = 0.7
    least_words: LeastWords = 15
