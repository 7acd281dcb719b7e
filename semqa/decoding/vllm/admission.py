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
    "min_tokens": "it forbids the end where nothing else may follow",
    "stop_token_ids": "they would end the answer inside a quote; use stop, or leave them out: the "
    "model's own end tokens end an answer anyway",
    "allowed_token_ids": "they may not hold what a quote goes on with; leave them out",
    "bad_words": "they may forbid what a quote goes on with; leave them out",
    "structured_outputs": "two grammars may have no token in common; leave one out",
    "thinking_token_budget": "it forces tokens into quotes; leave it out",
    "repetition_detection": "it cuts answers off inside quotes; leave it out",
    "trace_decode_token_ids": "they replace what is written; leave them out",
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
            f"extra_args: got {type(given).__name__}, expected keys and values; correct it"
        )
    request = ConstraintRequest.from_extra_args(given)
    if request is None:
        if os.environ.get(REQUIRE_VARIABLE, "") not in ("", "0"):
            raise InputError(
                f"{SOURCES}: got none, expected sources in every request, for this server was "
                f"started with {REQUIRE_VARIABLE}; give them in vllm_xargs (beam search loses them "
                "on its way, so do without it)"
            )
        return None
    for name, reason in _REFUSED.items():
        if value := getattr(params, name, None):
            shown = type(value).__name__ if len(repr(value)) > 60 else repr(value)
            raise InputError(f"{name}: got {shown} with {SOURCES}, expected none, for {reason}")
    for token, bias in (params.logit_bias or {}).items():
        if not -_MOST_BIAS <= bias <= _MOST_BIAS:  # nor NaN
            raise InputError(
                f"logit_bias: got {bias} for token {token} with {SOURCES}, expected finite numbers "
                f"up to {_MOST_BIAS:g}, for it may forbid what a quote goes on with; use -100"
            )
    penalty = getattr(params, "repetition_penalty", 1.0)
    if not 1 / _MOST_PENALTY <= penalty <= _MOST_PENALTY:
        raise InputError(
            f"repetition_penalty: got {penalty} with {SOURCES}, expected {1 / _MOST_PENALTY:g} to "
            f"{_MOST_PENALTY:g}, for it may forbid what a quote goes on with; use a milder one"
        )
    stops = stops_of(params)
    check_stops(stops, len(request.sources))
    return request
