"""What a request to vLLM may ask for besides its sources: whatever would break a quote is refused.

Looks at sampling parameters by name only; knows no vLLM. Runs where requests arrive, in several
threads, and changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from semqa.decoding.vllm.request import SOURCES, ConstraintRequest
from semqa.decoding.vllm.stops import check_stops, stops_of
from semqa.errors import InputError

__all__ = ["REQUIRE_VARIABLE", "check_params"]

REQUIRE_VARIABLE = "SEMQA_VLLM_REQUIRE_SOURCES"

_MOST_BIAS = 1e9
_MOST_PENALTY = 1e6
"""What scores bear before they are infinite in 32 bits."""

_REFUSED = {
    "min_tokens": "it may forbid the end of the answer",
    "stop_token_ids": "they could end the answer inside a quote; use stop",
    "allowed_token_ids": "they may forbid the next token of a quote",
    "bad_words": "they may forbid the next token of a quote",
    "structured_outputs": "the two may have no token in common",
    "thinking_token_budget": "it forces tokens into quotes",
    "repetition_detection": "it cuts answers off inside quotes",
    "trace_decode_token_ids": "they replace the answer",
}
"""Sampling parameters that a constrained request cannot have, and why."""


def check_params(params: Any) -> ConstraintRequest | None:
    """Read and check a request.

    Args:
        params: vLLM's sampling parameters.

    Returns:
        None for a request without sources, which is none of ours.

    Raises:
        InputError: the request is wrong in itself, or its other parameters would break the
            guarantee; or it has no sources where ``SEMQA_VLLM_REQUIRE_SOURCES`` is set.
    """
    given: object = params.extra_args
    if not isinstance(given, Mapping | None):
        raise InputError(
            f"must be keys and values, got {type(given).__name__}.", field="extra_args"
        )
    request = ConstraintRequest.from_extra_args(given)
    if request is None:
        if os.environ.get(REQUIRE_VARIABLE, "") not in ("", "0"):
            raise InputError(
                f"is required in every request: the server was started with {REQUIRE_VARIABLE}.",
                field=SOURCES,
                hint="Give the sources in vllm_xargs. Beam search loses them.",
            )
        return None
    for name, reason in _REFUSED.items():
        if value := getattr(params, name, None):
            raise InputError(
                f"cannot be combined with {SOURCES}: {reason}.", field=name, value=value
            )
    for token, bias in (params.logit_bias or {}).items():
        if not -_MOST_BIAS <= bias <= _MOST_BIAS:  # nor NaN
            raise InputError(
                f"must hold finite numbers up to {_MOST_BIAS:g} with {SOURCES}, got {bias} for token {token}.",
                field="logit_bias",
                value=bias,
                hint="Use -100.",
            )
    penalty = getattr(params, "repetition_penalty", 1.0)
    if not 1 / _MOST_PENALTY <= penalty <= _MOST_PENALTY:
        raise InputError(
            f"must be from {1 / _MOST_PENALTY:g} to {_MOST_PENALTY:g} with {SOURCES}, got {penalty}.",
            field="repetition_penalty",
            value=penalty,
        )
    stops = stops_of(params)
    check_stops(stops, len(request.sources))
    return request
