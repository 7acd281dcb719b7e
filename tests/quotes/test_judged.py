"""A judgement below an answer: shown with the judge's name, apart from the quotes, as text."""

from __future__ import annotations

import pytest

from semqa.quotes import QuotedAnswer, Source
from semqa.quotes.render import Judged, JudgedSentence, to_ansi, to_html, to_markdown

ANSWER = QuotedAnswer.parse("[ 1 Bing ] sang.", [Source("Bing sang it.")])
HOSTILE = "<script>alert(1)</script> \x1b[2J **bold** [x](http://evil) \u202e"
JUDGED = Judged(
    "engine:<b>x</b>",
    (
        JudgedSentence("Bing sang.", "supported", (1, 3)),
        JudgedSentence(HOSTILE, "not supported", (), "quotes <i>nothing</i> \x1b[2J"),
        JudgedSentence("Perhaps.", "unclear", (2,)),
    ),
)


@pytest.mark.parametrize("color", [True, False])
def test_a_terminal_shows_the_judgement_without_control_characters(color: bool) -> None:
    text = to_ansi(ANSWER, color=color, judged=JUDGED)
    assert "verified character for character" in text
    assert "\x1b[2J" not in text
    assert "\u202e" not in text
    if not color:
        assert "1 supported, 1 not supported, 1 unclear." in " ".join(text.split())
        assert "✓ supported  Bing sang.  [1] [3]" in text
        assert "\x1b" not in text


def test_html_and_markdown_show_hostile_text_as_text() -> None:
    page = to_html(ANSWER, judged=JUDGED)
    assert "<script>alert" not in page
    assert "<b>x</b>" not in page
    assert "<i>nothing" not in page
    assert '<li class="not-supported"' in page
    text = to_markdown(ANSWER, judged=JUDGED)
    assert "<script>" not in text.replace("\\<", "")
    assert "**bold**" not in text
    assert "- ? **unclear** Perhaps." in text
    assert text.index("Judged by") < text.index("[^1]: ")
