"""Fine-tune the packaged MiniLM to find units of documents that answer a question.

    python scripts/fit_encoder.py SET [SET ...] --out FOLDER [--epochs N]
    python scripts/fit_encoder.py SET [SET ...] --out FOLDER --start ADAPTER --known SET [SET ...]

A SET is one of `scripts/fit_documents.py`. Writes an adapter per fold, fitted without its documents
(``fold-0.safetensors`` …), which `fit_documents.py` needs, and ``minilm.safetensors``, fitted on all.
With --start, training of an ADAPTER continues on new sets and on some questions of its known sets. With
--parts 2, every second fold shares an adapter. Each takes about a minute on a GPU, and half an hour
per 2,000 questions and epoch on two cores.

A unit's score is a weighted sum of three cosines with the question: of the unit, of its group and
of the text above it. For each question, its evidence is compared with the nearest other units and
some random ones; sometimes the evidence is left out, the documents are of another set, or headings
are questions. The loss is the mean of a binary cross entropy and of a softmax over the units and
"none of them". Adapters are of rank 16, in all linear layers. Source: Hu et al. 2022 (LoRA).

The adapter that ships was fitted on all sets but `wider`, with up to 22 units per question of up to
256 tokens, with dropout, and with neither missing evidence nor documents of other sets. It was
then trained for 1.5 epochs of `wider` with dropout of 5%; those of the two parts had 1.2 epochs, at
3e-4.
"""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from fit_documents import FOLDS, Sample, encoders_for, load
from safetensors.numpy import load_file, save_file
from torch import nn
from torch.nn import functional
from transformers import AutoModel, AutoTokenizer

from semqa.retrieval.encoder import packaged_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from semqa.engines.extractive.matching import Match

RANK, SCALE = 16, 2.0
LEARNING_RATE, WEIGHTS_RATE = 4e-4, 0.05
QUESTIONS = 16
"""Questions per step."""

POSITIVE, NEAREST, RANDOM = 4, 8, 3
"""Maximum number of units of each kind per question."""

MISSING, UNRELATED, FAQ = 0.12, 0.08, 0.15
"""Shares of questions without their evidence, with documents of another set, with FAQ headings."""

LONGEST = 128
"""Maximum tokens of a text."""

KNOWN = 350
"""Questions of known sets to repeat, so that the encoder does not forget them."""

ALIKE = 1.25
"""Maximum ratio of lengths of the texts that are encoded together."""


