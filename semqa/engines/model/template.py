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


def check_template(template: Template) -> None:
    """Check that a template can be used with the constraint.

    Raises:
        InputError: it does not ask for quotes, or one of its stop texts holds a bracket.
    """
    for stop in template.header.stop:
        if "[" in stop or "]" in stop:
            raise InputError(
                f"Prompt {template.name}: a stop text must not hold brackets while the constraint is on, got {stop!r}."
            )
    if template.answers != "quotes":
        raise InputError(
            f"Prompt {template.name} asks for {template.answers}, which the constraint does not allow.",
            hint="Turn the constraint off, or choose a prompt for quotes.",
        )
