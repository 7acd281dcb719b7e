"""Judges by name; what runs on a bare machine and without a network."""

from __future__ import annotations

import subprocess
import sys

import pytest

from semqa.attribution.judges import create_judge
from semqa.errors import InputError, MissingExtraError


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("lexicla", "Judge 'lexicla'"),
        ("engine", "Judge 'engine'"),
        ("engine:lead-2", "does not use a language model"),
        ("transformers:nil=x", "must begin with one of nli="),
        ("transformers:nli=a/b,nli=c/d", "nli is"),
        ("transformers:nli=/no/such/folder", "No such folder"),
        ("transformers:nli=a/b,words=1", "words must"),
        ("transformers:nli=a/b,threshold=x", "threshold must"),
        ("transformers:nli=a/b,premise-format=x", "premise_format must"),
    ],
)
def test_what_is_wrong_with_a_specification_is_said(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        create_judge(spec)


SCRIPT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HEAVY:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
HEAVY = {"torch", "transformers", "numba", "spacy", "sklearn", "scipy", "huggingface_hub"}
sys.meta_path.insert(0, Absent())
from semqa.attribution.ais.auto import CheckInput, check_answers
from semqa.attribution.citations import citation_scores
from semqa.attribution.judges import CachedJudge, create_judge
from semqa.quotes import QuotedAnswer, Source
answer = QuotedAnswer.parse("[ 1 Bing ] sang.", [Source("Bing sang.")])
judge = CachedJudge(create_judge("lexical"), None)
(check,) = check_answers([CheckInput("Who?", answer)], judge)
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
        "semqa.attribution.judges.models.find_spec",
        lambda name: None if name == "torch" else object(),
    )
    with pytest.raises(MissingExtraError, match=r"the judge transformers:nli=a/b needs"):
        create_judge("transformers:nli=a/b")
