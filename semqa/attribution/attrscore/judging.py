"""Asking a judge for the label of each claim: by prompts, or by entailment."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from semqa.attribution.attrscore.files import read_table
from semqa.attribution.attrscore.labels import (
    DEFAULT_FAMILY,
    LABELS,
    family_named,
    label_named,
    label_of_relation,
    parse_label,
)
from semqa.attribution.judges import (
    CompletingJudge,
    EntailmentJudge,
    Pair,
    TooLongError,
    unless_too_long,
)
from semqa.attribution.judges.base import abilities_of, able
from semqa.attribution.judges.replies import verdict_schema
from semqa.attribution.prompts import JudgePrompt
from semqa.attribution.records import must_be
from semqa.data.jsonl import Row
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from semqa.attribution.attrscore.labels import Example, Family, Label
    from semqa.attribution.judges import Entailment, Judge


@dataclass(frozen=True, slots=True)
class Shot:
    """A judged claim that a prompt shows, with a reason in a sentence, or none."""

    claim: str
    reference: str
    label: Label
    why: str = ""


@dataclass(frozen=True, slots=True)
class AttrPrompt:
    """How claims are put to a language model; make it with `create`.

    Attributes:
        family: whose label words are used.
        template: the text with its holes: ``claim``, ``reference``, ``words`` (by label in small
            letters, such as ``words.attributable``) and ``exemplars`` (each with ``claim``,
            ``reference``, ``word`` and ``why``).
        shots: the exemplars that every prompt shows, in this order.
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
        """Load the prompt of a family, or the user's own template.

        Raises:
            InputError: there is no such family, or the template is invalid.
        """
        chosen = family_named(family)
        made = cls(chosen, JudgePrompt.load(prompt or chosen.prompt), tuple(shots))
        tried = made.fill("A claim to be tried?", "A reference to be tried.")
        for part in ("A claim to be tried?", "A reference to be tried."):
            if part not in tried:
                raise InputError(
                    f"The prompt {made.template.name} does not show {'{{ claim }}' if '?' in part else '{{ reference }}'}."
                )
        return made

    def fill(self, claim: str, reference: str) -> str:
        """Return the prompt for a claim; line breaks in texts become blanks.

        So no text can pass for a part of the prompt, and a label stands at the beginning of a line
        only where the template puts it.
        """
        return self.template.fill(
            claim=_one_line(claim),
            reference=_one_line(reference),
            words={label.lower(): self.family.word(label) for label in LABELS},
            exemplars=[
                {
                    "claim": _one_line(shot.claim),
                    "reference": _one_line(shot.reference),
                    "word": self.family.word(shot.label),
                    "why": _one_line(shot.why),
                }
                for shot in self.shots
            ],
        )

    def fill_all(self, examples: Iterable[Example], *, with_query: bool = True) -> list[str]:
        """Return the prompt of each example."""
        return [self.fill(each.claim(with_query), each.reference) for each in examples]

    def to_dict(self) -> dict[str, object]:
        """Return what makes the prompts again, for records."""
        shown = json.dumps([[s.claim, s.reference, s.label, s.why] for s in self.shots])
        return {
            "family": self.family.name,
            "template": self.template.name,
            "sha256": self.template.sha256,
            "shots": len(self.shots),
            "shots_sha256": hashlib.sha256(shown.encode()).hexdigest() if self.shots else None,
        }


def shipped_shots() -> tuple[Shot, ...]:
    """Return the exemplars that come with semqa: two of each label, the labels in turns."""
    raw = files("semqa.attribution.attrscore").joinpath("exemplars.json").read_text("utf-8")
    return tuple(_shot(Row("exemplars.json", row)) for row in json.loads(raw))


def read_shots(path: Path | str) -> tuple[Shot, ...]:
    """Read exemplars: rows with ``reference``, ``label``, ``claim`` or ``query`` and ``answer``, ``why``?."""
    return tuple(_shot(row) for row in read_table(path))


def _shot(row: Row) -> Shot:
    claim = row.text("claim", "") or f"{row.text('query', '')} {row.text('answer', '')}"
    label = label_named(row.text("label"))
    if label is None:
        raise must_be(row, "label", f"one of {', '.join(LABELS)}")
    if not claim.strip():
        raise InputError("There is no claim, nor query and answer.", where=row.where)
    return Shot(claim, row.text("reference"), label, row.text("why", ""))


def _one_line(text: str) -> str:
    return " ".join(text.split())


MAX_NEW_TOKENS = 64
"""Room for a label and a sentence; what comes after a verdict is not needed."""

Way = Literal["prompt", "entailment"]


@dataclass(frozen=True, slots=True)
class Judged:
    """A judge's label of an example.

    Attributes:
        label: None if the output is unparsed, or the example too long for the judge.
        output: what it wrote, if it was asked by a prompt.
        entailment: its probabilities, if it was asked for those.
    """

    example: Example
    label: Label | None
    output: str | None = None
    entailment: Entailment | None = None
    too_long: bool = False


def way_of(judge: Judge, asked: Way | None = None, *, prompted: bool = False) -> Way:
    """Return how a judge is to be asked.

    That is the way asked for; else by prompts if the user named one (`prompted`), if the judge is a
    language model (``engine:…``), or if it cannot judge entailment; else by entailment.

    Raises:
        InputError: the judge cannot be asked so.
    """
    known = abilities_of(judge)
    can: dict[Way, bool] = {"prompt": "complete" in known, "entailment": "entailment" in known}
    wanted = asked
    if wanted is None:
        model = judge.name.startswith("engine:") and can["prompt"]
        wanted = "prompt" if prompted or model or not can["entailment"] else "entailment"
    able(judge, "complete" if wanted == "prompt" else "entailment")
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
        judged.append(Judged(example, label_of_relation(found), entailment=found))
    return judged
