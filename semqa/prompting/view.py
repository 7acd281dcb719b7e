"""What a template gets to see of sources and exemplars: plain read-only values, made safe."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa.prompting.exemplar import Exemplar
    from semqa.prompting.prompt import Answers
    from semqa.quotes import Source

__all__ = ["SourceView", "TaskView", "view_exemplar", "view_sources"]


class SourceView(NamedTuple):
    """A source as a template sees it.

    Attributes:
        number: the number to cite it by.
        title: the title on one line; may be empty.
        text: the body, as it is; may be empty where there is a title.
        url: its address; may be empty.
    """

    number: int
    title: str
    text: str
    url: str


class TaskView(NamedTuple):
    """A question with sources and, for an exemplar, its answer."""

    question: str
    sources: tuple[SourceView, ...]
    answer: str = ""


def view_sources(sources: Sequence[Source], spell: Callable[[str], str]) -> tuple[SourceView, ...]:
    """Return the sources that are not blank, with their numbers.

    Args:
        sources: source *k* is ``sources[k - 1]``.
        spell: makes a text safe for the model's tokenizer.
    """
    return tuple(
        # A title is a label: with line breaks it could pose as the next source.
        SourceView(
            number, one_line(spell(source.title)), spell(source.text), one_line(source.url or "")
        )
        for number, source in enumerate(sources, 1)
        if source.text.strip() or source.title.strip()
    )


def view_exemplar(exemplar: Exemplar, answers: Answers, spell: Callable[[str], str]) -> TaskView:
    """Return an exemplar with its answer in the form that the prompt asks for."""
    answer = exemplar.answer
    if answers == "citations":
        from semqa.quotes import QuotedAnswer
        from semqa.quotes.citations import sentence_citations

        parsed = QuotedAnswer.parse(answer, exemplar.sources)
        answer = sentence_citations(parsed, only_verified=False)
    sources = view_sources(exemplar.sources, spell)
    return TaskView(one_line(spell(exemplar.question)), sources, spell(answer).strip())


def one_line(text: str) -> str:
    """Return a text with every run of white space as one space."""
    return " ".join(text.split())
