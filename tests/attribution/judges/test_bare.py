"""What runs on a bare machine: the judge without a model loads no package that a model needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from semqa.attribution.judges import create_judge
from semqa.errors import MissingExtraError

SCRIPT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HEAVY:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
HEAVY = {"torch", "transformers", "numba", "spacy", "sklearn", "scipy", "huggingface_hub"}
sys.meta_path.insert(0, Absent())
from semqa.attribution.ais.auto import ToCheck, check_answers
from semqa.attribution.citations import citation_scores
from semqa.attribution.judges import CachedJudge, create_judge
from semqa.quotes import QuotedAnswer, Source
answer = QuotedAnswer.parse("[ 1 Bing ] sang.", [Source("Bing sang.")])
judge = CachedJudge(create_judge("lexical"), None)
(check,) = check_answers([ToCheck("Who?", answer)], judge)
assert check.supported and citation_scores(answer, judge).recall == 100
assert not HEAVY & {name.partition(".")[0] for name in sys.modules}
"""


def test_judging_needs_no_package_of_an_extra() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_judge_of_models_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(
        "semqa.attribution.judges.transformers.find_spec",
        lambda name: None if name == "torch" else object(),
    )
    with pytest.raises(MissingExtraError, match=r"the judge transformers:nli=a/b needs packages"):
        create_judge("transformers:nli=a/b")
