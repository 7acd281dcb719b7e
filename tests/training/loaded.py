"""What a training loads, for processes that begin with it."""

import peft
import transformers

import semqa.cli.main
import semqa.training.trainer
from semqa.decoding.masking import compile_masking

__all__ = ["peft", "semqa", "transformers"]

compile_masking()
