"""The cache of embeddings: nothing twice, whole after a kill, shared by processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from semqa.errors import UnavailableError
from semqa.retrieval.encoder import CHUNK, EmbeddingCache


def lengths(texts: Sequence[str]) -> NDArray[np.float32]:
    return np.array([[len(text), text.count("a"), 0.1] for text in texts], dtype=np.float32)


def never(texts: Sequence[str]) -> NDArray[np.float32]:
    raise AssertionError(f"computed again: {texts}")


def test_nothing_is_computed_twice(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "embeddings.sqlite"
    texts = ["a", "", "b\udcff", "日本", "a"]
    calls: list[Sequence[str]] = []

    def compute(texts: Sequence[str]) -> NDArray[np.float32]:
        calls.append(texts)
        return lengths(texts)

    first = EmbeddingCache(path).encode("m", texts, compute)
    np.testing.assert_array_equal(first, lengths(texts))
    assert calls == [["a", "", "b\udcff", "日本"]]
    again = EmbeddingCache(path).encode("m", texts[::-1], never)
    np.testing.assert_array_equal(again, lengths(texts[::-1]))
    EmbeddingCache(path).encode("m", ["a", "new"], compute)
    EmbeddingCache(path).encode("other model", ["a"], compute)
    assert calls[1:] == [["new"], ["a"]]


def test_progress_counts_cached_texts(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path / "e.sqlite")
    cache.encode("m", [str(k) for k in range(10)], lengths)
    seen: list[tuple[int, int]] = []
    texts = [str(k) for k in range(10 + CHUNK + 3)]
    cache.encode("m", texts, lengths, lambda done, total: seen.append((done, total)))
    assert seen == [(10, len(texts)), (10 + CHUNK, len(texts)), (len(texts), len(texts))]


def test_no_texts_need_no_file(tmp_path: Path) -> None:
    assert len(EmbeddingCache(tmp_path / "e.sqlite").encode("m", [], never)) == 0
    assert not list(tmp_path.iterdir())


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "e.sqlite"
    path.write_bytes(b"no table at all, but longer than a header " * 20)
    with pytest.raises(UnavailableError, match=r"e\.sqlite: .*Remove the file"):
        EmbeddingCache(path).encode("m", ["a"], lengths)
    (tmp_path / "file").write_text("")
    with pytest.raises(UnavailableError, match="cannot be used"):
        EmbeddingCache(tmp_path / "file" / "e.sqlite").encode("m", ["a"], lengths)


WRITER = """
import sys, time
from pathlib import Path
import numpy as np
from semqa.retrieval.encoder import EmbeddingCache

def compute(texts):
    time.sleep(float(sys.argv[3]))
    return np.array([[len(t), hash(t) % 7, 1.0] for t in texts], dtype=np.float32)

texts = [f"text {k}" for k in range(int(sys.argv[2]))]
EmbeddingCache(Path(sys.argv[1])).encode("m", texts, compute)
"""


def writer(path: Path, count: int, pause: float) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, str(path), str(count), str(pause)]
    return subprocess.Popen(command, env={**os.environ, "PYTHONHASHSEED": "0"})


def test_killed_at_work_keeps_whole_chunks(tmp_path: Path) -> None:
    path = tmp_path / "e.sqlite"
    process = writer(path, 4 * CHUNK, 0.2)
    texts = [f"text {k}" for k in range(4 * CHUNK)]
    while process.poll() is None:
        if path.exists() and path.stat().st_size > 100 * CHUNK:  # the second is going in
            os.kill(process.pid, signal.SIGKILL)
        time.sleep(0.01)
    process.wait()
    assert process.returncode == -signal.SIGKILL
    missing: list[str] = []

    def compute(texts: Sequence[str]) -> NDArray[np.float32]:
        missing.extend(texts)
        return lengths(texts)

    vectors = EmbeddingCache(path).encode("m", texts, compute)
    assert vectors.shape == (len(texts), 3)
    assert len(missing) % CHUNK == 0
    assert 0 < len(missing) < len(texts)


def test_several_processes_share_the_cache(tmp_path: Path) -> None:
    path = tmp_path / "e.sqlite"
    processes = [writer(path, 2 * CHUNK + k, 0.05) for k in range(3)]
    assert [process.wait(timeout=60) for process in processes] == [0, 0, 0]
    texts = [f"text {k}" for k in range(2 * CHUNK + 2)]
    vectors = EmbeddingCache(path).encode("m", texts, never)
    assert vectors[:, 0].tolist() == [len(text) for text in texts]
