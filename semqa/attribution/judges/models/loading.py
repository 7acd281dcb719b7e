"""Loading a model that judges, from a folder or the Hub, with errors of one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from semqa.engines.model.hub import (
    explained,
    folder_of,
    for_weights,
    is_on_disk_only,
    load_tokenizer,
    model_identity,
    quiet,
)
from semqa.engines.model.text import PromptEncoder
from semqa.engines.transformers.loading import check_tokenizer, choose_device, dtype_option
from semqa.errors import InputError, SemqaError
from semqa.prompting.prompt import Spelling

if TYPE_CHECKING:
    from semqa.attribution.judges.models.settings import ModelSettings

__all__ = ["Loaded", "Part", "load", "longest_input", "model_digest"]

Part = Literal["nli", "qa", "qg"]

_TRAINED_FOR = {
    "nli": "to tell entailment: a sequence classifier, or an encoder-decoder that writes its verdict",
    "qa": "to answer by a span of a passage, such as on SQuAD 2.0",
    "qg": "to ask questions: an encoder-decoder",
}
_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "longformer", "mpnet", "xlm-roberta-xl"}
"""Kinds of models whose first position is the number of the padding token, and one more."""

_NO_POSITIONS = 4096
"""Most tokens for models that know no positions, such as T5: what memory bears."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model, its tokenizer, and what is said of it.

    Attributes:
        name: as it was asked for.
        writes: whether it is an encoder-decoder that writes what it has to say.
        longest: most tokens that it reads.
        spelled: parts the characters of control tokens in a text, which are then read as text.
    """

    name: str
    model: Any
    tokenizer: Any
    writes: bool
    longest: int
    spelled: Spelling


def model_digest(name: str) -> str | None:
    """Return what tells a model from others, without loading it; None if it is not here yet."""
    folder = folder_of(name)
    return model_identity(f"transformers:{folder or name}")


def load(name: str, part: Part, settings: ModelSettings) -> Loaded:
    """Load a model for a part of a judge.

    Raises:
        InputError: there is no such model, it cannot be loaded so, or it was not trained for that.
        UnavailableError: the Hub was not reached.
    """
    folder = folder_of(name)
    shared: dict[str, Any] = {"trust_remote_code": settings.trust_remote_code}
    if folder is None:
        # A copy that is here serves: what was judged by it must not be mixed with another's.
        if (commit := model_digest(name)) is not None:
            shared["revision"] = commit
        if is_on_disk_only(name, commit):
            shared["local_files_only"] = True
    from transformers import AutoConfig

    device = choose_device(settings.device)
    dtype = settings.dtype or ("float32" if device == "cpu" else "auto")
    with quiet():
        try:
            config = AutoConfig.from_pretrained(folder or name, **shared)
            kind, writes = _kind(part, config)
            tokenizer = load_tokenizer(name, folder, shared)
            model, report = kind.from_pretrained(
                folder or name,
                config=config,
                output_loading_info=True,
                **dtype_option(dtype),
                **for_weights(shared),
            )
            missing = sorted(report["missing_keys"])
            if missing:
                raise InputError(
                    f"model {name}: not trained for this: got no weights for {missing[0]}, expected "
                    f"a model that was trained {_TRAINED_FOR[part]}; choose another"
                )
            check_tokenizer(name, tokenizer, model)
            # “</s>” in somebody's text is four characters, and not the end of it. (Where places in the
            # text do not matter, it is spelled besides: some vocabularies have it as a word.)
            tokenizer.split_special_tokens = True
            model = model.to(device).eval()
        except SemqaError:
            raise
        except Exception as error:  # the libraries below raise all sorts
            raise explained(
                name, None, error, f"one that was trained {_TRAINED_FOR[part]}"
            ) from error
    reserved = PromptEncoder(tokenizer, is_encoder_decoder=writes, form="completion").reserved
    longest = longest_input(tokenizer, model.config)
    return Loaded(name, model, tokenizer, writes, longest, Spelling(reserved))


def _kind(part: Part, config: Any) -> tuple[Any, bool]:
    """Return the class to load, and whether it writes."""
    from transformers import (
        AutoModelForQuestionAnswering,
        AutoModelForSeq2SeqLM,
        AutoModelForSequenceClassification,
    )

    named = " ".join(getattr(config, "architectures", None) or ())
    if part == "qg":
        return AutoModelForSeq2SeqLM, True
    if part == "qa":
        return AutoModelForQuestionAnswering, False
    if config.is_encoder_decoder and "SequenceClassification" not in named:
        return AutoModelForSeq2SeqLM, True
    return AutoModelForSequenceClassification, False


def longest_input(tokenizer: Any, config: Any) -> int:
    """Return how many tokens a model reads at most, as its tokenizer and its positions say."""
    limits = [_NO_POSITIONS]
    known = int(min(tokenizer.model_max_length, 1 << 30))
    distances = getattr(config, "relative_attention_num_buckets", None)
    if distances and config.is_encoder_decoder:
        return _NO_POSITIONS  # T5's kin: 512 is what its tokenizers say, and no limit of the model
    if known < 1 << 30:
        limits.append(known)
    positions = getattr(config, "max_position_embeddings", None) or getattr(
        config, "n_positions", None
    )
    if isinstance(positions, int) and positions > 0:
        if config.model_type in _OFFSET_POSITIONS:
            positions -= int(config.pad_token_id or 0) + 1
        limits.append(positions)
    return min(limits)
