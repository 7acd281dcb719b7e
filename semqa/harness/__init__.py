"""QuoteSum as a task of other people's harnesses: lm-evaluation-harness and inspect_ai.

The questions, the prompts and the scores are semqa's; running models is the harness's. One room for
each harness imports it; nothing else here does.
"""

from semqa.harness.quotesum import HARNESSES, HarnessSettings, QuestionSet, harness_path

__all__ = ["HARNESSES", "HarnessSettings", "QuestionSet", "harness_path"]
