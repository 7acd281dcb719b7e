"""Loading models from folders, and one-line errors if that fails; the network is not used."""

from __future__ import annotations

import json
import logging
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

SOURCES = [Source("The bridge was opened in 1932 by the mayor.")]
QUESTION = "When was it opened?"
OPTIONS = {"max_new_tokens": 24, "quote_bias": 9.0}


@pytest.mark.parametrize("family", ["llama-sentencepiece", "t5"])
def test_a_saved_model_answers_as_it_did(family: str, tmp_path: Path) -> None:
    folder = save(family, tmp_path / "model")
    made = create_engine(f"transformers:{folder}", OPTIONS)
    assert isinstance(made, TransformersEngine)
    assert made.name == f"transformers:{folder}"
    kept = tiny(family)
    direct = TransformersEngine(
        LoadedModel(kept.model, kept.tokenizer),
        TransformersOptions(**OPTIONS),  # type: ignore[arg-type]
    )
    answer = made.answer(QUESTION, SOURCES)
    assert answer.verified
    assert answer == direct.answer(QUESTION, SOURCES)


def test_nothing_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = save("gpt2", tmp_path / "model")
    from transformers.utils import logging as hub_logging

    level = hub_logging.get_verbosity()
    hub_logging.set_verbosity_info()
    hub_logging.enable_progress_bar()
    capfd.readouterr()
    try:
        create_engine(f"transformers:{folder}", OPTIONS).answer(QUESTION, SOURCES)
        assert hub_logging.get_verbosity() == logging.INFO
        assert hub_logging.is_progress_bar_enabled()
    finally:
        hub_logging.set_verbosity(level)
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err == ""


def test_the_models_own_settings_do_not_change_decoding(tmp_path: Path) -> None:
    folder = save("gpt2", tmp_path / "model")
    plain = create_engine(f"transformers:{folder}", OPTIONS).answer(QUESTION, SOURCES)
    path = folder / "generation_config.json"
    record = json.loads(path.read_text())
    record |= {"do_sample": True, "temperature": 9.0, "min_length": 90, "no_repeat_ngram_size": 1}
    path.write_text(json.dumps(record))
    assert create_engine(f"transformers:{folder}", OPTIONS).answer(QUESTION, SOURCES) == plain


def test_end_tokens_of_the_generation_config_end_an_answer(tmp_path: Path) -> None:
    folder = save("llama-chat", tmp_path / "model")
    path = folder / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"eos_token_id": [1, 6]}))
    made = create_engine(f"transformers:{folder}", OPTIONS)
    assert isinstance(made, TransformersEngine)
    assert made._decoder.ends == {1, 6}
    assert made.answer(QUESTION, SOURCES).verified


def test_a_tokenizer_larger_than_the_model(tmp_path: Path) -> None:
    folder = save("llama-chat", tmp_path / "model")
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["] [ 9 x"])
    tokenizer.save_pretrained(folder)
    made = create_engine(f"transformers:{folder}", OPTIONS)
    assert isinstance(made, TransformersEngine)
    assert made._decoder.vocabulary.size == len(tokenizer) - 1
    assert made.answer(QUESTION, SOURCES).verified


def test_a_prompt_with_a_token_unknown_to_the_model(tmp_path: Path) -> None:
    folder = save("llama-chat", tmp_path / "model")
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["mayor"])
    tokenizer.add_special_tokens({"pad_token": "<padding>"})  # often added but never used
    tokenizer.save_pretrained(folder)
    made = create_engine(f"transformers:{folder}", OPTIONS)
    with pytest.raises(InputError, match=r"The prompt has token"):
        made.answer(QUESTION, SOURCES)
    rain, short = [Source("Bob crossed it in the rain.")], "Who?"
    assert isinstance(made, TransformersEngine)
    requests = [Request(short, rain), Request("Who crossed it, in the rain?", rain)]
    assert all(answer.verified for answer in made.answer_batch(requests))


def test_a_folder_without_a_tokenizer_is_rejected(tmp_path: Path) -> None:
    """Some tokenizer classes are then created silently, with only control tokens."""
    folder = save("t5", tmp_path / "model")
    for path in folder.iterdir():
        if "token" in path.name:
            path.unlink()
    with pytest.raises(InputError, match=r"no tokenizer") as info:
        create_engine(f"transformers:{folder}", OPTIONS)
    assert "\n" not in str(info.value)


