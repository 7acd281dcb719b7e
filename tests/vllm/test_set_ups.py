"""Engines of other kinds: drafts, asynchronous scheduling, a real vocabulary, and what is refused."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from semqa import InputError, Source
from semqa.decoding import QuotePolicy
from tests.vllm.engine import PROCESSOR, Engine, params

POLICIES = (QuotePolicy(free="any", quote_bias=4), QuotePolicy())
REPEATS = [Source("the bridge, the bridge, the bridge, the bridge, the bridge. " * 8)]
DRAFTS = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3}


@pytest.fixture
def scheduled_ahead(runner: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asynchronous scheduling on a CPU, where vLLM turns it off."""
    import vllm.v1.worker.cpu.shm  # noqa: F401  (stands in for streams and events)
    from vllm.platforms.cpu import CpuPlatform

    check = CpuPlatform.check_and_update_config

    def check_but_this(config: Any) -> None:
        check(config)
        config.scheduler_config.async_scheduling = True

    monkeypatch.setattr(CpuPlatform, "check_and_update_config", staticmethod(check_but_this))


def test_asynchronous_scheduling(llama: Path, runner: int, scheduled_ahead: None) -> None:
    tight: dict[str, Any] = {"max_num_batched_tokens": 64, "block_size": 32}
    tight |= {"max_model_len": 256, "num_gpu_blocks_override": 10}
    with closing(Engine(llama, **tight, async_scheduling=True)) as engine:
        assert engine.config.scheduler_config.async_scheduling
        count = 24 if runner == 1 else 4
        given = [
            params(POLICIES[n % 2], max_tokens=60 if runner == 1 else 40) for n in range(count)
        ]
        outputs = engine.run(given)
        for n in range(count):
            engine.check(outputs[str(n)].outputs[0], POLICIES[n % 2])
        if runner == 1:
            assert engine.metric("vllm:num_preemptions") > 0


def test_drafts(llama: Path, runner: int) -> None:
    """Drafts are copied from what was written; under the first runner vLLM itself refuses."""
    if runner == 1:
        with pytest.raises(ValueError, match="not supported when speculative decoding"):
            Engine(llama, speculative_config=DRAFTS)
        return
    with closing(Engine(llama, max_model_len=256, speculative_config=DRAFTS)) as engine:
        policy = QuotePolicy(quote_bias=30, boundary="char")
        given = [params(policy, REPEATS, max_tokens=28, temperature=n % 3 / 2) for n in range(4)]
        given += [params(POLICIES[n % 2], max_tokens=30) for n in range(2)]
        outputs = engine.generate(given, "the bridge, the bridge, the bridge, the bridge")
        for n, output in enumerate(outputs):
            if n < 4:
                engine.check(output.outputs[0], policy, REPEATS)
            else:
                engine.check(output.outputs[0], POLICIES[n % 2])
        assert engine.metric("vllm:spec_decode_num_accepted_tokens") > 0
        rejected = engine.metric("vllm:spec_decode_num_draft_tokens")
        assert rejected > engine.metric("vllm:spec_decode_num_accepted_tokens")


def test_drafts_of_a_model(llama: Path, runner: int) -> None:
    """The model drafts for itself: free text is taken, and what the constraint forbids is not."""
    if runner == 1:
        pytest.skip("the first model runner refuses drafts, whoever makes them")
    drafts = {"model": str(llama), "method": "draft_model", "num_speculative_tokens": 2}
    with closing(Engine(llama, max_model_len=256, speculative_config=drafts)) as engine:
        policies = (QuotePolicy(free="any"), QuotePolicy())
        given = [params(policies[n % 2], max_tokens=24, temperature=n // 2) for n in range(4)]
        for n, output in enumerate(engine.generate(given)):
            engine.check(output.outputs[0], policies[n % 2])
        accepted = engine.metric("vllm:spec_decode_num_accepted_tokens")
        assert 0 < accepted < engine.metric("vllm:spec_decode_num_draft_tokens")


def test_a_real_vocabulary(tekken: Path, runner: int) -> None:
    options = {"tokenizer_mode": "mistral", "config_format": "hf", "load_format": "auto"}
    rows = 8 if runner == 1 else 1
    with closing(Engine(tekken, **options, max_model_len=256, max_num_seqs=rows)) as engine:
        # Triton's interpreter takes seconds for a step of so many tokens.
        count, most = (24, 60) if runner == 1 else (1, 7)
        policy = QuotePolicy()
        given = [params(policy, max_tokens=most) for _ in range(count)]
        for output in engine.generate(given, "Who sang it?"):
            engine.check(output.outputs[0], policy)


def test_a_plugin_alone_is_refused(
    llama: Path, runner: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the first runner a plugin is not heard reliably; both ways at once mask twice."""
    info = tmp_path / "plugged-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[vllm.logits_processors]\nours = {PROCESSOR}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    if runner == 1:
        with pytest.raises(InputError, match="is installed as a plugin only"):
            Engine(llama, processors=())
    else:
        with pytest.raises(InputError, match="is loaded 2 times"):
            Engine(llama)


def test_without_a_tokenizer_nothing_is_known_of_tokens(llama: Path, runner: int) -> None:
    with pytest.raises(InputError, match="skip_tokenizer_init cannot"):
        Engine(llama, skip_tokenizer_init=True)
