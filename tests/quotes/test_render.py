"""Rendering: unverified quotes never look verified, text is escaped, and none is lost."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from semqa import QuotedAnswer, Source
from semqa.quotes import ABSTENTION, Quote
from semqa.quotes.quote import Dropped
from semqa.quotes.render import Judged, JudgedSentence, to_ansi, to_html, to_markdown
from semqa.quotes.render.common import parts, quoted_pieces, safe_text
from semqa.quotes.repair import repair
from tests.strategies import answers

HOSTILE = (
    "<script>alert(1)</script>\"'><img src=x onerror=alert(1)> **bold** [a](javascript:b) \x1b[31m"
)
SOURCES = [
    Source("Bing Crosby sang it in 1943.", title="White Christmas", url="https://example.org/a"),
    Source(HOSTILE, title=HOSTILE, url="javascript:alert(1)"),
]


def parse(text: str) -> QuotedAnswer:
    return QuotedAnswer.parse(text, SOURCES)


class Page(HTMLParser):
    """Collects tags with attributes, and text outside scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._skip = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._skip = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._skip = self._skip and tag not in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._skip:
            self.text += data


def test_html_links_each_quote_with_its_place_in_the_source() -> None:
    page = Page(to_html(parse("By [1 Bing Crosby] in [1 1943]."), question="Who?"))
    quotes = [attrs for tag, attrs in page.tags if attrs.get("class", "") == "quote c0"]
    assert [(q["id"], q["href"], q["data-quotes"]) for q in quotes] == [
        ("q0", "#p0", "0"),
        ("q1", "#p1", "1"),
    ]
    marks = [attrs["data-quotes"] for tag, attrs in page.tags if tag == "mark"]
    assert marks == ["0", "1"]
    assert {attrs["id"] for tag, attrs in page.tags if tag == "span" and "id" in attrs} == {
        "p0",
        "p1",
    }
    assert "✓ 2 quotes, verified" in page.text


@pytest.mark.parametrize(
    "url", ["javascript:x", "https://e.example/\u202e", "http://e.example/a b"]
)
def test_only_plain_web_addresses_become_links(url: str) -> None:
    answer = QuotedAnswer.parse("[1 Rain]", [Source("Rain", url=url)])
    assert url not in to_html(answer)
    assert url not in to_markdown(answer)


def test_html_hides_the_marks_of_headings_and_the_rulers_of_tables() -> None:
    text = "# Fees\n\n| For | Price |\n| --- | --- |\n| Card | 5 |\n\n## Dogs\n\nC# is free."
    page = to_html(QuotedAnswer.parse("[ 1 Card | 5 ] [ 1 Dogs ]", [Source(text)]))
    shown = re.sub(r"<span hidden>[^<]*</span>|<[^>]*>", "", page[page.index("<article") :])
    assert "#" not in shown.replace("C#", "")
    assert "C# is free." in shown
    assert "---" not in shown
    assert "| For | Price |\n| Card | 5 |" in shown


@pytest.mark.parametrize("length", range(50, 56))
def test_marks_inside_a_line_are_shown(length: int) -> None:
    long = "It stops at every house. " * 20
    text = f"Take bus # 5. {long}Leave at # 7{'.' * length}\nIt is near.\n| Bus | - |\n"
    answer = QuotedAnswer.parse("[ 1 Take bus ] [ 1 It is near. ] [ 1 Bus ]", [Source(text)])
    page = to_html(answer)
    shown = re.sub(r"<span hidden>[^<]*</span>|<[^>]*>", "", page[page.index("<article") :])
    assert text.strip() in shown
    sources = to_ansi(answer, color=False, width=1000)
    assert "# 5." in sources
    assert "# 7." in sources
    assert "| - |" in sources


def test_html_escapes_hostile_text_and_drops_hostile_links() -> None:
    raw = to_html(parse(f"{HOSTILE} [ 2 alert(1) ] [ 1 {HOSTILE} ]"), question=HOSTILE)
    page = Page(raw)
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert "img" not in {tag for tag, _ in page.tags}
    assert not [a for _, a in page.tags if any(name.startswith("on") for name in a)]
    assert "javascript:" not in " ".join(a.get("href") or "" for _, a in page.tags)
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv"))
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy


