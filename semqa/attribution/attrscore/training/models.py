"""The model that is trained, its tokenizer, and which of its outputs is which label."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Literal

from semqa.attribution.attrscore.label import LABELS, RELATIONS, Label
from semqa.engines.model.hub import (
    explained,
    folder_of,
    for_weights,
    is_on_disk_only,
    load_tokenizer,
    quiet,
)
from semqa.errors import InputError, SemqaError
from semqa.extras import require

if TYPE_CHECKING:
    from semqa.attribution.attrscore.training.options import TrainingOptions

__all__ = ["Trained", "load", "require_trainer"]

_PURPOSE = "training for AttrScore"
_NAMES: Final[dict[str, Label]] = {
    **{label.lower(): label for label in LABELS},
    **{relation: label for label, relation in RELATIONS.items()},
}


@dataclass(frozen=True, slots=True)
class Trained:
    """What is to be trained.

    Attributes:
        kind: ``classifier`` or ``seq2seq``.
        labels: of a classifier: the label of each output, in order.
        new_head: of a classifier: whether its last layer begins anew.
    """

    model: Any
    tokenizer: Any
    kind: Literal["classifier", "seq2seq"]
    labels: tuple[Label, ...]
    new_head: bool


def require_trainer() -> None:
    """See that what trains is installed.

    Raises:
        MissingExtraError: a package is missing.
    """
    for package in ("transformers", "torch", "accelerate"):
        if find_spec(package) is None:
            require(package, extra="eval", purpose=_PURPOSE)


def load(options: TrainingOptions) -> Trained:
    """Load a model, with seeded weights where it has none.

    A classifier of the three relations of entailment keeps its last layer: its outputs are taken
    for the labels that they correspond to. Any other gets a new one.

    Raises:
        InputError: there is no such model, or it cannot be trained so.
        UnavailableError: the Hub was not reached.
    """
    name = options.model
    folder = folder_of(name)
    shared: dict[str, Any] = {}
    if folder is None and is_on_disk_only(name, None):
        shared["local_files_only"] = True
    from transformers import AutoConfig, set_seed

    with quiet():
        try:
            config = AutoConfig.from_pretrained(folder or name, **shared)
            tokenizer = load_tokenizer(name, folder, shared)
            kind = options.kind
            if kind == "auto":
                kind = "seq2seq" if config.is_encoder_decoder else "classifier"
            set_seed(options.seed)
            if kind == "seq2seq":
                return _seq2seq(name, folder, config, tokenizer, shared)
            return _classifier(name, folder, config, tokenizer, shared)
        except SemqaError:
            raise
        except Exception as error:  # the libraries below raise all sorts
            raise explained(name, None, error) from error


def _seq2seq(
    name: str, folder: str | None, config: Any, tokenizer: Any, shared: dict[str, Any]
) -> Trained:
    from transformers import AutoModelForSeq2SeqLM

    if not config.is_encoder_decoder:
        raise InputError(
            f"model {name}: not an encoder-decoder: got a {config.model_type} model, expected one "
            "that writes after reading, such as T5, for --kind seq2seq; choose --kind classifier"
        )
    model: Any = AutoModelForSeq2SeqLM.from_pretrained(
        folder or name, config=config, **for_weights(shared)
    )
    return Trained(model.float(), tokenizer, "seq2seq", (), False)


def _classifier(
    name: str, folder: str | None, config: Any, tokenizer: Any, shared: dict[str, Any]
) -> Trained:
    from transformers import AutoModelForSequenceClassification

    known = [_NAMES.get(str(config.id2label[i]).lower()) for i in range(config.num_labels)]
    kept = tuple(label for label in known if label is not None)
    reused = len(known) == len(LABELS) and set(kept) == set(LABELS)
    labels = kept if reused else LABELS
    config.num_labels = len(labels)
    config.id2label = {i: label.lower() for i, label in enumerate(labels)}
    config.label2id = {label.lower(): i for i, label in enumerate(labels)}
    config.problem_type = "single_label_classification"
    if tokenizer.pad_token_id is None:
        if tokenizer.eos_token is None:
            raise InputError(
                f"model {name}: cannot be trained in batches: got a tokenizer without a token for "
                "padding or the end, expected one of them; choose another model"
            )
        tokenizer.pad_token = tokenizer.eos_token
    if config.pad_token_id is None:
        config.pad_token_id = tokenizer.pad_token_id
    model: Any = AutoModelForSequenceClassification.from_pretrained(
        folder or name, config=config, ignore_mismatched_sizes=True, **for_weights(shared)
    )
    return Trained(model.float(), tokenizer, "classifier", labels, not reused)
