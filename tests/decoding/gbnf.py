"""A matcher for the subset of GBNF that semqa writes."""

from __future__ import annotations

import re
from functools import cache

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|[a-z0-9-]+|[()|?*]')
_ESCAPE = re.compile(r"\\(?:U([0-9A-F]{8})|(.))")

_Node = tuple[str, object]


class Gbnf:
    """A grammar."""

    def __init__(self, grammar: str) -> None:
        self.rules: dict[str, _Node] = {}
        for line in grammar.splitlines():
            name, _, body = line.partition(" ::= ")
            tokens = _TOKEN.findall(body)
            assert "".join(tokens).replace(" ", "") == body.replace(" ", ""), body
            self.rules[name] = _choice(tokens)
            assert not tokens, tokens

    def admits(self, text: str) -> bool:
        """Return whether the grammar matches a whole text."""

        @cache
        def rule_ends(name: str, at: int) -> frozenset[int]:
            return frozenset(ends(self.rules[name], at))

        def ends(node: _Node, at: int) -> set[int]:
            kind, inside = node
            if kind == "text":
                return {at + len(inside)} if text.startswith(inside, at) else set()  # type: ignore[arg-type]
            if kind == "class":
                return {at + 1} if re.match(inside, text[at : at + 1]) else set()  # type: ignore[call-overload]
            if kind == "rule":
                return set(rule_ends(inside, at))
            if kind == "choice":
                return {end for node in inside for end in ends(node, at)}  # type: ignore[attr-defined]
            if kind == "sequence":
                found = {at}
                for part in inside:  # type: ignore[attr-defined]
                    found = {end for start in found for end in ends(part, start)}
                return found
            found = new = {at}
            while new and (kind == "*" or found == {at}):
                new = {end for start in new for end in ends(inside, start)} - found  # type: ignore[arg-type]
                found = found | new
                if kind == "?":
                    break
            return found

        return len(text) in rule_ends("root", 0)


def _choice(tokens: list[str]) -> _Node:
    choices = [_sequence(tokens)]
    while tokens and tokens[0] == "|":
        tokens.pop(0)
        choices.append(_sequence(tokens))
    return "choice", choices


def _sequence(tokens: list[str]) -> _Node:
    parts: list[_Node] = []
    while tokens and tokens[0] not in "|)":
        token = tokens.pop(0)
        if token == "(":
            parts.append(_choice(tokens))
            assert tokens.pop(0) == ")"
        elif token[0] == '"':
            parts.append(("text", _ESCAPE.sub(_unescaped, token[1:-1])))
        elif token[0] == "[":
            parts.append(("class", token))
        elif token in "?*":
            parts.append((token, parts.pop()))
        else:
            parts.append(("rule", token))
    return "sequence", parts


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else match[2]