def test_the_tokenizer_of_another_model_is_rejected(tmp_path: Path) -> None:
    folder = save("bert", tmp_path / "model")
    tiny("llama-sentencepiece").tokenizer.save_pretrained(folder)
    known = tiny("bert").model.get_input_embeddings().num_embeddings
    with pytest.raises(InputError, match=f"the model has {known} tokens"):
        create_engine(f"transformers:{folder}", OPTIONS)


def test_a_model_without_a_head_is_rejected(tmp_path: Path) -> None:
    folder = save("bert", tmp_path / "model")
    from transformers import BertModel

    BertModel(tiny("bert").model.config).save_pretrained(folder)
    with pytest.raises(InputError, match=r"no weights for cls"):
        create_engine(f"transformers:{folder}", OPTIONS)


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"No such folder: .+/none"):
        create_engine(f"transformers:{tmp_path}/none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"config.json is missing") as info:
        create_engine(f"transformers:{tmp_path}/empty")
    assert "\n" not in str(info.value)
    (tmp_path / "empty/config.json").write_text("{}")
    with pytest.raises(InputError, match="/empty cannot be loaded") as info:
        create_engine(f"transformers:{tmp_path}/empty")
    assert "\n" not in str(info.value)


def _response(status: int) -> httpx.Response:
    return httpx.Response(status, request=httpx.Request("GET", "https://huggingface.co"))


def failures() -> dict[str, tuple[Any, type[Exception], str]]:
    from huggingface_hub import errors

    def hub(kind: Any, text: str) -> Any:
        return kind(text, response=_response(404))

    return {
        "missing": (hub(errors.RepositoryNotFoundError, "404\n\n"), InputError, "me/it not found"),
        "gated": (hub(errors.GatedRepoError, "403"), InputError, r"restricted.+hf auth login"),
        "offline": (errors.LocalEntryNotFoundError("x"), UnavailableError, "cannot be reached"),
        "package": (
            ImportError("It requires\nsentencepiece"),
            MissingExtraError,
            r"me/it needs a package: It requires",
        ),
        "code": (
            ValueError("custom code"),
            InputError,
            "cannot be loaded: OSError of transformers",
        ),
    }


@pytest.mark.parametrize("case", failures())
def test_an_error_of_the_hub_becomes_one_line(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import HfApi
    from transformers import AutoConfig

    failure, kind, message = failures()[case]

    def fail(*_: object, **__: object) -> None:
        if isinstance(failure, ImportError):
            raise failure
        raise OSError("OSError of transformers\nand more") from failure

    monkeypatch.setattr(HfApi, "model_info", lambda *_, **__: None)
    monkeypatch.setattr(AutoConfig, "from_pretrained", fail)
    with pytest.raises(kind, match=message) as info:
        create_engine("transformers:me/it", {"revision": "v9"})
    assert "\n" not in str(info.value)


class Hub:
    """A fake Hub that fails every request for a model.

    Attributes:
        asked: names and revisions.
    """

    def __init__(self, error: Exception) -> None:
        self.asked: list[tuple[str, str | None]] = []
        self._error = error

    def model_info(self, name: str, *, revision: str | None, timeout: float) -> None:
        assert timeout <= 10
        self.asked.append((name, revision))
        raise self._error


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
    made = Hub(httpx.ConnectError("[Errno -2] Name or service not known"))
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: made)
    return made


def test_without_a_network_the_hub_is_requested_once(
    hub: Hub, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UnavailableError, match=r"Model nope is not in the cache"):
        create_engine("transformers:nope", OPTIONS)
    assert hub.asked == [("nope", None)]
    assert capfd.readouterr().err == ""


def test_a_cached_model_needs_no_network(hub: Hub, tmp_path: Path, asked_hosts: list[str]) -> None:
    made = create_engine("transformers:me/cached", OPTIONS)
    assert hub.asked == [("me/cached", None)]
    kept = create_engine(f"transformers:{save('gpt2', tmp_path / 'model')}", OPTIONS)
    assert made.answer(QUESTION, SOURCES) == kept.answer(QUESTION, SOURCES)
    with pytest.raises(UnavailableError, match=r"Model me/cached is not in the cache"):
        create_engine("transformers:me/cached", OPTIONS | {"revision": "v2"})
    assert asked_hosts == []


def test_transformers_itself_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"^the engine transformers:x needs .+\[local\]"):
        create_engine("transformers:x")


def test_invalid_combinations_with_a_folder(tmp_path: Path) -> None:
    folder = save("gpt2", tmp_path / "model")
    for given in ({"device": "gpu"}, {"device": "cuda:99"}, {"revision": "v2"}):
        with pytest.raises(InputError, match=f"^{next(iter(given))} "):
            create_engine(f"transformers:{folder}", given)
