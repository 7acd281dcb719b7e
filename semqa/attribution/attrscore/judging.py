"""Asking a judge for the label of each claim: by prompts, or by entailment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from semqa.attribution.attrscore.label import label_of_relation
from semqa.attribution.attrscore.parsing import parse_label
from semqa.attribution.judges import (
    CompletingJudge,
    EntailmentJudge,
    Pair,
    TooLongError,
    unless_too_long,
)
from semqa.attribution.judges.replies import verdict_schema
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.attrscore.example import Example
    from semqa.attribution.attrscore.label import Label
    from semqa.attribution.attrscore.prompting import AttrPrompt
    from semqa.attribution.judges import Judge

__all__ = ["Judged", "judge_by_entailment", "judge_by_prompt", "way_of"]

MAX_NEW_TOKENS = 64
"""Room for a label and a sentence; what comes after a verdict is not needed."""

Way = Literal["prompt", "entailment"]


@dataclass(frozen=True, slots=True)
class Judged:
    """What a judge said of an example.

    Attributes:
        output: what it wrote, where it was asked by a prompt.
        entailment: its probabilities of entailment, neutral and contradiction, where it was asked
            for those.
        label: what that means; None if the output is unparsed or the example too long.
        too_long: whether the example does not fit into the judge's context.
    """

    example: Example
    label: Label | None
    output: str | None = None
    entailment: tuple[float, float, float] | None = None
    too_long: bool = False


def way_of(judge: Judge, asked: Way | None = None, *, prompted: bool = False) -> Way:
    """Return how a judge is to be asked.

    Args:
        judge: the judge.
        asked: the way that the user wants, if any.
        prompted: whether the user named a prompt, which only a prompted judge reads.

    Returns:
        The way asked for; else by prompts where the user named one, where the judge is a language
        model (``engine:…``), or where it knows no entailment; else by entailment.

    Raises:
        InputError: the judge cannot be asked so.
    """
    can: dict[Way, bool] = {
        "prompt": isinstance(judge, CompletingJudge),
        "entailment": isinstance(judge, EntailmentJudge),
    }
    wanted = asked
    if wanted is None:
        model = judge.name.startswith("engine:") and can["prompt"]
        wanted = "prompt" if prompted or model or not can["entailment"] else "entailment"
    if not can[wanted]:
        known = [way for way, possible in can.items() if possible]
        raise InputError(
            f"judge {judge.name}: cannot be asked by {wanted}: got a judge that answers "
            f"{' and '.join(known) or 'neither'}, expected one that "
            f"{'writes' if wanted == 'prompt' else 'knows entailment'}; choose another judge, or "
            "another way to ask"
        )
    return wanted


def judge_by_prompt(
    judge: CompletingJudge,
    examples: Sequence[Example],
    prompt: AttrPrompt,
    *,
    with_query: bool = True,
    max_new_tokens: int = MAX_NEW_TOKENS,
) -> list[Judged]:
    """Put each claim to a judge that writes, and parse what it says.

    Source: Yue et al. 2023, prompting.
    """
    prompts = prompt.fill_all(examples, with_query=with_query)
    schema = None
    if prompt.template.name == prompt.family.prompt:  # a user's own may ask for another form
        schema = verdict_schema("label", tuple(prompt.family.words))
    outputs = unless_too_long(
        lambda some: judge.complete(some, max_new_tokens=max_new_tokens, schema=schema), prompts
    )
    judged = []
    for example, output in zip(examples, outputs, strict=True):
        if isinstance(output, TooLongError):
            judged.append(Judged(example, None, too_long=True))
            continue
        judged.append(Judged(example, parse_label(output), output=output))
    return judged


def judge_by_entailment(
    judge: EntailmentJudge, examples: Sequence[Example], *, with_query: bool = True
) -> list[Judged]:
    """Ask whether each claim follows from its reference; the most probable relation is the label.

    Source: differs in the model alone from Yue et al. 2023, fine-tuning, where classifiers are
    trained on the three labels; an entailment model takes them for its three relations.
    """
    pairs = [Pair(each.reference, each.claim(with_query)) for each in examples]
    relations = unless_too_long(judge.entailment, pairs)
    judged = []
    for example, found in zip(examples, relations, strict=True):
        if isinstance(found, TooLongError):
            judged.append(Judged(example, None, too_long=True))
            continue
        figures = (found.entailment, found.neutral, found.contradiction)
        judged.append(Judged(example, label_of_relation(found), entailment=figures))
    return judged
