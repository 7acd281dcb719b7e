"""Prompts on their way to workers: a template as bytes, and the exemplars that were chosen.

What chose them, such as an encoder of sentences, stays where it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from semqa.errors import InputError
from semqa.prompting import PromptBuilder, Template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.bench.plan import Item
    from semqa.prompting import Form
    from semqa.prompting.prompt import Exemplar

__all__ = ["ChosenExemplars", "PackedPrompts", "chosen_exemplars"]


class PackedPrompts(NamedTuple):
    """What a worker makes prompts from.

    Attributes:
        template: the bytes of its file.
        where: that file, for messages.
        name: the template's.
        form: as messages or as one text.
        shots: how many exemplars a prompt shows at most.
    """

    template: bytes
    where: str
    name: str
    form: Form
    shots: int

    @classmethod
    def of(cls, prompts: PromptBuilder) -> PackedPrompts:
        """Pack what makes prompts, without its exemplars."""
        template = prompts.template
        return cls(template.raw, template.where, template.name, prompts.form, prompts.shots)

    def unpack(self, exemplars: ChosenExemplars) -> PromptBuilder:
        """Return what makes the same prompts."""
        template = Template.parse(self.template, self.where, self.name)
        return PromptBuilder(template, exemplars if self.shots else None, self.shots, self.form)


class ChosenExemplars:
    """Exemplars that were chosen elsewhere, by the question that they were chosen for."""

    def __init__(self) -> None:
        self._chosen: dict[str, Sequence[Exemplar]] = {}

    def learn(self, chosen: Mapping[str, Sequence[Exemplar]]) -> None:
        """Take the exemplars of questions that are asked next, in place of those before."""
        self._chosen = dict(chosen)

    def select(self, question: str, count: int) -> Sequence[Exemplar]:
        """Return what was chosen for a question, the most useful first.

        Raises:
            InputError: nothing was.
        """
        if question not in self._chosen:
            raise InputError(
                f"exemplars: got the question {question!r:.80}, expected one that they were chosen "
                "for; choose them first"
            )
        return self._chosen[question][:count]

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """Do nothing: all is chosen."""

    def identity(self) -> dict[str, object]:
        """Return nothing that a record should hold: what chose them is known elsewhere."""
        return {}


def chosen_exemplars(
    prompts: PromptBuilder | None, items: Sequence[Item]
) -> dict[str, Sequence[Exemplar]]:
    """Choose the exemplars of some items' questions."""
    if prompts is None or not prompts.shots:
        return {}
    questions = dict.fromkeys(item.question.question for item in items)
    return {question: prompts.select(question) for question in questions}
