"""An answer in the form that a user asked for, and the prompt that led to it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from semqa.cli.output import terminal_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.prompting import Prompt
    from semqa.quotes import QuotedAnswer
    from semqa.quotes.render import Judged

__all__ = ["Format", "show_answer", "show_prompt", "show_verdict"]


class Format(StrEnum):
    """How an answer is shown."""

    TERMINAL = "terminal"
    MARKED = "marked"
    PLAIN = "plain"
    CITATIONS = "citations"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"


def show_answer(
    result: QuotedAnswer,
    question: str,
    form: Format,
    *,
    color: bool,
    judged: Judged | None = None,
) -> str:
    """Return an answer in a format; JSON, which has more to say, is not one of them.

    What a judge said stands under the answer in the formats that are pages: terminal, HTML and
    Markdown.
    """
    if form is Format.MARKED:
        return result.marked
    if form is Format.PLAIN:
        return result.plain
    if form is Format.CITATIONS:
        from semqa.quotes.citations import sentence_citations

        return sentence_citations(result)
    from semqa.quotes import render

    if form is Format.MARKDOWN:
        return render.to_markdown(result, question=question, judged=judged)
    if form is Format.HTML:
        return render.to_html(result, question=question, judged=judged)
    return render.to_ansi(
        result, question=question, color=color, width=terminal_width(), judged=judged
    )


def show_prompt(prompt: Prompt, *, chat: bool) -> str:
    """Return what a model is given, turns under headings."""
    of = f"prompt {prompt.template} {prompt.version}".rstrip()
    if not chat:
        return f"--- {of} ---\n{prompt.text}\n---"
    turns = "\n".join(f"--- {m.role} ---\n{m.content}" for m in prompt.messages)
    return f"--- {of} ---\n{turns}\n---"


def show_verdict(
    result: QuotedAnswer, question: str, remarks: Sequence[str], label: str = ""
) -> str:
    """Return the line that tells the verdict beside an answer whose format has no room for it.

    Args:
        result: the answer.
        question: the question that was answered.
        remarks: on how the answer came about.
        label: tells answers apart; without one, a quoted answer that is relevant needs no words but the remarks.
    """
    from semqa.quotes import Verdict
    from semqa.quotes.render import verdict_text
    from semqa.quotes.render.common import is_low

    plain = result.verdict(question) is Verdict.QUOTED and not (is_low(result) or result.unanswered)
    if plain and not label:
        return "; ".join(remarks)
    return " ".join(
        [f"{label}{verdict_text(result, question)}", *(f"({remark})" for remark in remarks)]
    )
