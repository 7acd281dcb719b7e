"""A slow, plain implementation of the allowed next tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from semqa.decoding import QuotePolicy, Vocabulary
from semqa.quotes import Source
from tests.reference.language import Free, Language, Place


class ReferenceConstraint:
    """The copy constraint without budgets, from `Language` and the tokens.

    A token is allowed if an answer can be finished after it. If every byte is a token, `Language` is
    enough. Otherwise a sequence of tokens to an end is searched for; under glue it must not begin
    another word or mark outside quotes.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        sources: Sequence[Source],
        policy: QuotePolicy,
        question: str = "",
    ) -> None:
        self._language = Language(sources, policy, question)
        self._glue = policy.free == "glue"
        self._ends = sorted(vocabulary.eos_ids)
        barred = vocabulary.special_ids.union(self._ends)
        self._tokens = {
            token: vocabulary.token_bytes(token)
            for token in range(vocabulary.size)
            if token not in barred and vocabulary.token_bytes(token)
        }
        texts = set(self._tokens.values())
        self._writes_all = all(
            bytes([byte]) in texts for byte in (*range(0xC0), *range(0xC2, 0xF5))
        )
        self._finishes: dict[Place, bool] = {}
        # A trie of the tokens, so that shared prefixes are read once.
        self._trie: dict[int, Any] = {}
        for token, text in self._tokens.items():
            node = self._trie
            for byte in text:
                node = node.setdefault(byte, {})
            node.setdefault(-1, []).append(token)

    def first(self) -> Place:
        """Return the place before the first token."""
        return self._language.first()

    def after(self, place: Place, token: int) -> Place | None:
        """Return the place after a token other than an end token; None if its bytes do not fit."""
        at: Place | None = place
        for byte in self._tokens.get(token, b"\xff"):
            at = None if at is None else self._language.step(at, byte)
        return at

    def allowed(self, place: Place) -> list[int]:
        """Return the tokens that may come next, ascending."""
        ends = self._ends if self._language.may_end(place) else []
        found: list[int] = []
        walk = [(place, self._trie)]
        while walk:
            at, node = walk.pop()
            for byte, child in node.items():
                after = None if byte < 0 else self._language.step(at, byte)
                if after is not None:
                    walk.append((after, child))
                    if -1 in child and self.can_finish(after):
                        found += child[-1]
        return sorted([*ends, *found])

    def can_finish(self, place: Place) -> bool:
        """Tell whether some sequence of tokens leads to an end."""
        if self._writes_all:
            return True
        if place in self._finishes:
            return self._finishes[place]
        seen, ahead = {place}, [place]
        found = False
        while ahead and not found:
            at = ahead.pop()
            if self._language.may_end(at) or self._finishes.get(at):
                found = True
                break
            for token in self._tokens:
                after = self._quietly_after(at, token)
                if after is not None and after not in seen and self._finishes.get(after, True):
                    seen.add(after)
                    ahead.append(after)
        if not found:
            self._finishes.update(dict.fromkeys(seen, False))
        self._finishes[place] = found
        return found

    def _quietly_after(self, place: Place, token: int) -> Place | None:
        """Return the place after a token; None if it begins another word or mark in the same run."""
        at: Place | None = place
        outside = isinstance(place, Free) and self._glue  # unlimited with free="any"
        for byte in self._tokens[token]:
            before, at = at, None if at is None else self._language.step(at, byte)
            outside = outside and isinstance(at, Free)
            if not outside or not isinstance(before, Free) or not isinstance(at, Free):
                continue
            if at.whole is not None:  # may become the abstention
                continue
            if begun_in(at.run, at.pending) > begun_in(before.run, before.pending):
                return None
        return at


def begun_in(run: str, pending: bytes) -> int:
    """Return the number of words and marks in a run of free text."""
    words = re.findall(r"[^\W_']+(?:'[^\W_']*)*", run)
    in_word = bool(run) and (run[-1].isalnum() or run[-1] == "'")
    marks = sum(char in '("-/,.:;!?)' for char in run)
    return len(words) + marks + (bool(pending) and not in_word)
