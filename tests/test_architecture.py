"""The house keeps its shape: imports point downwards."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

LAYERS = (
    "quotes",
    "documents",
    "data",
    "metrics",
    "decoding",
    "prompting",
    "retrieval",
    "engines",
    "training",
    "attribution",
    "bench",
    "questions",
    "distributed",
    "harness",
    "server",
    "studies",
    "cli",
)
"""Rooms from the ground up; a room imports itself and those before it."""


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "semqa" and len(parts) > 1 and parts[1] in LAYERS:
                rooms.add(parts[1])
    return rooms


def test_modules_import_downwards() -> None:
    upwards = {}
    for number, room in enumerate(LAYERS):
        for path in (ROOT / "semqa" / room).rglob("*.py"):
            if above := imported_rooms(path) & {*LAYERS[number + 1 :]}:
                upwards[str(path.relative_to(ROOT))] = above
    assert upwards == {}