def test_html_shows_unverified_quotes_as_such() -> None:
    page = Page(to_html(parse("[1 Frank Sinatra] [2 1943] [1 x")))
    classes = [a.get("class") for _, a in page.tags if (a.get("class") or "").startswith("quote")]
    assert classes == ["quote bad"] * 3
    assert "✗ 3 quotes: 1 misattributed, 1 fabricated, 1 malformed." in " ".join(page.text.split())
    assert not [tag for tag, _ in page.tags if tag == "mark"]


@given(answers())
@example(("one\r\ntwo [1 b]", [Source("b")]))
def test_html_shows_every_character(drawn: tuple[str, list[Source]]) -> None:
    answer = QuotedAnswer.parse(*drawn)
    shown = "".join(html.unescape(re.sub(r"<[^>]*>", "", to_html(answer))).split())
    for segment in answer.segments:
        assert "".join(safe_text(segment.text).split()) in shown


def test_markdown_escapes_hostile_text() -> None:
    shown = to_markdown(parse(f"{HOSTILE} [ 2 **bold** ]"))
    assert "<script>" not in shown.replace("\\<", "")
    assert "\\*\\*bold\\*\\*" in shown
    assert "[a](javascript" not in shown.replace("\\[a\\](", "")
    assert "<javascript" not in shown


def test_marks_and_titles_are_not_links_in_viewers_without_footnotes() -> None:
    from markdown_it import MarkdownIt

    for title in ("http://x.example", 'http://x.example "Read"', "Oslo"):
        answer = QuotedAnswer.parse("[1 Rain](y) fell", [Source("Rain", title=title)])
        assert "<a " not in MarkdownIt("commonmark").render(to_markdown(answer))


TABLE = QuotedAnswer.parse(
    "Two:\n- [ 1 Dogs ]\n- <b>\n[ 1 Day | Open ]\n[ 1 <i> | 8 to 10 ]",
    [Source("Dogs. | Day | Open |\n| <i> | 8 to 10 |")],
)


def test_lists_and_tables_are_shown_as_such() -> None:
    page = Page(to_html(TABLE))
    tags = [tag for tag, _ in page.tags]
    assert tags.count("li") == 2
    assert tags.count("bdi") == 1 + 2 * 2
    assert {"b", "i"}.isdisjoint(tags)
    for cell in ("Day", "Open", "<i>", "8 to 10"):
        assert cell in page.text
    assert to_markdown(TABLE).startswith(
        "Two:\n\n- **Dogs**[^1]\n- \\<b\\>\n\n"
        "| **Day** | **Open** | [^1] |\n| --- | --- | --- |\n| **\\<i\\>** | **8 to 10** | [^1] |\n"
    )


def test_a_verdict_without_a_tick_says_why() -> None:
    answer = QuotedAnswer.parse("[ 1 the ]", [Source("the harbour")])
    assert "No quote has a content word." in to_markdown(answer)


def test_low_relevance_has_no_tick() -> None:
    answer = parse("[1 Bing Crosby] [1 1943]")
    assert "Relevance" not in to_ansi(answer)
    good, poor = answer.with_relevance([0.2, 0.9]), answer.with_relevance([0.1, 0.45], ["and why"])
    assert "check quoted doubtful" in to_html(poor)
    assert "check quoted doubtful" not in to_html(good)
    for shown in (to_ansi(good, color=False), to_markdown(good), to_html(good)):
        assert "90%" in shown
    for shown in (to_ansi(poor, color=False), to_markdown(poor), to_html(poor)):
        assert "45%" in shown
        assert "and why" in shown


@pytest.mark.parametrize(
    ("text", "unanswered", "answerable", "ticked"),
    [
        ("[ 1 1000 ]", [], None, True),
        ("[ 1 1000 ]", [], 0.9, True),
        ("[ 1 1000 ]", [], 0.7, False),
        ("[ 1 10 ]", [], 0.9, False),  # cut from 1000
        ("[ 1 1000 ]", ["and when"], 0.9, False),
        ("It was [ 1 1000 ], says Ann.", [], 0.9, False),
        ("[ 1 2000 ]", [], 0.9, False),
        ("", [], 0.9, False),
        (ABSTENTION, [], 0.9, False),
        ("No idea.", [], 0.9, False),
    ],
)
def test_only_whole_relevant_and_complete_answers_have_a_tick(
    text: str, unanswered: list[str], answerable: float | None, ticked: bool
) -> None:
    answer = QuotedAnswer.parse(text, [Source("It cost 1000 crowns.")])
    answer = answer.with_relevance([0.9] * len(answer.quotes), unanswered, answerable)
    for shown in (to_ansi(answer, color=False), to_markdown(answer), to_html(answer)):
        assert ("✓" in shown) == ticked


