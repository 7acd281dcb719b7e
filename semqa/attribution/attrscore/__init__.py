"""AttrScore (Yue et al. 2023): attributable, extrapolatory or contradictory.

Claims are put to a judge in one of the paper's prompt families or as entailment (`judging`), what a
language model says is parsed by `semqa.attribution.judges.replies`, or as the released code does
(`official`), and labels are scored (`scores`). `simulation` makes training data from question
answering, `mapping` takes it from related tasks, and `training` fine-tunes a model on it.
"""
