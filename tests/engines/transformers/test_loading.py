"""Loading models from folders, and one-line errors if that fails; the network is not used."""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from semqa import InputError, Source
from semqa.engines import Request, create_engine
from semqa.engines.transformers import TransformersEngine, TransformersOptions
from semqa.engines.transformers.loading import LoadedModel
from semqa.errors import MissingExtraError, UnavailableError
from tests.models import save, tiny

if TYPE_CHECKING:
    from pathlib import Path

    from semqa import QuotedAnswer

SOURCES = [Source("The bridge was opened in 1932 by the mayor.")]
QUESTION = "When was it opened?"
OPTIONS: dict[str, Any] = {"max_new_tokens": 24, "quote_bias": 9.0}


def load(model: object, **options: Any) -> TransformersEngine:
    engine = create_engine(f"transformers:{model}", OPTIONS | options)
    assert isinstance(engine, TransformersEngine)
    return engine


def answer(model: object) -> QuotedAnswer:
    return load(model).answer(QUESTION, SOURCES)


def rejected(model: object, message: str, kind: type[Exception] = InputError) -> None:
    with pytest.raises(kind, match=message) as info:
        load(model)
    assert "\n" not in str(info.value)


@pytest.mark.parametrize("family", ["llama-sentencepiece", "t5"])
def test_a_saved_model_answers_as_it_did(family: str, tmp_path: Path) -> None:
    made = tiny(family)
    loaded = LoadedModel(made.model, made.tokenizer)
    direct = TransformersEngine(loaded, TransformersOptions(**OPTIONS))
    expected = direct.answer(QUESTION, SOURCES)
    assert expected.verified
    assert answer(save(family, tmp_path / "model")) == expected


def test_nothing_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = save("gpt2", tmp_path / "model")
    from transformers.utils import logging as hub_logging

    level = hub_logging.get_verbosity()
    hub_logging.set_verbosity_info()
    hub_logging.enable_progress_bar()
    capfd.readouterr()
    try:
        answer(folder)
        assert hub_logging.get_verbosity() == logging.INFO
        assert hub_logging.is_progress_bar_enabled()
    finally:
        hub_logging.set_verbosity(level)
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")


def change(folder: Path, **settings: object) -> None:
    path = folder / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


def test_the_models_own_settings_do_not_change_decoding(tmp_path: Path) -> None:
    folder = save("gpt2", tmp_path / "model")
    plain = answer(folder)
    change(folder, do_sample=True, temperature=9.0, min_length=90, no_repeat_ngram_size=1)
    assert answer(folder) == plain


def test_end_tokens_of_the_generation_config_end_an_answer(tmp_path: Path) -> None:
    folder = save("llama-chat", tmp_path / "model")
    change(folder, eos_token_id=[1, 6])
    made = load(folder)
    assert made._decoder.ends == {1, 6}
    assert made.answer(QUESTION, SOURCES).verified


def test_a_tokenizer_may_have_tokens_that_the_model_does_not_know(tmp_path: Path) -> None:
    folder = save("llama-chat", tmp_path / "model")
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["mayor"])
    tokenizer.add_special_tokens({"pad_token": "<padding>"})  # often added but never used
    tokenizer.save_pretrained(folder)
    made = load(folder)
    assert made._decoder.vocabulary.size == len(tokenizer) - 2
    with pytest.raises(InputError, match="The prompt has token"):
        made.answer(QUESTION, SOURCES)
    rain = [Source("Bob crossed it in the rain.")]
    requests = [Request("Who?", rain), Request("Who crossed it, in the rain?", rain)]
    assert all(answer.verified for answer in made.answer_batch(requests))


def test_a_folder_without_a_tokenizer_is_rejected(tmp_path: Path) -> None:
    """Some tokenizer classes are then created silently, with only control tokens."""
    folder = save("t5", tmp_path / "model")
    for path in folder.iterdir():
        if "token" in path.name:
            path.unlink()
    rejected(folder, "no tokenizer")


