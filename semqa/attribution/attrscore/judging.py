"""Ask a judge for the label of each claim, with prompts or by entailment."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from semqa.attribution.attrscore.files import read_table
from semqa.attribution.attrscore.labels import (
    DEFAULT_FAMILY,
    LABEL_OF,
    LABELS,
    family_named,
    label_named,
    parse_label,
)
from semqa.attribution.judges import (
    CompletingJudge,
    EntailmentJudge,
    Pair,
    TooLongError,
    unless_too_long,
)
from semqa.attribution.judges.base import abilities_of, require_ability
from semqa.attribution.judges.replies import verdict_schema
from semqa.attribution.prompts import JudgePrompt
from semqa.attribution.records import invalid_field
from semqa.data.jsonl import Row
from semqa.errors import InputError
from semqa.prompting.template import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from semqa.attribution.attrscore.labels import Example, Family, Label
    from semqa.attribution.judges import Entailment, Judge


@dataclass(frozen=True, slots=True)
class Shot:
    """A labelled claim shown in a prompt; `why` is an optional one-sentence reason."""

    claim: str
    reference: str
    label: Label
    why: str = ""


@dataclass(frozen=True, slots=True)
class AttrPrompt:
    """A prompt for a language model; create it with `create`.

    The template has the variables ``claim``, ``reference``, ``words`` (by lower-case label, such as
    ``words.attributable``) and ``exemplars`` (each with ``claim``, ``reference``, ``word`` and
    ``why``).
    """

    family: Family
    template: JudgePrompt
    shots: tuple[Shot, ...] = ()

    @classmethod
    def create(
        cls,
        family: str = DEFAULT_FAMILY,
        *,
        prompt: Path | str | None = None,
        shots: Sequence[Shot] = (),
    ) -> AttrPrompt:
        """Load the prompt of a family, or the user's own template."""
        chosen = family_named(family)
        made = cls(chosen, JudgePrompt.load(prompt or chosen.prompt), tuple(shots))
        filled = made.fill("A test claim?", "A test reference.")
        for name in ("claim", "reference"):
            if f"A test {name}" not in filled:
                raise InputError(f"The prompt {made.template.name} must contain {{{{ {name} }}}}.")
        return made

    def fill(self, claim: str, reference: str) -> str:
        """Render the prompt for a claim.

        Line breaks in texts become spaces. So a text cannot imitate a part of the prompt, and only
        the template can put a label at the beginning of a line.
        """
        return self.template.fill(
            claim=one_line(claim),
            reference=one_line(reference),
            words={label.lower(): self.family.word(label) for label in LABELS},
            exemplars=[
                {
                    "claim": one_line(shot.claim),
                    "reference": one_line(shot.reference),
                    "word": self.family.word(shot.label),
                    "why": one_line(shot.why),
                }
                for shot in self.shots
            ],
        )

    def fill_all(self, examples: Iterable[Example], *, with_query: bool = True) -> list[str]:
        """Render the prompt for each example."""
        return [self.fill(each.claim(with_query), each.reference) for each in examples]

    def to_dict(self) -> dict[str, object]:
        """Return a JSON-ready object that identifies the prompt, for records."""
        shown = json.dumps([[s.claim, s.reference, s.label, s.why] for s in self.shots])
        return {
            "family": self.family.name,
            "template": self.template.name,
            "sha256": self.template.sha256,
            "shots": len(self.shots),
            "shots_sha256": hashlib.sha256(shown.encode()).hexdigest() if self.shots else None,
        }


def shipped_shots() -> tuple[Shot, ...]:
    """Return the exemplars shipped with semqa: two of each label, in alternating order."""
    raw = files("semqa.attribution.attrscore").joinpath("exemplars.json").read_text("utf-8")
    return tuple(_shot(Row("exemplars.json", row)) for row in json.loads(raw))


def read_shots(path: Path | str) -> tuple[Shot, ...]:
    """Read exemplars.

    A row has ``reference``, ``label``, optionally ``why``, and ``claim`` or ``query`` with
    ``answer``.
    """
    return tuple(_shot(row) for row in read_table(path))


def _shot(row: Row) -> Shot:
    claim = row.text("claim", "") or f"{row.text('query', '')} {row.text('answer', '')}"
    label = label_named(row.text("label"))
    if label is None:
        raise invalid_field(row, "label", f"one of {', '.join(LABELS)}")
    if not claim.strip():
        raise InputError("The claim is missing: give claim, or query and answer.", where=row.where)
    return Shot(claim, row.text("reference"), label, row.text("why", ""))


MAX_NEW_TOKENS = 64
"""Enough for a label and a sentence; text after the verdict is not needed."""

Method = Literal["prompt", "entailment"]


@dataclass(frozen=True, slots=True)
class Judged:
    """A judge's label of an example; None if it is too long for the judge or the output unparsed.

    There is an `output` if a prompt was used, otherwise an `entailment`.
    """

    example: Example
    label: Label | None
    output: str | None = None
    entailment: Entailment | None = None
    too_long: bool = False


def choose_method(judge: Judge, *, prompted: bool = False) -> Method:
    """Return prompts for a judge that completes them or if `prompted`, otherwise entailment."""
    method: Method = "prompt" if prompted or "complete" in abilities_of(judge) else "entailment"
    require_ability(judge, "complete" if method == "prompt" else "entailment")
    return method


def judge_by_prompt(
    judge: CompletingJudge,
    examples: Sequence[Example],
    prompt: AttrPrompt,
    *,
    with_query: bool = True,
    max_new_tokens: int = MAX_NEW_TOKENS,
) -> list[Judged]:
    """Ask a judge about each claim with a prompt, and parse its output.

    Source: Yue et al. 2023, prompting.
    """
    prompts = prompt.fill_all(examples, with_query=with_query)
    schema = None
    if prompt.template.name == prompt.family.prompt:  # a user's prompt may request another format
        schema = verdict_schema("label", tuple(prompt.family.words))
    outputs = unless_too_long(
        lambda some: judge.complete(some, max_new_tokens=max_new_tokens, schema=schema), prompts
    )
    return [
        Judged(example, None, too_long=True)
        if isinstance(output, TooLongError)
        else Judged(example, parse_label(output), output=output)
        for example, output in zip(examples, outputs, strict=True)
    ]


def judge_by_entailment(
    judge: EntailmentJudge, examples: Sequence[Example], *, with_query: bool = True
) -> list[Judged]:
    """Judge whether each reference entails its claim; the most probable relation is the label.

    Source: like the fine-tuned classifiers in Yue et al. 2023, except that an entailment model's
    three relations stand for the three labels.
    """
    pairs = [Pair(each.reference, each.claim(with_query)) for each in examples]
    relations = unless_too_long(judge.entailment, pairs)
    return [
        Judged(example, None, too_long=True)
        if isinstance(found, TooLongError)
        else Judged(example, LABEL_OF[found.relation], entailment=found)
        for example, found in zip(examples, relations, strict=True)
    ]
