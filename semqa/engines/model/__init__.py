"""What engines that ask a language model share, whatever runs the model."""

from semqa.engines.model.options import (
    AnswerOptions,
    LocalOptions,
    check_fits,
    check_range,
    check_template,
    check_whole,
    default_prompts,
    free_options,
    read_text,
)
from semqa.engines.model.text import AnswerText, PromptEncoder, StoppedText, find_stop

__all__ = [
    "AnswerOptions",
    "AnswerText",
    "LocalOptions",
    "PromptEncoder",
    "StoppedText",
    "check_fits",
    "check_range",
    "check_template",
    "check_whole",
    "default_prompts",
    "find_stop",
    "free_options",
    "read_text",
]
