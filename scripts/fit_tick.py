"""Fit the weights of `semqa.engines.extractive.answerable.chance_answered`.

    python scripts/fit_tick.py tests/data/docs/broad

A SET is a folder with ``questions.jsonl`` and ``documents/``, in the format of `semqa eval docs`, on
which neither the trees nor the encoder are fitted. An answer is positive if it has all facts, and
negative if it has none or the documents do not answer. Others are left out, as are answers whose
chance is fixed: without the kind of answer asked for, or in the form of one. Prints the weights, the
bias and the area under the ROC curve, cross-validated by document. `semqa eval docs` counts the ticks.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict

from semqa.bench.docqa import QuestionSet, whole_documents
from semqa.engines.extractive.documents import read, write
from semqa.engines.extractive.engine import DEFAULT_MAX_WORDS
from semqa.metrics.docqa import DocsPrediction, DocsQuote
from semqa.quotes import QuotedAnswer
from semqa.retrieval.encoder import packaged_encoder


def main() -> None:
    """Fit and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="+", type=Path, metavar="SET")
    features, labels, documents = [], [], []
    encoder = packaged_encoder()
    for folder in parser.parse_args().sets:
        asked = QuestionSet.read(folder / "questions.jsonl")
        for question in asked.questions:
            names, sources = zip(*whole_documents(question, asked.documents), strict=True)
            reading = read(question.question, sources, encoder)
            if not (reading.answers and reading.has_kinds) or reading.answerable == 1.0:
                continue
            answer = QuotedAnswer.parse(write(reading, sources, DEFAULT_MAX_WORDS), sources)
            quotes = tuple(DocsQuote(q.text, names[q.source - 1], q.field) for q in answer.quotes)
            recall = asked.scorer.score(question, DocsPrediction(quotes)).recall or 0.0
            if recall in (0.0, 1.0):
                features.append(reading.answered_features)
                labels.append(recall)
                documents.append(names[0])
    model = LogisticRegression()
    chances = cross_val_predict(
        model, features, labels, groups=documents, cv=GroupKFold(5), method="predict_proba"
    )
    model.fit(features, labels)
    print(f"{len(labels)} answers, {np.mean(labels):.1%} with all facts")
    print(
        "weights",
        *(f"{weight:.2f}" for weight in model.coef_[0]),
        f"bias {model.intercept_[0]:.2f}",
    )
    print(f"area under the ROC curve {roc_auc_score(labels, chances[:, 1]):.3f}")


if __name__ == "__main__":
    main()
