"""Fine-tuning of models that tell AttrScore's labels."""

from semqa.attribution.attrscore.training.options import TrainingOptions
from semqa.attribution.attrscore.training.train import split_by_question, train

__all__ = ["TrainingOptions", "split_by_question", "train"]
