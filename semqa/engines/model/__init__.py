"""What engines that ask a language model share, whatever runs the model."""

from semqa.engines.model.encoding import PromptEncoder
from semqa.engines.model.free import check_fits, free_options, read_text
from semqa.engines.model.options import AnswerOptions, LocalOptions, check_range, check_whole
from semqa.engines.model.reading import read_tokens
from semqa.engines.model.template import check_template, default_prompts
from semqa.engines.model.text import AnswerText, StoppedText, find_stop

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
    "read_tokens",
]
