"""AttrScore (Yue et al. 2023): is a claim attributable, extrapolatory or contradictory?

`judging` asks a judge about claims, with one of the paper's prompt families or by entailment.
Replies are parsed by `semqa.attribution.judges.replies`, or as in the released code
(`examples.official_label`), and `scores` scores the labels. `mapping` converts data sets of related
tasks to training data, and `training` fine-tunes a model.
"""
