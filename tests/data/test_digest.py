"""What tells two folders apart, and what does not."""

from __future__ import annotations

from pathlib import Path

from semqa.data.files import EVERY, SAMPLE, WHOLE, folder_digest


def test_every_byte_of_a_small_file_counts(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    path = tmp_path / "a" / "b" / "weights.bin"
    seen = set()
    for content in (b"", b"one", b"two", bytes(WHOLE), bytes(WHOLE - 1) + b"1"):
        path.write_bytes(content)
        seen.add(folder_digest(tmp_path))
    path.rename(tmp_path / "a" / "weights.bin")
    seen.add(folder_digest(tmp_path))
    assert len(seen) == 6


def test_a_matrix_that_was_trained_further_shows_wherever_it_lies(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    weights = bytearray(WHOLE + EVERY + 12_345)
    path.write_bytes(weights)
    seen = {folder_digest(tmp_path)}
    starts = [*range(0, len(weights) - EVERY, EVERY // 2 + 1), len(weights) - EVERY]
    for start in starts:
        changed = weights.copy()
        changed[start : start + EVERY] = bytes([1]) * EVERY
        path.write_bytes(changed)
        seen.add(folder_digest(tmp_path))
    weights[-1] = 1
    path.write_bytes(weights)
    seen.add(folder_digest(tmp_path))
    weights.append(1)
    path.write_bytes(weights)
    seen.add(folder_digest(tmp_path))
    assert len(seen) == len(starts) + 3
    assert SAMPLE < EVERY


def test_notes_and_hidden_files_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    seen = folder_digest(tmp_path)
    (tmp_path / "README.md").write_text("about")
    (tmp_path / ".lock").write_text("")
    assert folder_digest(tmp_path) == seen
