"""What annotators concluded together on one output of one system."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ATTRIBUTABLE", "CLEAR", "NOT_ATTRIBUTABLE", "UNCLEAR", "Verdict"]

CLEAR = "Yes, I understand it."
UNCLEAR = "No, the response is unclear."
ATTRIBUTABLE = "Yes, fully attributable."
NOT_ATTRIBUTABLE = "No, not fully attributable."
"""The answers to the two questions, as the released files write them."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The consensus on one output.

    Each question hangs on the one before: what is flagged was not judged, and what cannot be
    understood alone was not compared with its source.

    Attributes:
        item: what the output answers; with `system`, the output.
        system: the model that wrote it, or the reference.
        output: the text.
        flagged: whether the task itself was malformed.
        interpretable: whether the output can be understood without the source; None where it is
            flagged, or the vote was left open at a tie.
        attributable: whether all of it is so according to the source; None unless it is
            interpretable, or where the vote was left open at a tie.
        agree_int: annotators who say what `interpretable` says; None where nobody was asked.
        agree_ais: annotators who say what `attributable` says; None likewise.
        task: what the outputs are, such as ``qrecc``; figures of different tasks are kept apart.
        design: how annotators were asked, where that differs.
        doc_url: where the source came from.
        doc_url_hash: SHA-1 of that, where given.
    """

    item: str
    system: str
    output: str
    flagged: bool
    interpretable: bool | None
    attributable: bool | None
    agree_int: int | None = None
    agree_ais: int | None = None
    task: str = ""
    design: str = ""
    doc_url: str = ""
    doc_url_hash: str = ""

    def __post_init__(self) -> None:
        if self.flagged and self.interpretable is not None:
            raise ValueError("a flagged output is not judged")
        if self.attributable is not None and not self.interpretable:
            raise ValueError("what is not interpretable is not compared with its source")

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What tells this verdict from others: task, design, item and system."""
        return self.task, self.design, self.item, self.system
