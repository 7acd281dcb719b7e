"""Informative spans, by rules and by spaCy; personal questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.attribution.q2 import create_span_finder
from semqa.attribution.q2.spans import RuleSpans, SpacySpans
from semqa.errors import InputError


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("red hair only occurs in 1 - 2 percent of the population .", ["1 - 2 percent", "red hair", "the population"]),
        ("On 4 July 1776 it was signed in Philadelphia.", ["4 July 1776", "Philadelphia"]),
        ("In March, 1932 it opened; 1932 was late.", ["March, 1932", "1932", "late"]),
        ("The Joy of Painting is by Bob Ross and by Ludwig van Beethoven.", ["The Joy of Painting", "Bob Ross", "Ludwig van Beethoven"]),
        ("World War I began in the 1910s.", ["World War I", "1910s", "the 1910s"]),
        ('he wrote "the old man" for $1,200.50.', ["the old man", "$1,200.50"]),
        ("i ' m not sure , it ' s in the u.s. economy", ["the u.s. economy"]),
        ("They quickly saw my very old house.", ["old house"]),
        ("a the of", []),
        ("?! ...", []),
    ],
)  # fmt: skip
def test_rules(text: str, spans: list[str]) -> None:
    found = RuleSpans().spans(text)
    assert [span.text for span in found] == spans


@given(st.text(st.sampled_from("aA bI0.,\"' -\nthe1é") | st.characters(), max_size=60))
def test_rules_give_parts_of_the_text_each_once(text: str) -> None:
    found = RuleSpans().spans(text)
    assert len(set(found)) == len(found)
    for span in found:
        assert text[span.start : span.end] == span.text
        assert span.text.strip() == span.text != ""
        assert span.text.lower() != "i"


def test_a_long_text_takes_no_quadratic_time() -> None:
    text = "The old bridge of Ann Bell opened in May 1932, and cost $1,200 million. " * 100
    assert len(RuleSpans().spans(text)) > 250
    for hostile in ("1" * 8_000, "A " * 4_000, '"' * 8_000, "1 - " * 2_000, "a." * 4_000):
        RuleSpans().spans(hostile)


@pytest.mark.parametrize(
    ("question", "personal"),
    [
        ("What do you like?", True),
        ("Where is MY bridge?", True),
        ("What am I told?", True),
        ("What have you've seen?", True),
        ("Who won World War I?", False),
        ("Who owns YouTube?", False),
        ("What is your-city.com?", True),
    ],
)
def test_personal_questions(question: str, personal: bool) -> None:
    assert RuleSpans().personal(question) is personal


GRAMMAR = {
    "the": ([2, 2, 3, 3, 5, 3], ["det", "amod", "nsubj", "ROOT", "compound", "dobj"]),
    "what": ([3, 3, 3, 3, 3], ["dobj", "aux", "nsubj", "ROOT", "punct"]),
}


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline of spaCy that knows one name and the grammar of two sentences."""
    import spacy
    from spacy.language import Language
    from spacy.tokens import Doc

    def parsed(doc: Doc) -> Doc:
        words = [token.text for token in doc]
        unknown = [0] * len(words), ["dep"] * len(words)
        heads, deps = GRAMMAR.get(words[0], unknown)
        pos = ["NOUN" if word in ("bridge", "York") else "X" for word in words]
        spaces = [bool(token.whitespace_) for token in doc]
        return Doc(doc.vocab, words, spaces=spaces, heads=heads, deps=deps, pos=pos)

    Language.component("toy_grammar", func=parsed)
    nlp: Any = spacy.blank("en")
    nlp.add_pipe("toy_grammar")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "GPE", "pattern": "New York"}])
    folder = tmp_path_factory.mktemp("pipeline")
    nlp.to_disk(folder)
    return folder


def test_spacy_gives_entities_then_noun_chunks(pipeline: Path) -> None:
    finder = create_span_finder(f"spacy:{pipeline}")
    assert finder.name.startswith("spacy:en_")
    found = finder.spans("the old bridge joins New York")
    assert [(span.text, span.start) for span in found] == [("New York", 21), ("the old bridge", 0)]
    assert finder.personal("what do you like ?")
    assert not finder.personal("the old bridge joins New York")


def test_finders_that_are_none(tmp_path: Path) -> None:
    import spacy

    with pytest.raises(InputError, match="--spans"):
        create_span_finder("nltk")
    with pytest.raises(InputError, match="--spans"):
        create_span_finder("spacy:no_such")
    spacy.blank("en").to_disk(tmp_path)
    with pytest.raises(InputError, match="--spans"):
        SpacySpans(str(tmp_path))
