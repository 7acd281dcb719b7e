"""The registry of tasks."""

from __future__ import annotations

from semqa.errors import InputError
from semqa.studies.ais import Ais
from semqa.studies.answers import Answers
from semqa.studies.attrscore import AttrScore
from semqa.studies.explanations import Explanations
from semqa.studies.kind import Kind
from semqa.studies.q2 import Q2
from semqa.studies.tofueval import TofuEval
from semqa.studies.writing import Writing

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (Ais(), Answers(), TofuEval(), Explanations(), AttrScore(), Q2(), Writing())
}
"""Tasks by their name on the command line."""


def kind_of(name: str) -> Kind:
    """Return a task by name."""
    if name not in KINDS:
        raise InputError(f"must be one of {', '.join(KINDS)}, got {name!r}.", field="kind")
    return KINDS[name]