class Adapted(nn.Module):
    """A linear layer plus a product of two small matrices."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.layer = layer
        self.a = nn.Parameter(torch.randn(RANK, layer.in_features) / layer.in_features**0.5)
        self.b = nn.Parameter(torch.zeros(layer.out_features, RANK))

    def forward(self, states: Tensor) -> Tensor:
        """Return [..., out] for states [..., in]."""
        added = functional.linear(functional.linear(states, self.a), self.b)
        out: Tensor = self.layer(states) + SCALE * added
        return out


class Encoder(nn.Module):
    """MiniLM with adapters, and the weights of the cosines.

    Args:
        start: adapters to begin with.
    """

    def __init__(self, device: str, start: Path | None = None) -> None:
        super().__init__()
        folder = packaged_folder()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.bert = AutoModel.from_pretrained(folder, add_pooling_layer=False)
        self.bert.requires_grad_(False)
        linear = [
            (name, module)
            for name, module in self.bert.encoder.named_modules()
            if isinstance(module, nn.Linear)
        ]
        for name, module in linear:
            parent, _, last = name.rpartition(".")
            setattr(self.bert.encoder.get_submodule(parent), last, Adapted(module))
        self.weights = nn.Parameter(torch.tensor([10.0, 8.0, 4.0, -8.0]))
        if start is not None:
            given = load_file(start)
            for name, adapted in self._adapted():
                adapted.a.data = torch.tensor(given[f"{name}.a"]).float()
                adapted.b.data = torch.tensor(given[f"{name}.b"]).float() / SCALE
        self.to(device)

    def _adapted(self) -> Iterator[tuple[str, Adapted]]:
        for name, module in self.bert.named_modules():
            if isinstance(module, Adapted):
                yield name, module

    def forward(self, texts: Sequence[str]) -> Tensor:
        """Return unit vectors [texts, width]."""
        ids = self.tokenizer(list(texts), truncation=True, max_length=LONGEST)["input_ids"]
        order = sorted(range(len(ids)), key=lambda number: len(ids[number]))
        vectors: list[Tensor] = []
        places: list[int] = []
        while order:
            most = ALIKE * len(ids[order[0]]) + 2
            batch = [number for number in order if len(ids[number]) <= most]
            del order[: len(batch)]
            given = self.tokenizer.pad({"input_ids": [ids[n] for n in batch]}, return_tensors="pt")
            given = given.to(self.bert.device)
            states = self.bert(**given).last_hidden_state.float()
            mask = given["attention_mask"][..., None]
            vectors.append(functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1))
            places += batch
        return torch.cat(vectors)[np.argsort(places)]

    def adapters(self) -> dict[str, np.ndarray]:
        """Return the adapters as `semqa.retrieval.encoder.NumpyBert` reads them."""
        out = {}
        for name, module in self._adapted():
            for part, matrix in (("a", module.a), ("b", SCALE * module.b)):
                out[f"{name}.{part}"] = matrix.detach().half().cpu().numpy()
        return out


class Candidates(NamedTuple):
    """Units of documents; rows are those of `found`, and `order` has them nearest first."""

    found: Match
    labels: np.ndarray
    order: np.ndarray

    def texts(self, row: int) -> tuple[str, str, str]:
        """Return a unit, its group and the text right above it."""
        s, u = self.found.places[row]
        units = self.found.sources[s]
        return units.embedded[u], units.groups[u], units.above[u][-1] if units.above[u] else ""

    def group(self, row: int) -> tuple[int, int]:
        """Return the source and group of a unit."""
        s, u = self.found.places[row]
        return s, self.found.sources[s].structure.units[u].group


class Question(NamedTuple):
    """A question with its own, FAQ-like and unrelated documents."""

    text: str
    own: Candidates
    faq: Candidates | None
    unrelated: Candidates

    def draw(self, random: Random) -> tuple[Candidates, list[int], list[int]]:
        """Return units to compare: their documents, rows that answer, and rows that do not."""
        share = random.random()
        given, missing = self.own, False
        if share < MISSING:
            missing = True
        elif share < MISSING + UNRELATED:
            given = self.unrelated
        elif self.faq is not None and share > 1 - FAQ:
            given = self.faq
        right = np.flatnonzero(given.labels).tolist()
        gone = {given.group(row) for row in right} if missing else set()
        wrong = [
            row
            for row in given.order.tolist()
            if not given.labels[row] and given.group(row) not in gone
        ]
        far = wrong[NEAREST:]
        rest = random.sample(far, min(RANDOM, len(far)))
        return given, [] if missing else right[:POSITIVE], wrong[:NEAREST] + rest


def questions(samples: Sequence[Sample], encoder: Encoder) -> list[Question]:
    """Sort the units of each question's documents by the encoder before it is trained."""
    vectors: dict[str, np.ndarray] = {}

    def embed(texts: Sequence[str]) -> np.ndarray:
        new = sorted(set(texts) - vectors.keys(), key=len)
        with torch.inference_mode():
            for start in range(0, len(new), 256):
                part = new[start : start + 256]
                vectors.update(zip(part, encoder(part).cpu().numpy(), strict=True))
        return np.array([vectors[text] for text in texts])

    def sort(question: str, found: Match, labels: np.ndarray) -> Candidates:
        texts = []
        for s, u in found.places:
            units = found.sources[s]
            path = " > ".join(filter(None, (units.title, *units.above[u])))
            texts.append(f"{path}: {units.embedded[u]}")
        near = embed(texts) @ embed([question])[0] if texts else np.zeros(0)
        return Candidates(found, labels, np.argsort(-near, kind="stable"))

    out = []
    for sample in samples:
        text = sample.question.question
        faq = sort(text, *sample.faq) if sample.faq is not None else None
        none = np.zeros(len(sample.unrelated.places))
        own = sort(text, sample.found, sample.labels)
        out.append(Question(text, own, faq, sort(text, sample.unrelated, none)))
    return out


