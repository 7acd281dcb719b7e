"""Real models of transformers as judges, tiny ones: batches, windows, labels, spans."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from semqa.attribution.judges import Pair, Reading, create_judge
from semqa.attribution.judges.models import pad_batch
from semqa.errors import InputError
from tests.judge_models import save_classifier

torch = pytest.importorskip("torch")

SHORT = "The bridge was opened in 1932 by the mayor, and 300 people came to see it."
LONG = " ".join([SHORT, "Ann built the bridge. Bob crossed it first, in the rain."] * 6)
PAIRS = [
    Pair(SHORT, "Ann built it."),
    Pair(LONG, "Bob crossed the bridge in the rain."),
    Pair("", "It was late."),
    Pair("It was late.", ""),
    Pair(SHORT, "The mayor opened the bridge in March 1932, according to Ann."),
]
READINGS = [
    Reading("Who built it?", SHORT),
    Reading("When was the bridge opened?", LONG),
    Reading("Who?", "Ann"),
    Reading("Who?", ""),
    Reading("Nobody asked", "— … ( )"),
]


def entailer(folder: Path, more: str = "") -> Any:
    return create_judge(f"transformers:nli={folder}{more}", {"device": "cpu"})


ASKED = [("Ann", SHORT), ("1932", LONG), ("rain", "In the rain.")]


def three_models(folder: Path, size: int) -> Any:
    spec = f"transformers:nli={folder / 'nli'},qa={folder / 'qa'},qg={folder / 'qg'}"
    return create_judge(spec, {"batch_size": size, "device": "cpu"})


@pytest.fixture(scope="module")
def alone(models: Path) -> tuple[list[Any], list[Any], list[Any]]:
    """What a judge says of each input that it is given alone."""
    judge = three_models(models, 1)
    return (
        [judge.entailment([each])[0] for each in PAIRS],
        [judge.answer([each])[0] for each in READINGS],
        [judge.ask([each], count=2)[0] for each in ASKED],
    )


def test_a_batch_gives_what_single_inputs_give(
    models: Path, alone: tuple[list[Any], list[Any], list[Any]]
) -> None:
    judge = three_models(models, 8)
    entailed, answered, asked = alone
    for found, single in zip(judge.entailment(PAIRS), entailed, strict=True):
        assert found == pytest.approx(single, abs=2e-6)
        assert sum(found) == pytest.approx(1, abs=3e-6)
    for span, single in zip(judge.answer(READINGS), answered, strict=True):
        assert (span and span[:3]) == (single and single[:3])
    assert judge.ask(ASKED, count=2) == asked


def test_a_long_premise_is_read_in_windows_and_the_likeliest_one_counts(models: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    judge = entailer(models / "nli")
    (whole,) = judge.entailment([Pair(LONG, "Ann built it.")])
    model = AutoModelForSequenceClassification.from_pretrained(models / "nli")
    tokenizer = AutoTokenizer.from_pretrained(models / "nli")
    hypothesis = len(tokenizer("", "Ann built it.")["input_ids"])
    # Windows by hand: every part of the premise stands in one, whole hypothesis beside it.
    tokens = tokenizer(LONG, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    offsets = tokens["offset_mapping"]
    size, chances = 64 - hypothesis - 4, []
    for first in range(0, len(offsets), size - size // 2):  # neighbours share half of it
        part = LONG[offsets[first][0] : offsets[min(first + size, len(offsets)) - 1][1]]
        with torch.inference_mode():
            made = tokenizer(part, "Ann built it.", return_tensors="pt")
            assert made["input_ids"].shape[1] <= 64
            chances.append(model(**made).logits.softmax(-1)[0].tolist())
        if first + size >= len(offsets):
            break
    assert len(chances) > 3
    assert whole.entailment == pytest.approx(max(each[2] for each in chances), abs=1e-5)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The inputs that models get."""
    found: list[list[int]] = []

    def spy(tokenizer: Any, rows: Any, device: Any) -> Any:
        found.extend(row["input_ids"] for row in rows)
        return pad_batch(tokenizer, rows, device)

    monkeypatch.setattr("semqa.attribution.judges.models.pad_batch", spy)
    return found


def test_control_tokens_in_a_text_are_text(models: Path, seen: list[list[int]]) -> None:
    from transformers import AutoTokenizer

    text = "Ann <sep> Bob <cls> </s> <pad> it."
    spec = f"transformers:nli={models / 'nli'},qa={models / 'qa'},qg={models / 'qg'}"
    judge: Any = create_judge(spec, {"device": "cpu"})
    judge.entailment([Pair(text, text)])
    (span,) = judge.answer([Reading("Who?", text)])
    judge.ask([("Ann", text)], count=1)
    assert len(seen) == 3
    for row, part in zip(seen, ("nli", "qa", "qg"), strict=True):
        tokenizer = AutoTokenizer.from_pretrained(models / part)
        marks = ["</s>"] if part == "qg" else ["<cls>", "<sep>", "<sep>"]
        expected = [tokenizer.convert_tokens_to_ids(mark) for mark in marks]
        special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
        assert sorted(token for token in row if token in special) == sorted(expected)
    assert span is None or text[span.start : span.end] == span.text


def test_a_hypothesis_is_never_cut(models: Path) -> None:
    with pytest.raises(InputError, match="A sentence"):
        entailer(models / "nli").entailment([Pair(SHORT, "on and on " * 40)])


