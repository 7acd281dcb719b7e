"""Informative spans, by rules and by spaCy; personal questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.attribution.q2 import create_span_finder
from semqa.attribution.q2.spans import RuleSpans, SpacySpans, personal_by_words
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
        ("", []),
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
        ("Who are you?", True),
        ("What have you've seen?", True),
        ("Who won World War I?", False),
        ("Who owns YouTube?", False),
        ("When did it open?", False),
        ("What is your-city.com?", True),
        ("", False),
    ],
)
def test_personal_questions(question: str, personal: bool) -> None:
    assert personal_by_words(question) is personal
    assert RuleSpans().personal(question) is personal


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline of spaCy that knows one name and one sentence's grammar, as a model would be saved."""
    import spacy
    from spacy.training import Example

    nlp: Any = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    parser = nlp.add_pipe("parser")
    words = ["the", "old", "bridge", "joins", "New", "York"]
    sentence: dict[str, Any] = {
        "words": words,
        "heads": [2, 2, 3, 3, 5, 3],
        "deps": ["det", "amod", "nsubj", "ROOT", "compound", "dobj"],
    }
    question: dict[str, Any] = {
        "words": ["what", "do", "you", "like", "?"],
        "heads": [3, 3, 3, 3, 3],
        "deps": ["dobj", "aux", "nsubj", "ROOT", "punct"],
    }
    tagger = nlp.add_pipe("attribute_ruler")
    examples: list[Any] = [
        Example.from_dict(nlp.make_doc(" ".join(each["words"])), each)
        for each in (sentence, question)
    ]
    for example in examples:
        for label in example.get_aligned_parse()[1]:
            parser.add_label(label)
    optimizer = nlp.initialize(lambda: examples)
    ruler.add_patterns([{"label": "GPE", "pattern": "New York"}])
    tagger.add([[{"LOWER": {"IN": ["bridge", "york"]}}]], {"POS": "NOUN"})
    for _ in range(40):
        nlp.update(examples, sgd=optimizer)
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


def test_an_entity_that_occurs_twice_is_found_twice(tmp_path: Path) -> None:
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "GPE", "pattern": "Rome"}])  # type: ignore[attr-defined]
    nlp.to_disk(tmp_path)
    finder = SpacySpans(str(tmp_path))
    assert [span.start for span in finder.spans("Rome is Rome")] == [0, 8]
    assert finder.personal("who are you?"), "without a parser, by words"


def test_finders_that_are_none(tmp_path: Path) -> None:
    import spacy

    with pytest.raises(InputError, match="--spans"):
        create_span_finder("nltk")
    with pytest.raises(InputError, match="--spans"):
        create_span_finder("spacy:no_such")
    spacy.blank("en").to_disk(tmp_path)
    with pytest.raises(InputError, match="--spans"):
        SpacySpans(str(tmp_path))
