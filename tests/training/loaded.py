"""What a training loads, for processes that begin with it."""

import peft
import transformers

import semqa.cli.main
import semqa.engines.transformers.decoding
import semqa.training.trainer

__all__ = ["peft", "semqa", "transformers"]