@pytest.mark.parametrize(
    ("text", "ticked"),
    [
        ("The song was by [ 1 Bing ] in [ 1 1943 ] ( [ 1 May ] ) (...).", True),
        ("- [ 1 Bing ]\n- [ 1 1943 ]\n", True),
        ("It says that [ 1 Bing ] had had [ 1 1943 ] .", True),
        ("- [ 1 Bing ](\n- [ 1 1943 ](\n", False),
        ("[ 1 Bing ] ( .) in [ 1 1943 ]", False),
        ("- You\n- You\nYou [ 1 Bing ]", False),
        ("[ 1 Bing ]\n-\n- [ 1 1943 ]", False),
        ("The song ., [ 1 Bing ]", False),
        ("The song of the song of the song of [ 1 Bing ]", False),
    ],
)
def test_broken_text_between_quotes_has_no_tick(text: str, ticked: bool) -> None:
    answer = QuotedAnswer.parse(text, [Source("Bing sang it in May 1943.")])
    answer = answer.with_relevance([0.9] * len(answer.quotes))
    assert ("✓" in to_markdown(answer, question="You: who sang the song?")) == ticked


def test_scattered_fragments_have_no_tick() -> None:
    sources = [Source("Bing sang it in May 1943. Ann was there, and so were Bob and Eve and Joe.")]
    relevant, other = "[ 1 Bing ]", ["[ 1 Ann ]", "[ 1 Bob ]"]
    for quotes, scores, ticked in [
        ([relevant, other[0]], [0.9, 0.1], True),
        ([relevant, *other], [0.9, 0.1, 0.1], False),
        ([relevant, other[0], "[ 1 so were Bob and Eve ]"], [0.9, 0.1, 0.1], True),
    ]:
        answer = QuotedAnswer.parse(" and ".join(quotes), sources).with_relevance(scores)
        assert ("✓" in to_markdown(answer)) == ticked


def test_markdown_strikes_out_unverified_quotes() -> None:
    shown = to_markdown(parse("By [1 Bing Crosby] and [1 Frank Sinatra]."))
    assert "By **Bing Crosby**[^1] and ~~Frank Sinatra~~ *(fabricated)*." in shown
    assert "[^1]: White Christmas <https://example.org/a>" in shown


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("1. x", "1\\. x\n"), ("+ x", "\\+ x\n"), ("# x", "\\# x\n"), ("a\n# b", "a\n\n\\# b\n")],
)
def test_markdown_starts_no_block(answer: str, expected: str) -> None:
    assert to_markdown(parse(answer)).startswith(f"{expected}\n*")


DROPPED = repair("It is [ 1 the 1944 record ] by [1 Bing Crosby][1].", SOURCES)
LEAKING = "A British record by [1 Bing Crosby]."


def test_dropped_marks_are_shown() -> None:
    shown = to_ansi(DROPPED, color=False)
    assert "It is ⟦1 the 1944 record · dropped⟧ by [ 1 Bing Crosby ]⟦1 [1] · dropped⟧." in shown
    assert "✗ 3 quotes: 1 verified, 2 dropped." in shown
    markdown = to_markdown(DROPPED)
    assert "It is ~~the 1944 record~~ *(dropped)* by **Bing Crosby**[^1]~~\\[1\\]~~" in markdown
    assert "✗ 3 quotes" in markdown
    page = Page(to_html(DROPPED))
    dropped = [a for _, a in page.tags if a.get("class") == "quote bad dropped"]
    assert len(dropped) == 2
    assert all(a["title"] for a in dropped)
    assert {"class": "check unverified"} in [attrs for _, attrs in page.tags]


def test_claims_outside_quotes_are_shown() -> None:
    answer = parse(LEAKING)
    page = Page(to_html(answer))
    assert "claim" in [attrs.get("class") for _, attrs in page.tags]
    assert {"class": "check unquoted"} in [attrs for _, attrs in page.tags]
    assert "\x1b[4mBritish record\x1b[0m" in to_ansi(answer)
    for shown in (page.text, to_ansi(answer, color=False), to_markdown(answer)):
        assert "Not quoted: “British record”." in shown
        assert "✓" not in shown
    for shown in (
        to_html(answer, question="Which British records?"),
        to_markdown(answer, question="Which British records?"),
        to_ansi(answer, question="Which British records?"),
    ):
        assert "✓ 1 quote" in shown