def loss(encoder: Encoder, batch: Sequence[Question], random: Random, device: str) -> Tensor:
    """Return the mean loss of some questions."""
    texts: dict[str, int] = {"": 0}
    rows: list[tuple[int, int, int, int]] = []
    labels: list[float] = []
    owner: list[int] = []
    for number, question in enumerate(batch):
        asked = texts.setdefault(question.text, len(texts))
        given, right, wrong = question.draw(random)
        for row in right + wrong:
            unit, group, above = (texts.setdefault(t, len(texts)) for t in given.texts(row))
            rows.append((asked, unit, group, above))
            labels.append(float(row in right))
            owner.append(number)
    with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
        vectors = encoder(list(texts))
    places = torch.tensor(rows, device=device)
    cosines = (vectors[places[:, :1]] * vectors[places[:, 1:]]).sum(-1)
    cosines = cosines * (places[:, 1:] > 0)  # no text above
    score = cosines @ encoder.weights[:3] + encoder.weights[3]
    label, of = torch.tensor(labels, device=device), torch.tensor(owner, device=device)
    each = functional.binary_cross_entropy_with_logits(
        score, label, weight=1 + label, reduction="sum"
    )
    zeros = torch.zeros(len(batch), device=device)
    total = torch.log1p(zeros.index_add(0, of, score.clamp(max=30).exp()))
    right_count = zeros.index_add(0, of, label)
    chosen = zeros.index_add(0, of, label * (score - total[of])) / right_count.clamp(min=1)
    softmax = -torch.where(right_count > 0, chosen, -total).mean()
    return each / len(batch) / 4 + softmax


def batches(count: int, random: Random) -> Iterator[list[int]]:
    """Yield the indexes of questions for each step, without end."""
    while True:
        order = list(range(count))
        random.shuffle(order)
        for start in range(0, count - QUESTIONS + 1, QUESTIONS):
            yield order[start : start + QUESTIONS]


def fit(
    asked: Sequence[Question], epochs: float, device: str, start: Path | None = None
) -> dict[str, np.ndarray]:
    """Train adapters on some questions."""
    torch.manual_seed(0)
    random = Random(0)
    encoder = Encoder(device, start)  # without dropout
    adapters = [p for p in encoder.bert.parameters() if p.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": adapters},
        {"params": [encoder.weights], "lr": WEIGHTS_RATE},
    ]
    rate = LEARNING_RATE if start is None else LEARNING_RATE / 2
    optimizer = torch.optim.AdamW(groups, lr=rate, weight_decay=0.01)
    steps = int(epochs * (len(asked) // QUESTIONS))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda t: min(1.0, (t + 1) / (0.1 * steps)) * max(0.02, 1 - t / steps)
    )
    drawn = islice(batches(len(asked), random), steps)
    for step, chosen in enumerate(drawn, start=1):
        value = loss(encoder, [asked[i] for i in chosen], random, device)
        optimizer.zero_grad()
        torch.autograd.backward(value)
        nn.utils.clip_grad_norm_(adapters, 1.0)
        optimizer.step()
        schedule.step()
        if step % 20 == 0 or step == steps:
            print(f"step {step} of {steps}, loss {value.item():.2f}", flush=True)
    return encoder.adapters()


def main() -> None:
    """Fit and write the adapters."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder for the adapters")
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--start", type=Path, help="adapter to continue training")
    parser.add_argument("--known", nargs="+", type=Path, default=[], help="sets that it knows")
    parser.add_argument("--parts", type=int, choices=(2, 4), default=4, help="adapters of folds")
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    samples = load(args.sets, encoders_for("words"))
    known = load(args.known, encoders_for("words")) if args.known else []
    known = Random(1).sample(known, min(KNOWN, len(known)))
    asked = questions([*samples, *known], Encoder(device, args.start).eval())
    args.out.mkdir(parents=True, exist_ok=True)
    for part in range(args.parts):
        folds = [fold for fold in range(FOLDS) if fold % args.parts == part]
        print(f"without folds {folds}", flush=True)
        kept = [q for q, s in zip(asked, samples, strict=False) if s.fold not in folds]
        repeated = asked[len(samples) :][: len(known) * len(kept) // len(samples)]
        fitted = fit(kept + repeated, args.epochs, device, args.start)
        for fold in folds:
            save_file(fitted, args.out / f"fold-{fold}.safetensors")
    print("all questions", flush=True)
    save_file(fit(asked, args.epochs, device, args.start), args.out / "minilm.safetensors")


if __name__ == "__main__":
    main()