def test_a_long_hypothesis_is_judged_sentence_by_sentence(models: Path) -> None:
    """All must follow: the least likely sentence decides."""
    judge = entailer(models / "nli")
    sentences = [SHORT, "Ann built the bridge.", "Bob crossed it first, in the rain: nobody asked."]
    (whole,) = judge.entailment([Pair(LONG, " ".join(sentences * 2))])
    single = judge.entailment([Pair(LONG, sentence) for sentence in sentences])
    assert whole.entailment == pytest.approx(min(each.entailment for each in single), abs=2e-6)
    assert sum(whole) == pytest.approx(1, abs=3e-6)


def test_labels_without_names_have_to_be_explained(tmp_path: Path) -> None:
    save_classifier(tmp_path, labels={0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"})
    with pytest.raises(InputError, match="The model"):
        entailer(tmp_path).entailment(PAIRS[:1])
    told = entailer(tmp_path, ",labels=contradiction/neutral/entailment")
    save_classifier(tmp_path / "named")
    assert told.entailment(PAIRS) == entailer(tmp_path / "named").entailment(PAIRS)
    with pytest.raises(InputError, match="labels must"):
        entailer(tmp_path, ",labels=entailment/neutral").entailment(PAIRS[:1])


def test_a_model_that_writes_its_verdict_is_compared_at_its_words(models: Path) -> None:
    """The chances of the two words as the first thing written, by transformers itself."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(models / "qg")
    model = AutoModelForSeq2SeqLM.from_pretrained(models / "qg")
    words = [tokenizer(word, add_special_tokens=False)["input_ids"] for word in ("Ann", "Bob")]
    text = f"premise: {SHORT} hypothesis: Ann built it."
    scores = []
    with torch.inference_mode():
        inputs = tokenizer(text, return_tensors="pt")
        for word in words:
            so_far = torch.tensor([[model.config.decoder_start_token_id]])
            total = 0.0
            for token in word:
                logits = model(**inputs, decoder_input_ids=so_far).logits[0, -1]
                total += float(logits.log_softmax(-1)[token])
                so_far = torch.cat([so_far, torch.tensor([[token]])], dim=1)
            scores.append(total)
    expected = float(torch.tensor(scores).softmax(-1)[0])
    judge = entailer(models / "qg", ",words=Ann/Bob")
    (found,) = judge.entailment(PAIRS[:1])
    assert found == pytest.approx((expected, 1 - expected, 0.0), abs=1e-5)
    assert judge.entailment(PAIRS)[0] == pytest.approx(found, abs=2e-6)


def test_spans_stand_in_their_passage_and_are_the_best_of_all(models: Path) -> None:
    """Against every span of a short passage, tried one by one."""
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    model = AutoModelForQuestionAnswering.from_pretrained(models / "qa")
    tokenizer = AutoTokenizer.from_pretrained(models / "qa")
    made = tokenizer("Who built it?", SHORT, return_tensors="pt", return_offsets_mapping=True)
    offsets = made.pop("offset_mapping")[0].tolist()
    inside = [place for place, part in enumerate(made.sequence_ids(0)) if part == 1]
    with torch.inference_mode():
        out = model(**made)
    scores = {
        (a, b): float(out.start_logits[0, a] + out.end_logits[0, b])
        for a in inside
        for b in inside
        if 0 <= b - a < 30
    }
    (a, b), best = max(scores.items(), key=lambda item: item[1])
    null = float(out.start_logits[0, 0] + out.end_logits[0, 0])
    for threshold, there in ((best - null - 0.1, True), (best - null + 0.1, False)):
        spec = f"transformers:qa={models / 'qa'},threshold={threshold:.4f}"
        judge: Any = create_judge(spec, {"device": "cpu"})
        (span,) = judge.answer([Reading("Who built it?", SHORT)])
        assert (span is not None) is there
        if span is not None:
            assert (span.start, span.end) == (offsets[a][0], offsets[b][1])
            assert span.text == SHORT[span.start : span.end]


def test_questions_are_those_of_a_beam_search_each_once(models: Path) -> None:
    """What transformers' own beam search writes, without its label."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(models / "qg")
    model = AutoModelForSeq2SeqLM.from_pretrained(models / "qg")
    inputs = tokenizer(f"answer: Ann  context: {SHORT}", return_tensors="pt")
    rows = model.generate(
        **inputs, num_beams=3, num_return_sequences=3, max_new_tokens=64, early_stopping=True
    )
    written = [" ".join(text.split()) for text in tokenizer.batch_decode(rows, True)]
    judge: Any = create_judge(f"transformers:qg={models / 'qg'}", {"device": "cpu"})
    assert judge.ask([("Ann", SHORT)], count=3) == [list(dict.fromkeys(filter(None, written)))]
    assert len(judge.ask([("Ann", SHORT)], count=1)[0]) <= 1


def test_models_are_loaded_when_they_are_needed(models: Path, tmp_path: Path) -> None:
    """A run whose judgements are all kept loads nothing; its judge is known by its files."""
    folder = shutil.copytree(models / "nli", tmp_path / "moved")
    judge = create_judge(f"transformers:nli={folder}")
    assert judge.identity == create_judge(f"transformers:nli={models / 'nli'}").identity
    (folder / "model.safetensors").unlink()
    changed = create_judge(f"transformers:nli={folder}")
    assert changed.identity != judge.identity
    with pytest.raises(InputError, match="cannot be loaded"):
        changed.entailment(PAIRS)


def test_a_model_that_was_not_trained_for_it_is_refused(models: Path) -> None:
    with pytest.raises(InputError, match="The model"):
        entailer(models / "qa").entailment(PAIRS)
