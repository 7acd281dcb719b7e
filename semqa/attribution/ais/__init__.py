"""AIS (Rashkin et al. 2023): attributable to identified sources, as people and models rate it.

`ratings` has what annotators say and the consensus of it, `released` the files of the paper; `rates`
computes rates, tests, agreement and times, and `report` all of them. `auto` asks a judge in place of
people.
"""

from semqa.attribution.ais.rates import (
    MEASURES,
    Agreement,
    Comparison,
    DesignComparison,
    Measure,
    Rate,
    SystemRates,
    Times,
    agreement_of_counts,
    agreement_of_ratings,
    compare_designs,
    compare_systems,
    completion_times,
    judged,
    paired,
    system_rates,
)
from semqa.attribution.ais.ratings import (
    RatedUnit,
    Rating,
    SentenceVerdicts,
    Verdict,
    consensus,
    join_sentences,
    read_ratings,
    write_ratings,
)
from semqa.attribution.ais.released import (
    ReleasedFile,
    ReleasedRow,
    data_checks,
    drop_doubles,
    read_released,
    write_released,
)

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
    "SystemRates",
    "Times",
    "Verdict",
    "agreement_of_counts",
    "agreement_of_ratings",
    "compare_designs",
    "compare_systems",
    "completion_times",
    "consensus",
    "data_checks",
    "drop_doubles",
    "join_sentences",
    "judged",
    "paired",
    "read_ratings",
    "read_released",
    "system_rates",
    "write_ratings",
    "write_released",
]