@given(answers(), st.booleans())
def test_the_joined_parts_are_the_answer(drawn: tuple[str, list[Source]], repaired: bool) -> None:
    answer = repair(*drawn) if repaired else QuotedAnswer.parse(*drawn)
    shown = list(parts(answer))
    assert "".join(part if isinstance(part, str) else part.text for part in shown) == answer.plain
    assert tuple(part for part in shown if isinstance(part, Quote)) == answer.quotes
    assert tuple(part for part in shown if isinstance(part, Dropped)) == answer.dropped


def test_a_terminal_shows_answer_sources_and_outcome() -> None:
    shown = to_ansi(parse("By [1 Bing Crosby]."), color=False)
    assert shown.startswith("By [ 1 Bing Crosby ].\n")
    assert "[1] White Christmas — Bing Crosby sang it in 1943." in shown
    assert "\x1b" not in shown
    assert "\x1b[1;32mBing Crosby\x1b[0m" in to_ansi(parse("[1 Bing Crosby]"))
    assert "\x1b[1;31m⟦1 Frank · fabricated⟧\x1b[0m" in to_ansi(parse("[1 Frank]"))


def test_terminal_escapes_control_characters() -> None:
    shown = to_ansi(parse(f"{HOSTILE}\x9b31m\u202e [ 2 alert(1) ]"), color=False)
    assert "\x1b" not in shown
    assert "\x9b" not in shown
    assert "\u202e" not in shown
    assert "<U+001B>" in shown


def test_judgements_are_shown_apart_and_as_text() -> None:
    sentences = (
        JudgedSentence("Bing sang.", "supported", (1, 3)),
        JudgedSentence(HOSTILE, "not supported", (), "quotes <i>nothing</i> \x1b[2J"),
        JudgedSentence("Perhaps.", "unclear", (2,)),
    )
    judged, answer = Judged("engine:<b>x</b>", sentences), parse("[ 1 Bing ] sang.")
    assert "\x1b[2J" not in to_ansi(answer, judged=judged)
    shown = to_ansi(answer, color=False, judged=judged)
    assert "1 supported, 1 not supported, 1 unclear." in " ".join(shown.split())
    assert "✓ supported  Bing sang.  [1] [3]" in shown
    assert "\x1b" not in shown
    page = to_html(answer, judged=judged)
    assert not any(tag in page for tag in ("<script>alert", "<b>x</b>", "<i>nothing"))
    assert '<li class="not-supported"' in page
    text = to_markdown(answer, judged=judged)
    assert "<script>" not in text.replace("\\<", "")
    assert "**bold**" not in text
    assert "- ? **unclear** Perhaps." in text
    assert text.index("Judged by") < text.index("[^1]: ")


def test_sources_are_shown_below_what_introduces_them() -> None:
    source = Source("| 14 | Curtain | 480 |", "Budget", context="Ann <Lee>\nLine | Item | Cost\x1b")
    answer = QuotedAnswer.parse("[ 1 14 | Curtain | 480 ]", [source])
    shown = " ".join(to_ansi(answer, color=False).split())
    assert "Budget › Ann <Lee> › Line | Item | Cost<U+001B> — " in shown
    page = to_html(answer)
    assert "Ann &lt;Lee&gt; › Line | Item | Cost" in page
    assert "\x1b" not in page


def test_html_shows_characters_that_reorder_text() -> None:
    page = to_html(
        QuotedAnswer.parse("a \u202eb [1 c\u202ed]", [Source("c\u202ed")]), question="\u202e"
    )
    assert "\u202e" not in page
    assert page.count("&lt;U+202E&gt;") >= 4


@given(answers())
def test_pieces_join_to_the_field(drawn: tuple[str, list[Source]]) -> None:
    answer = QuotedAnswer.parse(*drawn)
    for number, source in enumerate(answer.sources, start=1):
        for name in ("body", "title"):
            field = source.field(name)
            pieces = quoted_pieces(answer, number, name)
            assert "".join(piece.text for piece in pieces) == field
            for index, quote in enumerate(answer.quotes):
                if quote.verified and (quote.source, quote.field) == (number, name):
                    covered = "".join(piece.text for piece in pieces if index in piece.quotes)
                    assert covered == quote.text
