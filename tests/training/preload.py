"""Imports that the fork server of `processes` preloads."""

import peft
import transformers

import semqa.cli.main
import semqa.engines.transformers.decoding
import semqa.training.trainer

__all__ = ["peft", "semqa", "transformers"]
