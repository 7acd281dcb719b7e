"""QuoteSum tasks for lm-evaluation-harness and inspect_ai.

semqa provides questions, prompts and scores; the harness runs the model. Only the subpackage for a
harness imports it.
"""

from semqa.harness.quotesum import HARNESSES, HarnessSettings, QuestionSet, harness_path

__all__ = ["HARNESSES", "HarnessSettings", "QuestionSet", "harness_path"]