def test_the_tokenizer_of_another_model_is_rejected(tmp_path: Path) -> None:
    folder = save("bert", tmp_path / "model")
    tiny("llama-sentencepiece").tokenizer.save_pretrained(folder)
    known = tiny("bert").model.get_input_embeddings().num_embeddings
    rejected(folder, f"the model has {known} tokens")


def test_a_model_without_a_head_is_rejected(tmp_path: Path) -> None:
    folder = save("bert", tmp_path / "model")
    from transformers import BertModel

    BertModel(tiny("bert").model.config).save_pretrained(folder)
    rejected(folder, "no weights for cls")


def test_a_missing_folder(tmp_path: Path) -> None:
    rejected(f"{tmp_path}/none", "No such folder: .+/none")
    rejected(tmp_path, "config.json is missing")
    (tmp_path / "config.json").write_text("{}")
    rejected(tmp_path, "cannot be loaded")


def test_devices_and_revisions_that_do_not_exist(tmp_path: Path) -> None:
    folder = save("gpt2", tmp_path / "model")
    for given in ({"device": "gpu"}, {"device": "cuda:99"}, {"revision": "v2"}):
        with pytest.raises(InputError, match=f"^{next(iter(given))} "):
            load(folder, **given)


@pytest.mark.parametrize(
    ("failure", "kind", "message"),
    [
        ("RepositoryNotFoundError", InputError, "me/it not found"),
        ("GatedRepoError", InputError, "restricted.+hf auth login"),
        ("LocalEntryNotFoundError", UnavailableError, "cannot be reached"),
        ("ImportError", MissingExtraError, "me/it needs a package: It requires"),
        ("ValueError", InputError, "cannot be loaded: OSError of transformers"),
    ],
)
def test_an_error_of_the_hub_becomes_one_line(
    failure: str, kind: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import HfApi, errors
    from transformers import AutoConfig

    def fail(*_: object, **__: object) -> None:
        if failure == "ImportError":
            raise ImportError("It requires\nsentencepiece")
        if failure == "ValueError":
            raise OSError("OSError of transformers\nand more") from ValueError("custom code")
        request = httpx.Request("GET", "https://huggingface.co")
        response = httpx.Response(404, request=request)
        error = errors.LocalEntryNotFoundError("x")
        if failure != "LocalEntryNotFoundError":
            error = getattr(errors, failure)("404\n\n", response=response)
        raise OSError("OSError of transformers\nand more") from error

    monkeypatch.setattr(HfApi, "model_info", lambda *_, **__: None)
    monkeypatch.setattr(AutoConfig, "from_pretrained", fail)
    rejected("me/it", message, kind)


class Hub:
    """A fake Hub that cannot be reached; `asked` has names and revisions."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []

    def model_info(self, name: str, *, revision: str | None, timeout: float) -> None:
        assert timeout <= 10
        self.asked.append((name, revision))
        raise httpx.ConnectError("[Errno -2] Name or service not known")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Hub:
    """An unreachable Hub, and a cache with one model, ``me/cached``."""
    import huggingface_hub

    folder = tmp_path / "hub/models--me--cached"
    commit = "0123456789abcdef0123456789abcdef01234567"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs/main").write_text(commit)
    save("gpt2", folder / "snapshots" / commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    made = Hub()
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: made)
    return made


def test_a_cached_model_needs_no_network(
    hub: Hub, tmp_path: Path, asked_hosts: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    rejected("nope", "Model nope is not in the cache", UnavailableError)
    assert hub.asked == [("nope", None)]
    assert capfd.readouterr().err == ""
    assert answer("me/cached") == answer(save("gpt2", tmp_path / "model"))
    with pytest.raises(UnavailableError, match="Model me/cached is not in the cache"):
        load("me/cached", revision="v2")
    assert asked_hosts == []


def test_transformers_itself_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    rejected("x", r"^the engine transformers:x needs .+\[local\]", MissingExtraError)
