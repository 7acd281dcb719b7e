"""AIS (Rashkin et al. 2023): attributable to identified sources, as people and models rate it.

People: a `Sitting` asks one annotator and gives a `Rating`; `consensus` makes verdicts of ratings,
and the released files hold verdicts already. `system_rates`, `compare_systems`, the agreement of
annotators, `compare_designs` and `completion_times` look at them.
"""

from semqa.attribution.ais.annotators import (
    Agreement,
    agreement_of_counts,
    agreement_of_ratings,
)
from semqa.attribution.ais.comparison import Comparison, compare_systems, paired
from semqa.attribution.ais.consensus import RatedUnit, consensus
from semqa.attribution.ais.designs import DesignComparison, compare_designs
from semqa.attribution.ais.oddities import drop_doubles, oddities
from semqa.attribution.ais.rates import MEASURES, Measure, Rate, SystemRates, judged, system_rates
from semqa.attribution.ais.rating import Rating, read_ratings, write_ratings
from semqa.attribution.ais.released import (
    ReleasedFile,
    ReleasedRow,
    read_released,
    write_released,
)
from semqa.attribution.ais.sentences import SentenceVerdicts, join_sentences
from semqa.attribution.ais.sitting import Sitting, Subject, View
from semqa.attribution.ais.times import Times, completion_times
from semqa.attribution.ais.verdict import Verdict

__all__ = [
    "MEASURES",
    "Agreement",
    "Comparison",
    "DesignComparison",
    "Measure",
    "Rate",
    "RatedUnit",
    "Rating",
    "ReleasedFile",
    "ReleasedRow",
    "SentenceVerdicts",
    "Sitting",
    "Subject",
    "SystemRates",
    "Times",
    "Verdict",
    "View",
    "agreement_of_counts",
    "agreement_of_ratings",
    "compare_designs",
    "compare_systems",
    "completion_times",
    "consensus",
    "drop_doubles",
    "join_sentences",
    "judged",
    "oddities",
    "paired",
    "read_ratings",
    "read_released",
    "system_rates",
    "write_ratings",
    "write_released",
]
