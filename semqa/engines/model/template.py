"""Prompt templates: which is the default, and whether one goes with the constraint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.errors import InputError

if TYPE_CHECKING:
    from semqa.prompting import PromptBuilder, Template

__all__ = ["check_template", "default_prompts"]


def default_prompts() -> PromptBuilder:
    """Return what asks a model that was given no prompts: with the exemplars that come with semqa."""
    from semqa.prompting import PromptBuilder, ShippedExemplars

    exemplars = ShippedExemplars()
    return PromptBuilder("qsum", exemplars, len(exemplars))


def check_template(template: Template, constraint: str) -> None:
    """See that a template asks for what the constraint allows.

    Args:
        template: the template.
        constraint: the setting, any but ``off``.

    Raises:
        InputError: it asks for something else than quotes, or a stop of it holds a bracket.
    """
    for stop in template.header.stop:
        if "[" in stop or "]" in stop:
            raise InputError(
                f"prompt {template.name}: stop: got {stop!r} with constraint={constraint}, expected "
                "texts without brackets, for a quote that is begun is closed; leave the brackets out"
            )
    if template.answers != "quotes":
        raise InputError(
            f"prompt {template.name}: asks for {template.answers}: got it with "
            f"constraint={constraint}, expected a prompt for quotes, for the constraint allows "
            "nothing else; turn the constraint off or choose another prompt"
        )
