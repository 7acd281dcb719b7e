"""``--gen-kwargs``: the words of lm-evaluation-harness as options of an engine."""

from __future__ import annotations

import pytest

from semqa.cli.gen_kwargs import read_gen_kwargs
from semqa.errors import InputError


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("temperature=0.7,top_p=0.9", {"temperature": 0.7, "top_p": 0.9}),
        (" max_gen_toks = 64 , num_beams=2", {"max_new_tokens": 64, "num_beams": 2}),
        ('{"top_k": 5, "do_sample": true}', {"top_k": 5, "temperature": 1.0}),
        ("do_sample=False", {"temperature": 0.0}),
        ("do_sample=true,temperature=0.3", {"temperature": 0.3}),
    ],
)
def test_read(text: str, options: dict[str, float]) -> None:
    assert read_gen_kwargs(text) == options


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("temperature", "got 'temperature', expected name=value pairs"),
        ("tempreature=1", "did you mean temperature?"),
        ("until=x", "expected some of max_new_tokens"),
        ("top_k=1.5", "got top_k=1.5, expected a whole number"),
        ("top_p=high", "got top_p=high, expected a number"),
        ('{"temperature": true}', "got temperature=True, expected a number"),
        ("max_gen_toks=5,max_new_tokens=6", "got max_new_tokens twice"),
        ("do_sample=false,temperature=1", "got do_sample=false with temperature=1.0"),
        ("do_sample=perhaps", "expected true or false"),
        ("{", "expected a JSON object or name=value pairs"),
    ],
)
def test_mistakes(text: str, said: str) -> None:
    with pytest.raises(InputError, match="gen_kwargs: ") as caught:
        read_gen_kwargs(text)
    assert said in str(caught.value)
