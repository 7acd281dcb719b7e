"""The engine with the real vLLM: answers, streams, errors, closing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from semqa import InputError, QuotedAnswer, Source
from semqa.engines import Request, create_engine
from semqa.engines.transformers import TransformersEngine
from semqa.engines.vllm import VllmEngine, VllmOptions
from semqa.engines.vllm.service import LoadedService, load_service
from semqa.errors import UnavailableError
from tests.engines.streaming import streamed

pytestmark = [
    pytest.mark.skipif(find_spec("vllm") is None, reason="needs vLLM; run make test-vllm"),
    pytest.mark.filterwarnings("ignore"),  # vLLM's own
]

SOURCES = [
    Source("Ann built the bridge in 1932, and Bob crossed it first.", title="The bridge"),
    Source("It opened in March. [ 1 nobody ] had asked him to."),
]
REQUESTS = [
    Request("Who built it?", SOURCES),
    Request("When was it opened?", SOURCES[::-1]),
    Request("A café?", [Source("Un café — naïve, 日本.")]),
]
SMALL = {"enforce_eager": True, "kv_cache_memory_bytes": 64 << 20, "max_num_seqs": 8}
OPTIONS: dict[str, Any] = {
    "dtype": "float32",
    "max_new_tokens": 60,
    "temperature": 1.0,
    "quote_bias": 4.0,
    "engine_args": SMALL,
}


def save_model(folder: Path) -> Path:
    """Save a model whose attention heads are wide enough for vLLM."""
    from tests.models import llama_config, tiny, write

    tokenizer = tiny("llama-chat").tokenizer
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_key_value_heads": 2}
    # Larger than the tokenizer, as in many models.
    config = llama_config(len(tokenizer) + 200, pad_token_id=0, **sizes)
    return write(folder, "LlamaForCausalLM", config, tokenizer, 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def loaded(folder: Path) -> Iterator[LoadedService]:
    """A model in vLLM; on two CPU cores, two processes share each layer."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    spread: dict[str, Any] = {"tensor_parallel_size": len(cores)}
    if len(cores) > 1:
        spread["engine_args"] = {**SMALL, "distributed_executor_backend": "mp"}
    with pytest.MonkeyPatch.context() as patch:
        # Without a GPU, vLLM needs to know which CPU cores each process gets.
        patch.setenv("VLLM_CPU_OMP_THREADS_BIND", "|".join(map(str, cores)))
        made = load_service(str(folder), VllmOptions(**OPTIONS | spread))
    yield made
    made.service.close()


@pytest.fixture(scope="module")
def engine(loaded: LoadedService) -> VllmEngine:
    return VllmEngine(loaded, VllmOptions(**OPTIONS))


def text_of(engine: VllmEngine, request: Request) -> tuple[str, Any]:
    pieces, generation = streamed(engine, request)
    return "".join(pieces), generation


def test_whole_quotes_are_chosen_as_in_transformers(folder: Path, loaded: LoadedService) -> None:
    asked = [Request("When was the bridge built, and who crossed it?", SOURCES), *REQUESTS]
    in_transformers = create_engine(
        f"transformers:{folder}", {"dtype": "float32", "max_new_tokens": 120}
    )
    assert isinstance(in_transformers, TransformersEngine)
    expected = in_transformers.generate(asked)
    greedy = VllmEngine(loaded, VllmOptions(dtype="float32", max_new_tokens=120))
    for _ in range(2):  # the second time everything is in vLLM's cache
        found = greedy.generate(asked)
        assert [each.text for each in found] == [each.text for each in expected]
        assert all(each.finished and each.breach is None for each in found)
    assert "[ 1 " in found[0].text
    assert text_of(greedy, asked[0]) == (found[0].text, found[0])


def test_quotes_are_verbatim(engine: VllmEngine) -> None:
    made = engine.generate(REQUESTS * 4)
    for request, generation in zip(REQUESTS * 4, made, strict=True):
        answer = QuotedAnswer.parse(generation.text, request.sources)
        assert answer.verified or answer.abstained
        assert generation.finished
        assert generation.constraint == "processor"
        assert generation.breach is None
        assert 0 < (generation.new_tokens or 0) <= 60
        assert (generation.prompt_tokens or 0) > 50
    # The same question with the same seed gets the same answer, whatever else is in the batch.
    assert made[0].text == made[3].text
    assert made[0].text != made[1].text
    assert engine.answer(*REQUESTS[0]).marked == QuotedAnswer.parse(made[0].text, SOURCES).marked


def test_sampled_prompts_may_exceed_one_batch_of_tokens(engine: VllmEngine) -> None:
    long = [Source("Ann built the bridge in 1932. " * 60)]
    requests = [Request(f"Who built bridge {number}?", long) for number in range(8)]
    made = engine.generate(requests)
    assert sum(generation.prompt_tokens or 0 for generation in made) > 8192
    assert all(generation.breach is None for generation in made)


def test_a_stream_adds_up_to_the_answer(engine: VllmEngine) -> None:
    for request, generation in zip(REQUESTS, engine.generate(REQUESTS), strict=True):
        text, streamed = text_of(engine, request)
        assert text == generation.text
        assert streamed == generation


def test_threads_share_an_engine(engine: VllmEngine) -> None:
    alone = [generation.text for generation in engine.generate(REQUESTS)]
    with ThreadPoolExecutor(9) as pool:
        found = pool.map(lambda request: text_of(engine, request)[0], REQUESTS * 3)
    assert list(found) == alone * 3


def test_completions_are_free_greedy_and_the_same_in_a_batch(engine: VllmEngine) -> None:
    prompts = ["Who built the bridge?", "When?", "Say what you see, word for word."]
    texts = engine.complete(prompts, max_new_tokens=12)
    assert texts == [engine.complete([prompt], max_new_tokens=12)[0] for prompt in prompts]
    assert all(len(text) <= 200 for text in texts)
    with pytest.raises(InputError, match=r"prompt has 3,\d+ tokens"):
        engine.complete(["word " * 3000], max_new_tokens=12)


def test_invalid_requests_raise_and_the_engine_goes_on(engine: VllmEngine) -> None:
    with pytest.raises(InputError, match=r"prompt has 3,\d+ tokens"):
        engine.answer("word " * 3000, SOURCES)
    with pytest.raises(InputError, match=r"blank"):
        engine.answer(" ", SOURCES)
    with pytest.raises(InputError, match="At least one source"):
        engine.answer("Who?", [])
    assert engine.answer(*REQUESTS[0]).marked


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"engine_args": {"nonsense": 1}},
            r"^engine_args ",
        ),
        ({"engine_args": {"quantization": "nope"}}, r"^vLLM cannot run model .+nope"),
        ({"context": 100_000}, r"^vLLM cannot run model .+max_model_len"),
    ],
    ids=["argument", "quantization", "context"],
)
def test_errors_of_vllm_are_one_line(folder: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        create_engine(f"vllm:{folder}", settings)
    assert "\n" not in str(raised.value)


def test_a_dead_or_closed_engine_raises(engine: VllmEngine) -> None:
    """The last test, because it kills the engine of the others."""
    import psutil

    for one in psutil.Process().children(recursive=True):
        if one.status() != psutil.STATUS_ZOMBIE and "tracker" not in " ".join(one.cmdline()):
            one.kill()
    with pytest.raises(UnavailableError, match=r"^vLLM stopped working .+ Set VLLM_LOGGING"):
        engine.generate(REQUESTS)
    engine.close()
    engine.close()
    with pytest.raises(InputError, match=r"^The engine is closed"):
        engine.answer(*REQUESTS[0])
