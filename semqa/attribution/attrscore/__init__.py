"""AttrScore (Yue et al. 2023): attributable, extrapolatory or contradictory.

Claims are put to a judge in one of the paper's prompt families or as entailment (`judging`), what a
language model says is parsed by `semqa.attribution.judges.replies`, or as the released code does
(`official`), and labels are scored (`scores`). `simulation` makes training data from question
answering, `mapping` takes it from related tasks, and `training` fine-tunes a model on it.
"""

from semqa.attribution.attrscore.files import read_examples, write_examples
from semqa.attribution.attrscore.judging import (
    AttrPrompt,
    Judged,
    Shot,
    judge_by_entailment,
    judge_by_prompt,
    read_shots,
    shipped_shots,
    way_of,
)
from semqa.attribution.attrscore.labels import (
    FAMILIES,
    LABELS,
    Example,
    Family,
    Label,
    family_named,
    parse_label,
)
from semqa.attribution.attrscore.record import RunRecord, read_outputs, read_record, write_record
from semqa.attribution.attrscore.scores import (
    AttrScores,
    LabelScores,
    OfficialScores,
    official_scores,
    score_labels,
)

__all__ = [
    "FAMILIES",
    "LABELS",
    "AttrPrompt",
    "AttrScores",
    "Example",
    "Family",
    "Judged",
    "Label",
    "LabelScores",
    "OfficialScores",
    "RunRecord",
    "Shot",
    "family_named",
    "judge_by_entailment",
    "judge_by_prompt",
    "official_scores",
    "parse_label",
    "read_examples",
    "read_outputs",
    "read_record",
    "read_shots",
    "score_labels",
    "shipped_shots",
    "way_of",
    "write_examples",
    "write_record",
]
