"""Files of all kinds become text, and offsets into it are exact."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

import docx as python_docx
import pytest
from docx.document import Document as WordDocument
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa.documents import Document, Limits, extract, split
from semqa.documents.parsers.pdf import without_headers_and_footers
from semqa.documents.parsers.pdf_text import join_lines
from semqa.documents.structure import read_structure
from semqa.errors import InputError
from tests.documents import makers

FORMATS = Path(__file__).parents[1] / "data" / "docs" / "formats" / "documents"

HTML = """<!doctype html><html><head><title>Harbour &amp; sea</title><style>p{}</style></head><body>
<nav>Home | About</nav><h1>The harbour</h1><p>Built in <b>1890</b>, it <i>burnt</i>
down.<br>Twice.</p><script>alert(1)</script><p hidden>secret</p><ul><li>one</li><li>two</li></ul>
<table><tr><th>Year</th><th>Ships</th></tr><tr><td>1890</td><td>12</td></tr></table>
<pre>a
  b</pre>tail&nbsp;end</body></html>"""


def html(page: str) -> str:
    return extract("a.html", page.encode()).text


def test_plain_text_is_kept_with_one_kind_of_line_end() -> None:
    found = extract("sub/notes.txt", b"One.\r\nTwo.\rThree.\x00"[:-1])
    assert found == Document("sub/notes.txt", "txt", "notes", "One.\nTwo.\nThree.")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", "Zürich, 東京, שלום 👍"),
        ("utf-8-sig", "Zürich"),
        ("utf-16", "Zürich 東京"),
        ("cp1252", "Größe — “Übermut”"),
        ("cp1251", "Привет, мир. Это текст на русском языке. " * 10),
        ("shift_jis", "これは日本語の文章です。東京は日本の首都です。" * 10),
    ],
)
def test_encodings_are_made_out(encoding: str, text: str) -> None:
    assert extract("a.txt", text.encode(encoding)).text == text


def test_a_broken_character_does_not_spoil_the_others() -> None:
    text = "Die Brücke über die Limmat in Zürich, ihre Größe und Höhe. " * 20
    for whole in (text.encode(), f"<p>{text}</p>".encode(), (text * 100).encode()):
        for place in (len(whole) // 2, len(whole)):
            data = whole[:place].rstrip(b"\xc3\xb6\xbc\x9f") + b"\xc3" + whole[place:]
            assert extract("a.txt", data).text.count("\ufffd") == 1
            assert "Brücke über" in extract("a.html", data).text


def test_hidden_elements_are_left_out() -> None:
    found = extract("page.html", HTML.encode())
    assert found.title == "Harbour & sea"
    assert found.text == (
        "# The harbour\n\nBuilt in 1890, it burnt down.\nTwice.\n\n- one\n- two\n\n"
        "| Year | Ships |\n| --- | --- |\n| 1890 | 12 |\n\n    a\n      b\n\ntail end"
    )


def test_text_that_is_struck_through_or_hidden_is_left_out() -> None:
    page = (
        "<p>The fee is <del>30</del> <ins>25</ins>.</p><p>Open at <s>8</s> 9.</p>"
        '<p style="text-decoration: line-through">Closed.</p><p class="old-price">£9</p>'
    )
    assert html(page) == "The fee is 25.\n\nOpen at 9."
    assert extract("a.md", b"The fee is ~~30~~ 25.").text == "The fee is 25."
    made = python_docx.Document()
    paragraph = made.add_paragraph("The fee is ")
    paragraph.add_run("30").font.strike = True
    paragraph.add_run(" 25.").font.strike = False
    paragraph.add_run(" Unseen.").font.hidden = True
    assert read_word(made).text == "The fee is 25."


def test_boxes_are_ticked_or_empty() -> None:
    page = '<ul><li><input type="checkbox" checked> Tested</li><li><input type="checkbox">Served'
    assert html(page) == "- ☑ Tested\n- ☐ Served"
    signs = (
        '<w:sym w:font="Wingdings" w:char="F0FE"/>',
        '<w:sym w:font="Wingdings" w:char="F0A8"/>',
        '<w:fldChar><w:ffData><w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox></w:ffData></w:fldChar>',
        '<w:fldChar><w:ffData><w:checkBox><w:default w:val="0"/></w:checkBox></w:ffData></w:fldChar>',
    )
    body = "".join(makers.paragraph("Tested ", f"<w:r>{sign}</w:r>") for sign in signs)
    found = extract("a.docx", makers.docx_xml(body))
    assert found.text.split("\n\n") == ["Tested ☑", "Tested ☐"] * 2


def test_a_picture_alone_in_a_cell_is_its_description() -> None:
    cells = '<img alt="Yes">', '<i aria-label="No"></i>', "<svg><title>Some</title></svg>", "12"
    row = "".join(f"<td>{cell}</td>" for cell in cells)
    found = extract("a.html", f"<table><tr><th>A<th>B<th>C<th>D<tr>{row}</table>".encode())
    assert found.text.endswith("| Yes | No | Some | 12 |")


def test_signs_that_class_names_tell_are_written() -> None:
    signs = (
        '<i class="fa fa-times"></i>',
        '<svg class="icon-check"><path/></svg>',
        '<img src="/i/cross.svg">',
        '<svg><use href="#tick"/></svg>',
        '<span class="material-icons">close</span>',
        '<span class="icon-yes"><i class="fa-check"></i></span>',
    )
    row = "".join(f"<td>{sign}</td>" for sign in signs)
    assert html(f"<table><tr>{'<th>A' * 6}<tr>{row}</table>").endswith("| ✗ | ✓ | ✗ | ✓ | ✗ | ✓ |")
    items = (
        '<i class="fa fa-check"></i>Mail',
        '<img alt="Not included">Log',
        "<span class=sr-only>Not included:</span> Calls",
        "<label><input type=checkbox><span class=checkmark></span>Blue</label>",
        '<span class="no-margin"></span>Plain',
        'Oak <a href="#"><i class="fa-times"></i></a>',
    )
    found = html(f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>")
    assert found.split("\n") == [
        "- ✓ Mail",
        "- ✗ Log",
        "- Not included: Calls",
        "- ☐ Blue",
        "- Plain",
        "- Oak",
    ]


def test_numbers_above_the_line_do_not_join_those_on_it() -> None:
    page = "<p>10<sup>-6</sup> m<sup>2</sup> on the 1<sup>st</sup> of May</p>"
    assert html(page) == "10⁻⁶ m² on the 1st of May"
    made = python_docx.Document()
    made.add_paragraph("10").add_run("6").font.superscript = True
    assert read_word(made).text == "10⁶"


LONG = "You are far from alone, and there are several ways to make your visit easier for you."
LINKS = "<ul><li><a href=/a>Form A</a><li><a href=/b>Form B</a></ul>"
UNTOLD = (
    "<body><div class=c1><div><a href=/>Home</a><a href=/fees>Fees</a></div><div>Call 0123</div></div>"
    "<div class=c2><h1>The shop</h1><p>It is open daily.</p><div>Read <a href=/t>our terms</a>.</div>"
    "<div>For cookies, see <a href=/c>the recipe</a>.</div></div>"
    "<div class=c3><div><h2>Your privacy</h2><p>We use cookies.</p></div><div><button>Reject</button>"
    "<button>Accept all</button><a href=/more>More</a></div></div>"
)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        # Lists keep their numbers and levels; a card in a list is a section.
        ("<p>You need:</p><ol start=3><li>a key<li><p>a lamp</p><p>and oil</p><ol type=a><li>or gas</ol></li></ol>"
         "<ul><li>- <a>more</a></ul>then",
         "You need:\n\n3. a key\n4. a lamp\nand oil\n  a. or gas\n\n- more\n\nthen"),
        ("<ul><li><h3>Oslo</h3><p>A city.</p><p>Old.</p></li><li><h3>Moss</h3>Small.</li></ul>",
         "### Oslo\n\nA city.\n\nOld.\n\n### Moss\n\nSmall."),
        # Tables are data or layout.
        ("<table><tr><th>Born<td>1890<tr><th>Died<td><p>1950</p><p>in Oslo</p></table>"
         "<table><tr><td><h2>News</h2>Old<td>Menu</table>",
         "|  |  |\n| --- | --- |\n| Born | 1890 |\n| Died | 1950 in Oslo |\n\n## News\n\nOld\nMenu"),
        ("<table><tr><td>Call<br>555-0163</td><td>Write<br>Dock 3</td></table>",
         "Call\n555-0163\n\nWrite\nDock 3"),
        ("<table><tr><th>Year<th>Ships<tr><th>1890<th>12<tr><th>1891<th>14</table>",
         "| Year | Ships |\n| --- | --- |\n| 1890 | 12 |\n| 1891 | 14 |"),
        ("<table><tr><th rowspan=2>Plan<th colspan=2>Speed<tr><th>down<th>up<tr><td rowspan=2>Home<td>300<td>100"
         "<tr><td colspan=2>on request<tr><td colspan=3>Business</table>",
         "| Plan | Speed down | Speed up |\n| --- | --- | --- |\n| Home | 300 | 100 |\n"
         "| Home | on request | on request |\n| Business |"),
        # A term with a text below it is a heading, unless the texts repeat.
        (f"<dl><dt>I bought it used<dd>{LONG}<dt>Weight<dd>3 kg</dl>",
         f"###### I bought it used\n\n{LONG}\n\nWeight: 3 kg"),
        # What only its style parts is apart; a long div is a paragraph.
        (f"<div>I am afraid.</div><div>{LONG}</div><div>Where?</div>", f"I am afraid.\n\n{LONG}\n\nWhere?"),
        ("<p>More: <a href=/a>Features</a><a href=/b>Status</a></p>", "More: Features Status"),
        ("<span>Linen Set</span><span>$148</span>", "Linen Set $148"),
        ("<a>Linen Set</a><span>$148</span>", "Linen Set $148"),
        ("H<sub>2</sub>O <b>1</b><i>000</i> <b>mol</b><sub>2</sub>", "H2O 1000 mol2"),
        # Decoration is left out.
        ("<b>Free</b><b aria-hidden=true>Free</b>", "Free"),
        ("<p>Does it keep? Please <a>reply</a></p><a>Reply</a> <a>Share</a>", "Does it keep? Please reply"),
        ("<h2>C#<a href=#c>¶</a></h2><p>It is typed.<p>A <i>#</i>", "## C#\n\nIt is typed.\n\nA #"),
        ("It costs <b aria-hidden=true>£12</b><span class=sr-only>12 pounds</span> a day.", "It costs £12 a day."),
        ("<p>Hello.</p><div hidden aria-labelledby=t>Subscribe!</div>", "Hello."),
        # So are menus, trails and notices, by their names or without, but no other links.
        ("<div><a href=/>Home</a> &gt; <a href=/s>Support</a> &gt; Returns</div><h1>Returns</h1><p>Send it.", "Send it."),
        (f"<body class='with-nav'><div class='top nav'>{LINKS}</div><p>Forms:</p>{LINKS}",
         "Forms:\n\n- Form A\n- Form B"),
        (UNTOLD, "Call 0123\n\n# The shop\n\nIt is open daily.\n\nRead our terms.\nFor cookies, see the recipe."),
        ("<nav><h2>Menu</h2></nav><p><a href=/>Home</a></p><p>Call 0123</p><div><a href=/fees><h1>Fees</h1></a></div>"
         "<p><a href=/a>Form A</a></p>", "Call 0123\n\n# Fees\n\nForm A"),
    ],
)  # fmt: skip
def test_pages_are_read_as_shown(page: str, text: str) -> None:
    assert html(page) == text


def test_short_terms_of_equal_texts_are_no_headings() -> None:
    terms = "".join(f"<dt>{term}<dd>{LONG}" for term in ("Eel", "Trout", "Fish of all other kinds"))
    assert "#" not in html(f"<dl>{terms}</dl>")


def test_questions_of_a_page_stand_before_their_answers() -> None:
    page = (
        "<details><summary>Is it open?</summary><p>Yes.</p><p>Daily.</p></details>"
        "<details><summary>More</summary>The rest.</details>"
        "<dl><dt>Is it far?</dt><dd><p>It is by the sea.</p><p>Not so far at all.</p></dd><dt>Oslo</dt><dd>A city.</dd></dl>"
        "<h3><button>Is it deep?</button></h3><div>Very.</div>"
        "<p><b>Is it old?</b></p><p>No.</p>"
    )
    text = html(page)
    assert text == (
        "Is it open?\nYes.\n\nDaily.\n\nMore\n\nThe rest.\n\n"
        "Is it far?\nIt is by the sea.\nNot so far at all.\n\nOslo: A city.\n\n### Is it deep?\n\nVery.\n\n"
        "Is it old?\nNo."
    )
    structure = read_structure(text)
    questions = {
        structure.of(i): structure.of(unit.over)
        for i, unit in enumerate(structure.units)
        if unit.over is not None
    }
    assert questions["Daily."] == "Is it open?"
    assert questions["Not so far at all."] == "Is it far?"


def test_the_only_row_of_a_table_is_not_a_header() -> None:
    text = html("<table><tr><td>Fee<td>5 euros</table>")
    assert text == "|  |  |\n| --- | --- |\n| Fee | 5 euros |"
    assert [unit.kind for unit in read_structure(text).units] == ["row"]


def test_declared_encodings_are_used() -> None:
    page = '<meta charset="iso-8859-2"><p>Łódź, Gdańsk.</p>'.encode("iso-8859-2")
    assert extract("page.html", page).text == "Łódź, Gdańsk."


def test_markdown_loses_its_marks_within_lines() -> None:
    source = (
        "# Big *title*\n\nSome **bold** [link](http://x.y) and `code`\nhere.\n\n* one\n* two\n\n"
        "> quoted\n\nHead\n----\n\n3) c\n\n|a|b|\n|-|-|\n|1|*2*|\n\n```\n# no head\n```\n"
    )
    found = extract("a.md", source.encode())
    assert (found.title, found.text) == (
        "Big title",
        "Some bold link and code here.\n\n- one\n- two\n\nquoted\n\n## Head\n\n3. c\n\n"
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n\n    # no head",
    )


def test_a_title_is_not_the_text_again() -> None:
    page = "<title>The  harbour</title><h1>The <i>harbour</i></h1><p>Built in 1890.</p>"
    assert html(page) == "Built in 1890."
    assert extract("a.md", b"# Only this").text == "# Only this"
    assert extract("a.md", b"# One\n\nOne\n\nOne").text == "One\n\nOne"
    assert extract("a.txt", b"a\n\nmore").text == "a\n\nmore"  # the file's name is no title of it


def test_front_matter_is_left_out() -> None:
    found = extract("a.md", b"---\ntitle: 'My notes'\ntags: [a]\n---\nHello.\n")
    assert (found.title, found.text) == ("My notes", "Hello.")
    found = extract("a.md", b"---\r\ntitle: My notes\r\n# x\r\ntags:\r\n- a\r\n---\r\nHello.\r\n")
    assert (found.title, found.text) == ("My notes", "Hello.")


def test_a_text_between_two_rules_is_text() -> None:
    for first in ("\nThe fee is 5.", "The fee is 5.", "title: x\n\nThe fee is 5."):
        text = extract("a.md", f"---\n{first}\n\n---\n\nThe tax is 2.\n".encode()).text
        assert "The fee is 5." in text
        assert text.endswith("The tax is 2.")


def test_content_decides_over_the_name_but_a_text_may_speak_of_pdf() -> None:
    assert extract("a.txt", makers.pdf([["Hello."]])).kind == "pdf"
    assert extract("a", makers.docx("Hello.")).kind == "docx"
    for name in ("a.md", "a.html", "a"):
        assert extract(name, b"A PDF begins with %PDF-1.7.").text == "A PDF begins with %PDF-1.7."


def test_markdown_fields_stay_on_their_lines() -> None:
    source = b"# Minutes\n\n**Date:** 3 May\n**Present:** Ada, Bo\nand Cy\n\nA long\nline."
    text = "Date: 3 May\nPresent: Ada, Bo and Cy\n\nA long line."
    assert extract("a.md", source).text == text


@pytest.mark.parametrize("depth", [12, 400])
def test_deeply_nested_lists_are_kept(depth: int) -> None:
    source = "\n".join(f"{' ' * 2 * level}- item {level}" for level in range(depth))
    text = extract("a.md", source.encode()).text
    assert text.split()[2::3] == [str(level) for level in range(depth)]


def test_a_very_long_markdown_is_read_as_it_is() -> None:
    source = "# T\n\n" + "Some *text*.\n\n" * 200_000
    assert extract("a.md", source.encode()).text == source


def test_rows_are_a_table() -> None:
    found = extract("a.csv", b'name;age\nBo;3\n;\n"Al; x";"4\n5"\n')
    assert found.text == "| name | age |\n| --- | --- |\n| Bo | 3 |\n| Al; x | 4 5 |"
    assert extract("a.csv", b"sep=;\r\n" + b"name;age\r\nBo, Al;3\r\n").text == (
        "| name | age |\n| --- | --- |\n| Bo, Al | 3 |"
    )
    prose = b'name\tsays\n"Bo, Al"\tyes; no, no\nMo\tyes, yes\n'
    assert extract("a.csv", prose).text == (
        "| name | says |\n| --- | --- |\n| Bo, Al | yes; no, no |\n| Mo | yes, yes |"
    )
    rows = b"".join(b"ship %d,%d\n" % (i, i * i) for i in range(200))
    passages = split(extract("a.csv", b"name,length\n" + rows))
    assert {each.context for each in passages[1:]} == {("name | length",)}


def test_lines_above_the_header_of_a_table_are_text() -> None:
    rows = b"Animals on site;;\nprinted 07/03/2025;;\nFees are in pounds.;;\n;;\nNo;Name;Fee\n1;Moss;90\n"
    assert extract("a.csv", rows).text == (
        "# Animals on site\n\n## printed 07/03/2025\n\nFees are in pounds.\n\n"
        "| No | Name | Fee |\n| --- | --- | --- |\n| 1 | Moss | 90 |"
    )
    values = b"Tenant;\nRent;985\nAgent;Gibb\n"
    assert extract("a.csv", values).text.startswith("| Tenant |  |\n| --- | --- |\n| Rent | 985 |")
    assert extract("a.csv", b"a;b;c\nx;;\n").text.startswith("| a | b | c |")


def test_comments_of_a_table_are_text() -> None:
    rows = (
        b"# Rents per month\n# Pets: ask, no fee.\nref,rent,pets\n# 1,90,no\n"
        b"P2,80,ask\n\n# Viewings Mon, Tue.\n"
    )
    assert extract("a.csv", rows).text == (
        "# Rents per month\n\nPets: ask, no fee.\n\n"
        "| ref | rent | pets |\n| --- | --- | --- |\n| # 1 | 90 | no |\n| P2 | 80 | ask |"
        "\n\nViewings Mon, Tue."
    )
    numbered = b"# of rooms,rent,pets\n1,90,no\n"
    assert extract("a.csv", numbered).text.startswith("| # of rooms | rent | pets |")


def test_an_empty_header_is_kept() -> None:
    found = extract("a.md", b"| | |\n|---|---|\n| Vet | call Ann |\n| Warden | call Bo |\n")
    assert found.text.split("\n")[0].strip("| ") == ""
    assert "| Vet | call Ann |\n| Warden | call Bo |" in found.text


def test_records_are_paragraphs_and_sources_are_their_text() -> None:
    found = extract("a.jsonl", b'{"title":"Oslo","text":"A city.","url":"u"}\n\n{"x":1,"y":[2]}\n')
    assert found.text == "# Oslo\n\nA city.\n\nx: 1\ny: [2]"


def test_a_pdf_has_pages_and_paragraphs() -> None:
    wide = "These lines are as wide as the page is, so that they go on in the next"
    data = makers.pdf(
        [
            [wide, "one. A word may be bro-", "ken there, well-", "known words too."],
            [],
            ["Page (3) é."],
        ],
        title="Annual report",
    )
    found = extract("r.pdf", data)
    assert found.title == "Annual report"
    assert (
        found.text
        == f"{wide} one. A word may be broken there, well-known words too.\n\nPage (3) é."
    )
    assert [found.text[at:].lstrip()[:4] for at in found.pages] == ["Thes", "Page", "Page"]
    assert [found.page_of(at) for at in (0, found.pages[2])] == [1, 3]
    assert [(each.page, found.text[each.start : each.end][:4]) for each in split(found)] == [
        (1, "Thes"),
        (3, "Page"),
    ]


COLUMNS = (
    """The harbour of Penmar was built in 1890 by the
Railway Company. It has two moles, of which
the northern one is 310 metres long. Boats up
to 12 metres may moor at its inner side.""",
    """Berths are let from April to October. A berth
costs 14 pounds a night, with water and power.
Long stays of a month or more cost 240 pounds
a month. Ask the harbour master for a place.""",
)


def text_of_columns(
    left: str, right: str, *, by_line: bool, below: str = "", across: int = 320
) -> str:
    """The text of a PDF with two columns, written line by line or one after the other."""
    columns = [
        [(x, 690 - 13 * i, line) for i, line in enumerate(column.split("\n"))]
        for x, column in ((72, left), (across, right))
    ]
    placed = (
        [each for pair in zip(*columns, strict=True) for each in pair]
        if by_line
        else chain(*columns)
    )
    lines = [*placed, (72, 500, below)]
    return drawn_pdf(*(written(x, y, line, 10) for x, y, line in lines))


@pytest.mark.parametrize("by_line", [False, True])
def test_columns_of_a_pdf_are_read_one_after_the_other(by_line: bool) -> None:
    wide = (
        "This line goes across both of the columns of the page and is longer than a line of these."
    )
    left, right, last = (" ".join(text.split()) for text in (*COLUMNS, wide))
    found = text_of_columns(*COLUMNS, by_line=by_line, below=wide)
    assert " ".join(found.split()) == f"{left} {right} {last}"
    assert "Company. It has two moles, of which the northern" in found


def test_addresses_side_by_side_in_a_pdf_stay_apart() -> None:
    found = text_of_columns(
        "Bill to:\nOrla Finch\n18 Quayside", "Deliver to:\nFinch Sailing\nBerth 27", by_line=True
    )
    assert found == "Bill to:\nOrla Finch\n18 Quayside\n\nDeliver to:\nFinch Sailing\nBerth 27"


def test_names_and_values_of_a_pdf_stay_together() -> None:
    left, right = "Number:\nDate:\nPlace of the works:", "2024-0381\n14 June 2024\nPenmar harbour"
    found = text_of_columns(left, right, by_line=True)
    assert [line.split(":")[1].strip() for line in found.split("\n")] == right.split("\n")


def test_a_sentence_may_continue_on_the_next_page() -> None:
    found = extract("r.pdf", makers.pdf([["The harbour was"], ["built in 1890. It burnt."]]))
    assert found.text == "The harbour was built in 1890. It burnt."
    assert found.pages == (0, 16)
    assert [found.text[each.start : each.end] for each in split(found)] == [
        "The harbour was built in 1890.",
        "It burnt.",
    ]


def test_words_of_a_pdf_may_be_parted_by_a_gap_alone_and_a_frame_is_no_table() -> None:
    # As TeX writes: no blank is printed, the next word begins farther to the right.
    words = "[(The)-300(harbour)-300(w)20(as)-300(built.)] TJ"
    found = drawn_pdf(grid([70, 300], [760, 640]), f"BT /F1 12 Tf 72 720 Td {words} ET")
    assert found == "The harbour was built."


@pytest.mark.parametrize(
    "title", ["(anonymous)", "untitled", "Document1", "slides.html", "tariffs_v3_FINAL"]
)
def test_a_placeholder_is_no_title_of_a_pdf(title: str) -> None:
    assert extract("tariffs.pdf", makers.pdf([["Berths."]], title=title)).title == "tariffs"


def test_a_table_of_contents_is_left_out() -> None:
    titles = ["Tariffs", "Moorings", "Fuel", "Waste", "Complaints"]
    contents = [f"{i} {title} . . . . . . . . . . {i + 1}" for i, title in enumerate(titles, 1)]
    pdf = extract("r.pdf", makers.pdf([["Contents", *contents], ["Fuel is sold at the pier."]]))
    assert (pdf.text, pdf.pages) == ("Fuel is sold at the pier.", (0, 0))

    listed = [line for i, t in enumerate(titles) for line in aligned((t, str(i)), top=700 - 15 * i)]
    sections = [
        [
            written(72, 600 - 60 * i, f"{i + 1} {t}", 20),
            written(72, 580 - 60 * i, f"Ask at office number {i}."),
        ]
        for i, t in enumerate(titles)
    ]
    text = drawn_pdf(*listed, *chain(*sections))
    assert text == "\n\n".join(
        f"# {i + 1} {t}\n\nAsk at office number {i}." for i, t in enumerate(titles)
    )

    items = "".join(f'<li><a href="#s{i}">{title}</a></li>' for i, title in enumerate(titles))
    page = f"<ol>{items}</ol><p>Fuel is sold at the pier.</p><ul><li><a href='#s1'>Moorings</a> cost £5.</li></ul>"
    html = extract("r.html", page.encode())
    assert html.text == "Fuel is sold at the pier.\n\n- Moorings cost £5."
    readme = "\n".join(f"- [{title}](#{title.lower()})" for title in titles)
    assert extract("r.md", f"{readme}\n\nFuel is sold.".encode()).text == "Fuel is sold."


def test_headers_and_page_numbers_are_left_out() -> None:
    words = ["harbour", "zebra", "ferry", "island", "lantern", "mountain"]
    pages = [
        [
            "ACME Annual Report 2024",
            f"The {word} was built in 18{i}0.",
            f"On page 3 the {word} stays.",
            f"{i + 1} of 6",
        ]
        for i, word in enumerate(words)
    ]
    found = extract("r.pdf", makers.pdf(pages))
    assert "ACME" not in found.text
    assert " of 6" not in found.text
    assert found.text.count("On page 3 the") == 6
    for at, word in zip(found.pages, words, strict=True):
        assert found.text[at:].startswith(f"The {word} was built")
    assert [each.page for each in split(found)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("pages", "left"),
    [
        (
            [
                f"{'Left' if i % 2 else 'Right'} head\n\nText {i:b}.\n\n- {i + 9} -"
                for i in range(8)
            ],
            [f"\nText {i:b}.\n" for i in range(8)],
        ),
        (["A leaflet\nPage 1\na", "A leaflet\nPage 2\nb"], ["a", "b"]),
        (
            [f"Text {i:b}.\nLtd 998 231 555 0123 44 Page {i}" for i in (1, 2)],
            ["Text 1.", "Text 10."],
        ),
        *(
            (pages, pages)
            for pages in (
                ["The same.", "The same.", "The same."],  # else nothing were left
                ["Head\na", "Head\nb"],  # two are chance
                ["Head\nWeek 1\na", "Head\nWeek 2\nb"],
                ["a\n1", "b\n2", "c\n9", "d\n3"],  # numbers that count nothing
                ["Total 17\na", "b\nc", "d\ne", "Total 17\nf"],
                ["", "", ""],
                [],
                ["x\nHead\ny", "z\nHead\nw", "v\nHead\nu", "t\nHead\ns"],  # not at the edge
            )
        ),
    ],
)
def test_headers_and_footers(pages: list[str], left: list[str]) -> None:
    assert without_headers_and_footers(pages) == left


def test_lines_of_a_narrow_column_are_joined() -> None:
    column = [
        "The club meets on Monday in",
        "the old hall near the green,",
        "and tea is served at four if",
        "there is milk in the fridge.",
    ]
    found = drawn_pdf(
        *[written(72, 740 - 14 * i, "word " * 15) for i in range(12)],
        *[written(72, 540 - 14 * i, line) for i, line in enumerate(column)],
    )
    assert found.endswith(" ".join(column))


def test_a_line_of_a_pdf_does_not_end_in_a_parenthesis() -> None:
    lines = ["Present: J. Pardoe, S. Lal, M. Trent, R. Oduya (from item", "4), K. Bramley"]
    lines += ["Also: the clerk and two hundred people of the public and", "of the press"]
    found = extract("r.pdf", makers.pdf([lines])).text
    assert found.split("\n") == [" ".join(lines[:2]), " ".join(lines[2:])]


def test_a_line_of_a_pdf_ends_where_the_next_word_had_room() -> None:
    dates = ["Apr 25: the boat ramp is cleaned from nine", "May 12: meeting, 7 p.m., at Grace Hall"]
    dates += ["Jun 6: yard sale", "Jul 10: first concert", "Aug 5: the shuttle bus ends"]
    found = drawn_pdf(*[written(72, 700 - 14 * i, line) for i, line in enumerate(dates)])
    assert found.split("\n") == dates


def test_a_date_may_be_split_over_lines() -> None:
    lines = [
        "No phones, please.",
        "The forms must be back by Wednesday 4",
        "June.",
        "Lunch is at 1.",
    ]
    found = drawn_pdf(*[written(72, 700 - 14 * i, line) for i, line in enumerate(lines)])
    assert found.split("\n") == [lines[0], f"{lines[1]} {lines[2]}", lines[3]]


def test_a_bullet_below_the_line_belongs_to_it() -> None:
    name = "small-grants-2025.pdf"
    found = extract(name, (FORMATS / name).read_bytes())
    items = ("work that starts before our decision", "anything that the law requires")
    assert "\n".join(f"• {item}" for item in items) in found.text


def test_sentences_in_a_larger_font_are_no_heading() -> None:
    lead = "Money for groups that look after the river. The round closes on 25 April at noon."
    found = drawn_pdf(
        written(72, 760, "Small Grants", 24),
        written(72, 720, lead, 14),
        *[
            written(72, 690 - 14 * i, "This line is of the usual size and quite long.")
            for i in range(5)
        ],
    )
    assert found.startswith(f"# Small Grants\n\n{lead}\n\nThis")


def test_a_drop_cap_is_a_letter_of_its_word() -> None:
    found = drawn_pdf(
        written(72, 686, "T", 30),
        written(72, 760, "The courier", 24),
        *[written(92, 700, "he bridge over the creek is"), written(92, 686, "closed in April.")],
    )
    assert found == "# The courier\n\nThe bridge over the creek is closed in April."


def test_a_short_paragraph_at_the_end_of_a_column_is_joined() -> None:
    above = [
        "Money is excluded if it is not kept in a",
        "locked drawer or a safe while any guests",
        "stay in.",
    ]
    below = [
        "Damage by storms to fences and hedges is",
        "not covered even if the house itself was",
        "hit.",
    ]
    wide = "This line is as wide as the whole page is and by far wider than the columns that are above it."
    found = drawn_pdf(
        written(72, 720, "You are not covered for some things."),
        *[written(310, 760 - 14 * i, line) for i, line in enumerate(above)],
        *[written(310, 700 - 14 * i, line) for i, line in enumerate(below)],
        *[written(72, 400 - 14 * i, wide) for i in range(5)],
    )
    assert found.split("\n\n")[:3] == [
        "You are not covered for some things.",
        " ".join(above),
        " ".join(below),
    ]


@pytest.mark.parametrize(
    ("lines", "words", "joined"),
    [
        ("a well-\nknown fact", {"well-known"}, "a well-known fact"),
        ("a well-\nknown fact", {"wellknown"}, "a wellknown fact"),
        ("the SE-\nQUENCE", {"SEQUENCE"}, "the SEQUENCE"),
        ("from A-\nB to C", {"AC"}, "from A- B to C"),
        ("an e-\nscooter and an X-\nray", set(), "an e-scooter and an X-ray"),
        ("Ring the unit on weekdays (from 8\u2013\n18) or wait.", set(), "Ring the unit on weekdays (from 8\u2013 18) or wait."),
    ],
)  # fmt: skip
def test_a_hyphen_at_a_line_end(lines: str, words: set[str], joined: str) -> None:
    assert join_lines(lines, words) == joined


def test_a_compound_keeps_its_hyphen_where_no_words_are_split() -> None:
    page = ["Before the test you may eat only low-", "fibre food. Ring for a call-", "out."]
    more = ["Whoever rings out of hours pays for the call."]
    assert "low-fibre food. Ring for a call-out." in extract("r.pdf", makers.pdf([page, more])).text
    split = ["The infor-", "mation, the man-", "agement and the high-", "lights."]
    assert extract("r.pdf", makers.pdf([split])).text == (
        "The information, the management and the highlights."
    )


def read_word(made: WordDocument) -> Document:
    out = io.BytesIO()
    made.save(out)
    return extract("a.docx", out.getvalue())


def word_table(columns: int, cells: Sequence[str], *merged: tuple[int, int, int, int]) -> list[str]:
    """Return the lines of a table in a Word document, in which some cells are merged."""
    made = python_docx.Document()
    table = made.add_table(rows=len(cells) // columns, cols=columns)
    for i, text in enumerate(cells):
        table.cell(i // columns, i % columns).text = text
    for row, column, last_row, last_column in merged:
        table.cell(row, column).merge(table.cell(last_row, last_column))
    return read_word(made).text.split("\n")


def test_word_documents_include_tables_boxes_and_insertions() -> None:
    body = (
        f'<w:document {makers.W} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        "<w:body><w:p><w:r><w:t>One</w:t><w:tab/><w:t>two.</w:t></w:r>"
        "<w:del><w:r><w:delText>gone</w:delText><w:t>gone</w:t></w:r></w:del>"
        "<w:ins><w:r><w:t> New.</w:t></w:r></w:ins></w:p>"
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>Held.</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc>"
        "<w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
        "<mc:AlternateContent><mc:Fallback><w:p><w:r><w:t>again</w:t></w:r></w:p></mc:Fallback>"
        "</mc:AlternateContent></w:body></w:document>"
    )
    found = extract("a.docx", makers.docx_parts(body))
    assert found.text == "One\ttwo. New.\n\nHeld.\n\n|  |  |\n| --- | --- |\n| a | b |"


def test_styles_of_a_word_document_nest_lists() -> None:
    made = python_docx.Document()
    made.add_paragraph("Dogs", style="List Number")
    for text in ("On the lead.", "Never alone."):
        made.add_paragraph(text, style="List Bullet 2")
    made.add_paragraph("Cats", style="List Number")
    lines = read_word(made).text.split("\n")
    assert list(filter(None, lines)) == [
        "1. Dogs",
        "  - On the lead.",
        "  - Never alone.",
        "2. Cats",
    ]


def test_a_word_document_keeps_headings_lists_and_tables() -> None:
    made = python_docx.Document()
    made.core_properties.title = "Rules"
    made.add_heading("Fees", 1)
    made.add_paragraph("You pay:")
    for text in ("the rent", "the deposit"):
        made.add_paragraph(text, style="List Bullet")
    made.add_paragraph("Then:")
    for text in ("Sign.", "Move in."):
        made.add_paragraph(text, style="List Number")
    made.add_heading("Times", 2)
    table = made.add_table(2, 2)
    for i, row in enumerate(table.rows):
        for j, cell in enumerate(row.cells):
            cell.text = f"{i}\n{j}"
    made.add_table(1, 1).rows[0].cells[0].text = "A box."
    assert read_word(made).text == (
        "# Fees\n\nYou pay:\n\n- the rent\n- the deposit\n\nThen:\n\n1. Sign.\n2. Move in.\n\n"
        "## Times\n\n| 0 0 | 0 1 |\n| --- | --- |\n| 1 0 | 1 1 |\n\nA box."
    )


def test_clauses_of_a_word_document_have_their_numbers() -> None:
    levels = [("decimal", "%1.", ""), ("decimal", "%1.%2", ""), ("lowerLetter", "(%3)", "")]
    annex = (
        '<w:num w:numId="2"><w:abstractNumId w:val="7"/><w:lvlOverride w:ilvl="0">'
        '<w:startOverride w:val="9"/></w:lvlOverride></w:num>'
    )
    clauses = [(1, 0, "Term"), (1, 1, "One year."), (1, 1, "It renews if"), (1, 2, "we agree;")]
    clauses += [(1, 2, "you pay."), (1, 0, "Law"), (1, 1, "Dutch law."), (2, 0, "Annex")]
    assert extract("a.docx", makers.numbered(levels, clauses, annex)).text == (
        "1. Term\n\n1.1 One year.\n\n1.2 It renews if\n\n    (a) we agree;\n    (b) you pay.\n"
        "\n2. Law\n\n2.1 Dutch law.\n\n9. Annex"
    )


def test_numbers_of_a_word_document_count_as_word_does() -> None:
    levels = [
        ("upperRoman", "Article %1", ""),
        ("decimalZero", "%1.%2", "<w:isLgl/>"),
        ("decimal", "%3)", '<w:lvlRestart w:val="0"/>'),
    ]
    items = [(0, "Term"), (1, "Start."), (2, "Ask."), (2, ""), (2, "Pay."), (0, "Law"), (2, "Sue.")]
    found = extract("a.docx", makers.numbered(levels, [(1, *item) for item in items])).text
    assert [line.strip() for line in found.split("\n") if line] == [
        *["Article I Term", "1.01 Start.", "1) Ask.", "3) Pay."],
        *["Article II Law", "4) Sue."],
    ]


def test_the_first_of_several_main_headings_is_no_title() -> None:
    made = python_docx.Document()
    for name in ("Samira", "Ellen"):
        made.add_heading(name, 1)
        made.add_paragraph("Cook.")
    file = io.BytesIO()
    made.save(file)
    page = "<h1>Samira</h1><p>Cook.</p><h1>Ellen</h1><p>Cook.</p>"
    text = "# Samira\n\nCook.\n\n# Ellen\n\nCook."
    for name, data in (
        ("cooks.docx", file.getvalue()),
        ("cooks.html", page.encode()),
        ("cooks.md", text.encode()),
    ):
        found = extract(name, data)
        assert (found.title, found.text) == ("cooks", text)


@pytest.mark.parametrize(
    "note", ["<p><small>1 Whichever is first.", "<p><sup>1</sup> Whichever is first."]
)
def test_a_note_begins_with_its_mark(note: str) -> None:
    page = "<p>Up to 1,200 starts<sup>1</sup> on 5 m<sup>1</sup> or 10<sup>1</sup>.</p>"
    found = html(f"{page}{note}")
    assert found == "Up to 1,200 starts¹ on 5 m¹ or 10¹.\n\n¹ Whichever is first."
    several = f"<p>1 Mill Lane</p>{page}<p>1 Mill Lane</p><p>1 Whichever is first.</p>"
    assert "starts¹" in (text := html(several))
    assert "¹ " not in text.replace("¹ on", "").replace("¹ or", "")
    powers = "<h2>2 Squares</h2><p>A field of 40 metres<sup>2</sup>; (a + b)<sup>2</sup>.</p>"
    assert "40 metres²; (a + b)²." in html(powers)


@pytest.mark.parametrize("other", ["<h1><img src=a.png></h1>", "<h1>The  harbour</h1>"])
def test_a_main_heading_without_text_or_repeated_is_no_other(other: str) -> None:
    page = f"{other}<h1>The harbour</h1><p>Built in 1890.</p>"
    assert extract("a.html", page.encode()).title == "The harbour"


def test_a_word_document_of_the_library_has_its_title() -> None:
    made = python_docx.Document()
    made.add_heading("The harbour", 0)
    made.add_paragraph("Built in 1890.")
    for stated in ("", "Minutes of a template"):
        made.core_properties.title = stated
        found = read_word(made)
        assert (found.title, found.text) == ("The harbour", "Built in 1890.")


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["a.txt", "a.md", "a.html", "a.csv", "a.jsonl", "a.pdf", "a.docx"]),
    st.one_of(
        st.binary(max_size=300),
        st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")),
        st.sampled_from(
            [
                makers.pdf([["Hello."]]),
                makers.docx("Hello."),
                HTML.encode(),
                b"a,b\n1,2\n",
                b'{"a":1}',
            ]
        ).flatmap(
            lambda data: st.tuples(
                st.integers(0, len(data) - 1),
                st.binary(min_size=1, max_size=8),
                st.integers(1, len(data)),
            ).map(
                lambda cut: (data[: cut[0]] + cut[1] + data[cut[0] + len(cut[1]) :])[
                    : max(cut[2], 9)
                ]
            )
        ),
    ),
)
def test_any_bytes_are_a_document_or_a_users_mistake(name: str, data: bytes) -> None:
    try:
        found = extract(name, data, Limits(seconds=20))
    except InputError as error:
        assert str(error).startswith(name)  # noqa: PT017
        return
    assert found.text.strip()
    found.text.encode("utf-8")
    assert "\r" not in found.text
    assert all(0 <= page <= len(found.text) for page in found.pages)
    for passage in split(found):
        assert found.text[passage.start : passage.end].strip()


def drawn_pages(*pages: Sequence[str], **more: Any) -> str:
    """Return the text of a PDF with pages of the given PDF operators."""
    contents = [makers.stream("\n".join(page).encode()) for page in pages]
    return extract("r.pdf", makers.pdf_contents(contents, **more)).text


def drawn_pdf(*parts: str) -> str:
    return drawn_pages(parts)


def written(x: float, y: float, text: str, size: int = 12) -> str:
    return f"BT /F1 {size} Tf {x} {y} Td ({text}) Tj ET"


def placed(rows: Iterable[Sequence[str]], ys: Iterable[int], width: int = 100) -> list[str]:
    """Write the cells of rows, each row at its height."""
    return [
        written(72 + width * i, y, text)
        for row, y in zip(rows, ys, strict=False)
        for i, text in enumerate(row)
    ]


def grid(xs: list[int], ys: list[int]) -> str:
    """Rules at the given places, as thin rectangles or as lines."""
    lying = [f"{xs[0]} {y} {xs[-1] - xs[0]} 0.7 re f" for y in ys]
    standing = [f"{x} {ys[0]} m {x} {ys[-1]} l S" for x in xs]
    return "\n".join([*lying, *standing])


def test_a_table_of_a_pdf_has_rows() -> None:
    found = drawn_pdf(
        written(72, 720, "The doses are:"),
        grid([70, 170, 270, 370], [700, 680, 650, 630]),
        *placed([("Age", "Dose (g)", "Hours"), ("Adults", "1.0", "6")], (686, 636)),
        *[written(72, 668, "Children from"), written(72, 654, "six years")],
        *[written(172, 660, "0.5"), written(272, 660, "8")],
        written(72, 600, "Do not take more."),
    )
    assert found == (
        "The doses are:\n\n| Age | Dose (g) | Hours |\n| --- | --- | --- |\n"
        "| Children from six years | 0.5 | 8 |\n| Adults | 1.0 | 6 |\n\nDo not take more."
    )


def test_large_lines_of_a_pdf_are_headings() -> None:
    lines = ["It was built in 1890 by the town, and it", "burnt down twice in the next century."]
    found = drawn_pdf(
        *[written(72, 740, "Rules of the", 18), written(72, 718, "harbour", 18)],
        *[written(72, 690 - 14 * i, line) for i, line in enumerate(lines)],
        *[written(72, 640, "Fees", 14), written(72, 620, "A berth costs 14 pounds a night.")],
    )
    text = " ".join(lines)
    assert found == (
        f"# Rules of the harbour\n\n{text}\n\n## Fees\n\nA berth costs 14 pounds a night."
    )


def test_merged_cells_of_a_pdf_are_repeated() -> None:
    found = drawn_pdf(
        *[f"{x} 640 m {x} 700 l S" for x in (70, 170, 370)],
        *["270 640 m 270 680 l S", "70 700 m 370 700 l S", "170 680 m 370 680 l S"],
        *["70 660 m 370 660 l S", "70 640 m 370 640 l S"],
        *[written(72, 674, "Plan"), written(220, 686, "Speed in Mbit/s")],
        *[written(172, 666, "down"), written(272, 666, "up")],
        *[written(x, 646, text) for x, text in ((72, "M"), (172, "300"), (272, "100"))],
    )
    assert found.split("\n")[0] == "| Plan | Speed in Mbit/s down | Speed in Mbit/s up |"
    assert found.split("\n")[2] == "| M | 300 | 100 |"


def test_the_first_row_of_a_table_without_rules_in_it_is_a_caption_or_header() -> None:
    rules = [*[f"70 {y} 200 0.7 re f" for y in (700, 680, 660, 640)], "170 640 m 170 680 l S"]
    rules += [f"{x} 640 m {x} 700 l S" for x in (70, 270)]
    rows = placed([("Bolts", "2.10"), ("Nuts", "1.90")], (666, 646))
    table = "| Bolts | 2.10 |\n| --- | --- |\n| Nuts | 1.90 |"
    found = drawn_pdf(*rules, written(72, 686, "The prices of the year 2025"), *rows)
    assert found == f"The prices of the year 2025\n{table}"
    found = drawn_pdf(*rules, *placed([("Item", "Price")], (686,)), *rows)
    assert found == "| Item | Price |\n| --- | --- |\n| Bolts | 2.10 |\n| Nuts | 1.90 |"


def test_a_cell_that_stands_a_point_higher_is_kept() -> None:
    rows = [("Item", "Pieces", "Price", "Stock"), ("Bolts", "40", "2", "yes"), ("Nuts", "80", "1")]
    found = drawn_pdf(
        grid([70, 170, 270, 370, 470], [700, 680, 640]),
        *placed(rows, (686, 664, 648)),
        written(372, 649, "no"),
    )
    assert found.endswith("| Bolts | 40 | 2 | yes |\n| Nuts | 80 | 1 | no |")


def test_rows_without_rules_between_them_are_rows() -> None:
    rows = [("Bolts", "40", "2.10"), ("Nuts", "80", "1.90"), ("Screws", "10", "3.00")]
    found = drawn_pdf(
        grid([70, 170, 270, 370], [700, 680, 600]),
        *placed([("Item", "Pieces", "Price"), *rows], (686, 660, 644, 628)),
    )
    assert found.split("\n")[2:] == [f"| {' | '.join(row)} |" for row in rows]


def test_a_row_with_letters_of_another_font_is_one() -> None:
    found = drawn_pdf(
        grid([70, 170, 270, 370], [700, 680, 660, 640]),
        *placed([("Room", "Projector", "Piano")], (686,)),
        *[written(72, y, name) for y, name in ((666.2, "Hall"), (646.2, "Attic"))],
        *[written(x, y, "x") for x in (172, 272) for y in (665.5, 645.5)],
    )
    assert found.split("\n")[2:] == ["| Hall | x | x |", "| Attic | x | x |"]


@pytest.mark.parametrize(
    ("degrees", "matrix"),
    [(90, "0 1 -1 0 612 0"), (180, "-1 0 0 -1 612 792"), (270, "0 -1 1 0 0 792")],
)
def test_a_page_that_is_turned_reads_as_shown(degrees: int, matrix: str) -> None:
    rows = [("Bolts", "40", "2.10"), ("Nuts", "80", "1.90")]
    parts = [
        *[
            f"q {matrix} cm",
            written(72, 560, "Prices"),
            grid([70, 170, 270, 370], [500, 480, 440]),
        ],
        *[*placed([("Item", "Pieces", "Price"), *rows], (486, 464, 446)), "Q"],
    ]
    assert drawn_pages(parts, more=b"/Rotate %d" % degrees) == (
        "Prices\n\n| Item | Pieces | Price |\n| --- | --- | --- |\n| Bolts | 40 | 2.10 |\n| Nuts | 80 | 1.90 |"
    )


def test_what_is_filled_into_a_form_stands_beside_or_below_its_label() -> None:
    def field(kind: str, place: str, more: str, flags: int = 4) -> str:
        return f"/Subtype/Widget/FT/{kind}/T(t{place})/Rect[{place}]/F {flags}{more}"

    labels = [
        (72, 720, "Name: ________"),
        (300, 720, "Contract:"),
        (72, 700, "Smoker?"),
        (150, 700, "yes"),
    ]
    lines = [written(*label) for label in [*labels, (210, 700, "no"), (72, 680, "Reason")]]
    fields = [
        field("Tx", "106 716 180 732", "/V(Ada Lund)"),
        field("Tx", "106 716 180 732", "/V(Secret)", flags=2),
        field("Ch", "360 716 460 732", "/Ff 131072/V(2)/Opt[[(1)(permanent)][(2)(fixed term)]]"),
        *[
            field("Btn", f"{x} 698 {x + 10} 708", f"/V/{on}/AS/{on}/AP<</N<</Yes null>>>>")
            for x, on in ((138, "Off"), (198, "Yes"))
        ],
        "/Subtype/FreeText/Rect[72 640 300 674]/Contents(Moved to\rLeeds.)/DA(/F1 9 Tf)",
    ]
    assert " ".join(drawn_pages(lines, annotations=fields).split()) == (
        "Name: Ada Lund Contract: fixed term Smoker? ☐ yes ☑ no Reason Moved to Leeds."
    )


def test_lines_of_a_field_stay_lines() -> None:
    said = "What are the risks of the project, and what do you do about them?"
    lines = [written(72, 720, f"Part 4. {said}"), written(72, 700, said)]
    field = "/Subtype/Widget/FT/Tx/T(t)/F 4/Rect[72 620 400 690]/V(Fire: leave.\rIce: salt.)"
    assert drawn_pages(lines, annotations=[field]).endswith("\n\nFire: leave.\nIce: salt.")


def test_drawn_bullets_are_items() -> None:
    def dot(y: int) -> str:
        return f"80 {y} 3 3 re f"

    found = drawn_pdf(
        *[written(72, 700, "Check:"), dot(683), written(90, 680, "the drain")],
        *[dot(668), written(90, 665, "the filter.")],
    )
    assert found == "Check:\n\n• the drain\n• the filter."


def test_numbers_before_indented_lines_are_items() -> None:
    lines = [
        ("1", "Switch it off and pull out the plug,"),
        ("", "then wait."),
        ("2", "Open the lid."),
        ("3", "Clean it."),
    ]
    found = drawn_pdf(*placed(lines, count(700, -14), 18))
    assert found == (
        "1. Switch it off and pull out the plug, then wait.\n2. Open the lid.\n3. Clean it."
    )
    scores = [("12", "Ayr United"), ("13", "Bury Town"), ("14", "Clyde")]
    assert "." not in drawn_pdf(*placed(scores, count(700, -14), 23))
    dates = drawn_pdf(*[written(72, 700 - 14 * i, f"{i} May is free.") for i in (1, 2)])
    assert dates.split() == ["1", "May", "is", "free.", "2", "May", "is", "free."]


def test_items_of_a_pdf_keep_their_level() -> None:
    items = [
        (72, "\\225 racking ran out"),
        (100, "\\225 pallets are off site"),
        (72, "\\225 leases end"),
    ]
    found = drawn_pdf(*[written(x, 700 - 14 * i, text) for i, (x, text) in enumerate(items)])
    assert found == "• racking ran out\n  • pallets are off site\n• leases end"
    found = drawn_pdf(written(60, 700, "5.1 Care", 20), written(72, 676, "1. Clean it."))
    assert found == "# 5.1 Care\n\n1. Clean it."


def test_the_labels_of_bars_stay_with_the_figures_above_them() -> None:
    bars = [(100, 400, "620", "2023"), (200, 460, "745", "2024"), (300, 520, "880", "2025")]
    found = drawn_pdf(
        written(72, 700, "Pallets a day, and what is planned for the next years, were as follows:"),
        *[
            text
            for x, y, figure, label in bars
            for text in (written(x, y, figure), written(x - 3, 300, label))
        ],
    )
    assert found.split("\n\n")[1:] == ["620\n2023", "745\n2024", "880\n2025"]


def test_what_browsers_print_around_a_page_is_left_out() -> None:
    pages = [
        ["11/25/26, 2:01 PM The manual", text, f"https://example.org/manual.html {i}/2"]
        for i, text in enumerate(("Do not use high-pressure", "cleaners on the fins."), 1)
    ]
    found = extract("r.pdf", makers.pdf(pages))
    assert found.text == "Do not use high-pressure cleaners on the fins."


def test_a_table_that_goes_on_the_next_page_has_its_header_there() -> None:
    pages = [
        [["Item", "Price"], ["Bolts", "2.10"], ["Nuts", "1.90"]],
        [["Screws", "3.00"], ["Nails", "1.20"], ["Hooks", "0.40"]],
    ]
    rules = grid([70, 170, 270], [700, 680, 660, 640])
    drawn = ([rules, *placed(rows, count(686, -20))] for rows in pages)
    lines = drawn_pages(*drawn).split("\n")
    assert lines.count("| Item | Price |") == 2
    assert lines.index("| Screws | 3.00 |") == lines.index("| Nuts | 1.90 |") + 4


def test_a_single_row_on_the_next_page_is_a_row_only_below_its_table() -> None:
    above = [
        grid([70, 170, 270], [700, 680, 660]),
        *placed([["Item", "Price"], ["Bolts", "2.10"]], [686, 666]),
    ]
    below = [grid([70, 170, 270], [700, 680]), *placed([["Nuts", "1.90"]], [686])]
    assert "| Item | Price |\n| --- | --- |\n| Nuts | 1.90 |" in drawn_pages(above, below)
    assert "|" not in drawn_pages(below)


def test_tables_one_below_the_other_stay_apart() -> None:
    text = drawn_pdf(
        grid([70, 170, 270], [700, 680, 660]),
        *placed([["Rating", "Meaning"], ["3", "urgent"]], [686, 666]),
        grid([70, 140, 270], [650, 630, 610]),
        *placed([["Roof", "1"], ["Floor", "3"]], [636, 616]),
    )
    assert "| 3 | urgent |\n\n| Roof | 1 |\n| --- | --- |" in text


def test_a_note_of_a_word_document_stands_below_its_mark() -> None:
    mark = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    body = makers.paragraph("Pay goes on.", mark) + makers.paragraph("Trains are paid.")
    notes = "".join(
        f'<w:footnote w:id="{number}">{makers.paragraph(text)}</w:footnote>'
        for number, text in ((2, "Not in the first month."), (3, "Nothing refers to it."))
    )
    related = makers.relation(1, "footnotes", "footnotes.xml")
    data = makers.docx_xml(
        body, related, footnotes=f"<w:footnotes {makers.W}>{notes}</w:footnotes>"
    )
    assert extract("a.docx", data).text == (
        "Pay goes on.¹\n\n¹ Not in the first month.\n\nTrains are paid.\n\nNothing refers to it."
    )


def test_paragraphs_of_cells_between_tabs_are_rows() -> None:
    made = python_docx.Document()
    rows = ["Room\tSeats\tA day", "Loft\t\t20\t£70", "Hall\t90\t£200"]
    items = ["1.\tThe chair opens the meeting.", "2.\tThe minutes are read."]
    for text in ["Book early.", *rows, "Call us.", "Monday\tclosed", "Friday\t10 to 4", *items]:
        made.add_paragraph(text)
    assert read_word(made).text == (
        "Book early.\n\n| Room | Seats | A day |\n| --- | --- | --- |\n| Loft | 20 | £70 |\n| Hall | 90 | £200 |\n\n"
        "Call us.\n\n|  |  |\n| --- | --- |\n| Monday | closed |\n| Friday | 10 to 4 |\n\n"
        + "\n\n".join(items)
    )


def test_signs_equations_and_choices_of_a_word_document_are_text() -> None:
    def sign(code: str, font: str = "Symbol") -> str:
        return f'<w:r><w:sym w:font="{font}" w:char="{code}"/></w:r>'

    def maths(name: str, text: str) -> str:
        return f"<m:{name}><m:r><m:t>{text}</m:t></m:r></m:{name}>"

    space = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    fraction = f"<m:f>{maths('num', 'd+3')}{maths('den', '30')}</m:f>"
    power = f"<m:sSup>{maths('e', 'r')}{maths('sup', '2')}</m:sSup>"
    choices = '<w:listEntry w:val="permanent"/><w:listEntry w:val="fixed"/>'
    body = [
        makers.paragraph(
            "Take 5 ", sign("F06D") + sign("F0B3") + sign("FFFF") + sign("F0FE", "Wingdings")
        ),
        makers.paragraph("Pay ", f"<m:oMath {space}>{fraction}{power}</m:oMath>"),
        makers.paragraph(
            "Term: ", f'<w:r><w:ddList><w:result w:val="1"/>{choices}</w:ddList></w:r>'
        ),
    ]
    found = extract("a.docx", makers.docx_xml("".join(body))).text
    assert found == "Take 5 μ≥☑\n\nPay (d+3)/30r²\n\nTerm: fixed"


def test_headers_and_footers_of_a_word_document_are_read_once() -> None:
    made = python_docx.Document()
    made.add_paragraph("Bring your passport.")
    section = made.sections[0]
    section.header.paragraphs[0].text = "Brook Solicitors, Tel. 01234 567890"
    section.first_page_header.paragraphs[0].text = "Not shown."
    section.different_first_page_header_footer = False
    section.footer.paragraphs[0].text = "Page 1 of 3"
    made.add_section().footer.paragraphs[0].text = "Draft, in force from 1 May"
    assert read_word(made).text.split("\n") == [
        *["Bring your passport.", "", "|  |", "| --- |"],
        *["| Brook Solicitors, Tel. 01234 567890 |", "| Draft, in force from 1 May |"],
    ]


def test_a_paragraph_goes_on_if_its_end_is_deleted() -> None:
    ended = "<w:pPr><w:rPr><w:del/></w:rPr></w:pPr>"
    body = f"<w:p>{ended}<w:r><w:t>The tenant must not </w:t></w:r></w:p>{makers.paragraph('keep bees.')}"
    assert extract("a.docx", makers.docx_xml(body)).text == "The tenant must not keep bees."


def test_merged_cells_of_a_word_table() -> None:
    cells = ["Day", "Hall", "Pool", "Mon", "9-12", "8-20", "", "14-18", ""]
    lines = word_table(3, cells, (1, 0, 2, 0), (2, 1, 2, 2))
    assert lines[2:] == ["| Mon | 9-12 | 8-20 |", "| Mon | 14-18 |  |"]


def test_the_title_of_a_table_is_no_header() -> None:
    head = "<tr><th>Age<th>Fee<th>Term"
    summer = f"<table><tr><th colspan=3>Summer{head}<tr><td>7<td>£4<td>£9"
    assert html(summer) == "Summer\n\n| Age | Fee | Term |\n| --- | --- | --- |\n| 7 | £4 | £9 |"
    rows = html(f"{summer}<tr><th colspan=3>Winter<tr><td>7<td>£5<td>£8").split("\n")
    assert rows[:1] + rows[2:3] + rows[4:5] == ["| Age | Fee | Term |", "| Summer |", "| Winter |"]
    infobox = "<table><tr><th colspan=2>Aster<tr><th>Built<td>1890<tr><th>Lost<td>1921</table>"
    assert html(infobox).startswith("Aster\n\n|  |  |\n| --- | --- |\n| Built | 1890 |")


def test_notices_and_links_around_a_page_are_left_out() -> None:
    page = (
        "<a class=skip href='#main'>Skip to content</a>"
        "<div id=cookie-banner><p>We use cookies.</p><button>Accept</button></div>"
        "<div class='main menu'><a href=/>Home</a> <a href=/tv>TV</a></div>"
        "<div class=breadcrumbs><a href=/>Home</a> › Fees</div>"
        "<div class='page has-cookie-notice'><h1>Fees</h1><p>A card costs £12.<sup>"
        "<a href='#n1'>[1]</a></sup> Rooms have 20 m<sup>2</sup>.</p><ul><li><a href=/a>Form A</a>"
        "<li><a href=/b>Form B</a></ul>" + "<p>Long text.</p>" * 300 + "</div>"
        "<footer><ul><li><a href=/jobs>Jobs</a><li><a href=/law>Law</a></ul><p>2 Mill Lane</p></footer>"
    )
    text = html(page).replace("\n\nLong text.", "")
    assert text == ("A card costs £12. Rooms have 20 m².\n\n- Form A\n- Form B\n\n2 Mill Lane")


@pytest.mark.parametrize(
    ("page", "kept"),
    [
        (
            "<p>See <span><a href=/x>the rules</a></span> first.</p><h1>News</h1>",
            "See the rules first.",
        ),
        ("<a href='#top'><h2>Fees</h2></a><p>A card costs £12.</p>", "Fees"),
        ("<p><a href='#5'>Article 5</a> applies to all.</p>", "Article 5 applies to all."),
        ("<div><a href='tel:0309'>030 99</a></div><h1>Shop</h1><p>Open daily.</p>", "030 99"),
        ("<p><a href=/r.pdf>Rules</a></p><p>We meet weekly.</p><h2>Dates</h2><p>May.</p>", "Rules"),
        ("<div><p>We sell cookies and bread.</p><button>OK</button></div>", "cookies and bread"),
        (
            "<div><h1>Cookies</h1><p>We use cookies for the site.</p><a>OK</a></div>",
            "We use cookies",
        ),
        ("<div><h1>Baking</h1><p>A cookie needs 9 minutes.</p><a href='?'>OK</a></div>", "9 min"),
        (f"<p><a href='#t'>{'Open daily. ' * 9}<h2>Fees</h2><p>A card costs £12.", "A card costs"),
    ],
)
def test_no_text_of_the_page_itself_is_left_out(page: str, kept: str) -> None:
    assert kept in html(page)


def test_an_email_is_read_as_shown() -> None:
    data = (
        b"From: Ann <ann@b.org>\nTo: bob@b.org\nSubject: =?utf-8?q?Gr=C3=BCn?=\nX-Spam: no\n"
        b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n"
        b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n"
        b"The grant is 12 percent inste=\nad of 15, for Gr=C3=BCnwinkel.\n--b\n"
        b"Content-Type: application/pdf\nContent-Disposition: attachment; filename=offer.pdf\n\nx\n"
        b"--b--\n"
    )
    found = extract("a.eml", data)
    assert (found.title, found.text.strip()) == (
        "Grün",
        "From: Ann <ann@b.org>\nTo: bob@b.org\nSubject: Grün\nAttachments: offer.pdf\n\n"
        "The grant is 12 percent instead of 15, for Grünwinkel.",
    )


def test_no_text_of_an_email_is_lost() -> None:
    head = b"Subject: Hi\nContent-Type: multipart/%s; boundary=b\n\n"
    picture = b"--b\nContent-Type: image/png\nContent-Disposition: inline; filename*=utf-8''a%0Ab.png\n\nx\n"
    plain = b"--b\nContent-Type: text/plain\n\n%s\n"
    above = head % b"mixed" + plain % b"above" + picture + plain % b"below" + b"--b--\n"
    assert extract("a.eml", above).text == "Subject: Hi\nAttachments: a b.png\n\nabove\n\nbelow"
    html = b"--b\nContent-Type: text/html\n\n<p>only here\n"
    empty = head % b"alternative" + plain % b"" + html + b"--b--\n"
    assert extract("a.eml", empty).text == "Subject: Hi\n\nonly here"


def test_emails_in_html_and_other_encodings() -> None:
    data = b"Subject: Hi\nContent-Type: text/html; charset=latin-1\n\n<p>Caf\xe9 <b>open</b></p>"
    assert extract("a.eml", data).text == "Subject: Hi\n\nCafé open"
    text = "会議は金曜日の十時です。"
    head = b"Subject: x\nContent-Type: text/plain; charset=ISO-2022-JP\n\n"
    assert extract("a.eml", head + text.encode("iso-2022-jp")).text == f"Subject: x\n\n{text}"


def test_a_table_of_a_pdf_needs_no_upright_rules() -> None:
    found = drawn_pdf(
        written(72, 720, "The doses are:"),
        *[
            f"{left} {y} {right - left} 0.7 re f"
            for y in (680, 660, 640)
            for left, right in ((70, 170), (170, 270))
        ],
        *placed([("Age", "Dose"), ("Children", "0.5 g"), ("Adults", "1.0 g")], (684, 664, 644)),
    )
    assert found.split("\n")[2:] == [
        "| Age | Dose |",
        "| --- | --- |",
        "| Children | 0.5 g |",
        "| Adults | 1.0 g |",
    ]


def test_a_heading_above_a_table_with_rules_between_rows_is_none_of_its_cells() -> None:
    rows = [("Drug", "How much", "When"), ("Iron", r"5 \(two", "with a")]
    rows += [("", r"tablets\)", "meal"), ("Zinc", "8", "at night")]
    rules = (f"{left} {y} 100 0.7 re f" for y in (700, 684, 656, 640) for left in (70, 170, 270))
    found = drawn_pdf(
        *[*rules, written(72, 704, "After your knee replacement")],
        *placed(rows, (688, 674, 660, 644)),
    )
    assert found.split("\n") == [
        "After your knee replacement",
        "",
        "| Drug | How much | When |",
        "| --- | --- | --- |",
        "| Iron | 5 (two tablets) | with a meal |",
        "| Zinc | 8 | at night |",
    ]


def test_a_row_of_several_lines_is_one_where_other_rows_are_ruled() -> None:
    rows = [("Waste", "Where", "Collected"), ("Glass", "Bin", "Friday"), ("Paper", "Bin", "Monday")]
    last = [("Chairs and", "Book with", "Costs up"), ("tables", "the town", "to 38")]
    found = drawn_pdf(
        grid([70, 170, 270, 370], [700, 680, 660, 640, 608]),
        *placed([*rows, *last], (686, 666, 646, 628, 614)),
    )
    assert found.split("\n")[-1] == "| Chairs and tables | Book with the town | Costs up to 38 |"


def test_rows_are_one_where_most_have_several_lines() -> None:
    lines = [
        ("Vicar", "Years", "Known for"),
        *[("Ann", "1538-", "Changed her faith"), ("Thorne", "1561", "four times")],
        ("Jo Kettle", "1644", "Whitewash"),
        *[("Gus", "1803-", "Kept bees"), ("Loveday", "1849", "in the vestry")],
        ("Edith Marlow", "1996", "The roof"),
    ]
    found = drawn_pdf(
        grid([70, 170, 270, 370], [700, 680, 648, 628, 596, 576]),
        *placed(lines, (686, 668, 654, 634, 616, 602, 582)),
    )
    assert found.split("\n")[2:] == [
        "| Ann Thorne | 1538-1561 | Changed her faith four times |",
        "| Jo Kettle | 1644 | Whitewash |",
        "| Gus Loveday | 1803-1849 | Kept bees in the vestry |",
        "| Edith Marlow | 1996 | The roof |",
    ]


def test_a_note_mark_is_no_text_and_does_not_end_its_line() -> None:
    line = "BT /F1 12 Tf 72 700 Td (no more than 120 litres) Tj 4 Ts /F1 7 Tf (1) Tj 0 Ts /F1 12 Tf"
    assert drawn_pdf(f"{line} (. Ask first.) Tj ET") == "no more than 120 litres. Ask first."
    price = "BT /F1 12 Tf 72 700 Td (It costs 3.) Tj 4 Ts /F1 7 Tf (99) Tj 0 Ts /F1 12 Tf"
    assert drawn_pdf(f"{price} ( a day.) Tj ET") == "It costs 3.99 a day."
    area = "BT /F1 12 Tf 72 700 Td (rooms of 45 m) Tj 4 Ts /F1 7 Tf (2) Tj 0 Ts /F1 12 Tf"
    assert drawn_pdf(f"{area} (. Ask first.) Tj ET") == "rooms of 45 m². Ask first."


def test_a_power_that_a_browser_printed_stays_in_its_line() -> None:
    power = written(118, 704, "-6", 10), written(127, 700, " grams of chlorine.")
    found = drawn_pdf(written(72, 700, "It has 10"), *power)
    assert found == "It has 10⁻⁶ grams of chlorine."
    note = written(72, 640, "1", 10), written(80, 636, "Over 18 on the day.")
    found = drawn_pdf(written(72, 700, "Adults pay more."), *note)
    assert found == "Adults pay more.\n\n¹ Over 18 on the day."


def test_what_a_rule_strikes_through_is_no_text_of_a_pdf() -> None:
    text = written(72, 700, "The fee is 30 25.")
    assert drawn_pdf(text, "129 703.5 13 1 re f") == "The fee is 25."
    for rule in ("129 698 13 1 re f", "72 703.5 300 1 re f", "60 712 90 1 re f"):
        assert drawn_pdf(text, rule) == "The fee is 30 25."


def test_the_marks_of_notes_are_raised_if_their_notes_are_on_the_page() -> None:
    text = [written(72, 700, "You can have gas and air instead"), written(247, 706, "1", 7)]
    text.append(written(251, 700, ", after which you may drive home."))
    note = [written(72, 640, "1", 7), written(78, 636, "Gas is not suitable for everybody.", 9)]
    assert drawn_pdf(*text, *note) == (
        "You can have gas and air instead¹, after which you may drive home.\n\n"
        "¹ Gas is not suitable for everybody."
    )
    assert drawn_pdf(*text) == "You can have gas and air instead, after which you may drive home."


def test_notes_and_footers_that_are_drawn_first_do_not_interrupt_the_text() -> None:
    def page(number: int, *drawn: str) -> list[str]:
        edges = [written(300, 30, str(number)), *[written(72, 760, "The park")] * (number > 1)]
        return [*edges, *drawn]

    pages = [
        page(
            1,
            *[written(72, 64, "1", 7), written(78, 60, "Not on Sundays.", 9)],
            *[written(72, 700, "Dogs may come into the park"), written(222, 706, "1", 7)],
            *[written(226, 700, "."), written(72, 654, "Please:")],
            written(72, 640, "1. Keep them on a lead."),
        ),
        page(2, written(72, 700, "2. Clean up.")),
        page(3, written(72, 700, "3. Go home.")),
    ]
    assert drawn_pages(*pages) == (
        "Dogs may come into the park¹.\n\n¹ Not on Sundays.\n\nPlease:\n"
        "1. Keep them on a lead.\n2. Clean up.\n3. Go home."
    )


def test_a_sentence_goes_on_before_a_number_on_the_next_page() -> None:
    page = "It was agreed last year that after a third warning we may serve notice under section"
    found = extract("r.pdf", makers.pdf([[page], ["8 of the Act of 1988."]]))
    assert found.text == f"{page} 8 of the Act of 1988."


def aligned(*rows: Sequence[str], top: int = 700) -> list[str]:
    return placed(rows, count(top, -15), 110)


def test_aligned_lines_of_a_pdf_are_a_table() -> None:
    rows = [("Station", "Nitrate (mg/l)", "Status"), ("Old Wharf", "25.7", "Fair")]
    rows += [("Sedgeley", "24.5", "Good"), ("Cold Harbour", "18.2", "Good")]
    found = drawn_pdf(written(72, 740, "Annual means:"), *aligned(*rows))
    assert found.split("\n")[2:] == [
        "| Station | Nitrate (mg/l) | Status |",
        "| --- | --- | --- |",
        *[f"| {' | '.join(row)} |" for row in rows[1:]],
    ]


def test_names_beside_values_of_a_pdf_are_rows_without_a_header() -> None:
    rows = [("Account", "7741 2093"), ("Tariff", "Saver 18M"), ("Exit fee", "75 pounds")]
    lines = ["| | |", "| --- | --- |", *[f"| {' | '.join(row)} |" for row in rows]]
    assert drawn_pdf(*aligned(*rows)).split("\n") == lines
    two = drawn_pdf(*aligned(*rows), *aligned(*rows, top=600)).split("\n")
    assert two == [*lines, "", *lines]


def test_amounts_in_a_pdf_may_be_aligned_on_the_right() -> None:
    rows = [("Envelope", "25"), ("Box, small", "1060"), ("Box, large", "140")]
    cells = [((72, name), (400 - 6.67 * len(amount), amount)) for name, amount in rows]
    found = drawn_pdf(
        *[written(x, 700 - 15 * i, text) for i, row in enumerate(cells) for x, text in row]
    )
    assert found.split("\n")[2:] == [f"| {' | '.join(row)} |" for row in rows]


def test_numbered_paragraphs_of_a_pdf_are_no_table() -> None:
    said = [("Police", "Two vans were broken into in Mill Lane."), ("Finance", "We have enough.")]
    rows = [("27/31", "The minutes of the last meeting were signed.")]
    rows += [(f"27/{i}", f"{name}. {text}") for i, (name, text) in enumerate(said, 32)]
    found = drawn_pdf(*[line for i, r in enumerate(rows) for line in aligned(r, top=700 - 30 * i)])
    assert "|" not in found


def test_a_cell_with_a_mark_may_stand_lower_than_its_row() -> None:
    rows = [("Service", "Basic", "Plus"), ("Monthly", "3.00", "9.50"), ("Copy", "2.00", "1.00")]
    found = drawn_pdf(
        *aligned(rows[0]),
        *[written(72, 682, "Monthly"), written(114, 686, "1", 10)],
        *[text for x, t in ((182, "3.00"), (292, "9.50")) for text in [written(x, 684.4, t)]],
        *aligned(rows[2], top=668),
        *[written(72, 620, "1", 7), written(78, 616, "Not in May.")],
    )
    assert found.split("\n") == [
        "| Service | Basic | Plus |",
        "| --- | --- | --- |",
        "| Monthly¹ | 3.00 | 9.50 |",
        "| Copy | 2.00 | 1.00 |",
        "",
        "¹ Not in May.",
    ]


def test_names_beside_values_end_before_a_line_that_goes_on_below_its_name() -> None:
    rows: list[Sequence[str]] = [
        ("Organiser", "Ada Lund"),
        ("Place", "Long Meadow, 3 Hill Road"),
        ("Day", "14 June"),
    ]
    rows += [("Music", "yes, until"), ("seven in the evening",)]
    assert drawn_pdf(*aligned(*rows)).split("\n") == [
        "| | |",
        "| --- | --- |",
        *[f"| {' | '.join(row)} |" for row in rows[:3]],
        "",
        "Music yes, until seven in the evening",
    ]


def test_columns_of_a_pdf_may_be_near_and_begin_below_the_first_row() -> None:
    found = drawn_pdf(
        *[written(126, 700, "Basic"), written(200, 700, "Flex"), written(72, 685, "Deposit")],
        *[written(126, 685, "60 per"), written(126, 672, "person"), written(200, 685, "Less 90")],
        written(244, 690, "1", 7),
        *[written(72, 655, "Lounge"), written(126, 655, "32"), written(200, 655, "40")],
        *[written(72, 640, "Meal"), written(126, 640, "9"), written(200, 640, "12")],
    )
    assert found.split("\n") == [
        "| | Basic | Flex |",
        "| --- | --- | --- |",
        "| Deposit | 60 per person | Less 90¹ |",
        "| Lounge | 32 | 40 |",
        "| Meal | 9 | 12 |",
    ]


def test_a_header_without_rules_belongs_to_the_table_below_it() -> None:
    rows = [("", "Basic", "Flex"), ("Bag", "35", "0"), ("Change", "60", "0")]
    found = drawn_pdf(grid([70, 170, 270, 370], [680, 660, 640]), *placed(rows, (685, 664, 644)))
    assert found.split("\n")[0] == "| | Basic | Flex |"


def test_a_wrapped_cell_does_not_end_a_table_of_aligned_lines() -> None:
    rows = [("Button", "Press once", "Hold"), ("Fan", "High or", "Turns off")]
    found = drawn_pdf(
        *aligned(*rows),
        *[written(182, 675, "low"), written(292, 675, "the lamp")],
        *[written(72, 660, "Lock or"), written(72, 650, "timer"), written(182, 660, "On")],
        *[written(292, 660, "Clears"), *aligned(("Power", "Off", "-"), top=635)],
        "72 695 300 0.7 re f",  # below the header
    )
    assert found.split("\n") == [
        "| Button | Press once | Hold |",
        "| --- | --- | --- |",
        "| Fan | High or low | Turns off the lamp |",
        "| Lock or timer | On | Clears |",
        "| Power | Off | - |",
    ]


def test_rows_below_another_label_have_the_header_of_the_table_above() -> None:
    rows = [("Date", "Minutes", "Pounds"), ("12 Jan", "11", "2.64"), ("19 Jan", "7", "5.25")]
    more = ("15 Jan", "20", "3.48")
    found = drawn_pdf(*aligned(*rows), written(72, 640, "Second line"), *aligned(more, top=625))
    assert found.split("\n")[-5:] == [
        "Second line",
        "",
        "| Date | Minutes | Pounds |",
        "| --- | --- | --- |",
        "| 15 Jan | 20 | 3.48 |",
    ]


@given(st.lists(st.lists(st.text("ab 1.|", max_size=8), min_size=1, max_size=4), max_size=8))
@settings(max_examples=30, deadline=None)
def test_aligned_lines_lose_no_text(rows: list[list[str]]) -> None:
    found = drawn_pdf(written(72, 740, "Rows:"), *aligned(*rows))
    for text in {text for row in rows for text in row}:
        assert re.sub(r"[^ab1.]", "", text) in re.sub(r"[^ab1.]", "", found)


def test_a_header_of_two_rows_of_a_word_table_is_one() -> None:
    cells = ["Space", "Price", "", "", "Peak", "Night", "Hall", "54", "39"]
    assert word_table(3, cells, (0, 0, 1, 0), (0, 1, 0, 2)) == [
        "| Space | Price Peak | Price Night |",
        "| --- | --- | --- |",
        "| Hall | 54 | 39 |",
    ]


def test_wrapped_lines_of_a_quoted_message_are_joined() -> None:
    first = "> They cannot do it any earlier than in the middle of June, as"
    message = f"{first}\n> their new house is not ready yet.\n> Jo\n> 12 High Street"
    found = extract("a.eml", f"Subject: Hi\n\nSee below.\n{message}\n".encode()).text
    lines = [f"{first} their new house is not ready yet.", "> Jo", "> 12 High Street"]
    assert found.split("\n")[-3:] == lines


def test_what_tabs_and_buttons_unfold_is_read_below_their_titles() -> None:
    answer = "It costs £72 a year for a small car and £118 for others."
    tabs = (
        f"<ul role=tablist><li role=tab>Overview</li><li role=tab>Cost</li></ul>"
        f"<section role=tabpanel><h2>Overview</h2>Hello.</section>"
        f"<section role=tabpanel hidden><h2>Cost</h2>{answer}</section>"
    )
    assert html(tabs) == f"## Overview\n\nHello.\n\n## Cost\n\n{answer}"
    untitled = tabs.replace("<h2>Cost</h2>", "")
    assert html(untitled) == f"## Overview\n\nHello.\n\n###### Cost\n\n{answer}"
    button = f"<button aria-expanded=false>What is the price?</button><div>{answer}</div>"
    assert html(button) == f"###### What is the price?\n\n{answer}"
    folded = button.replace("<div>", "<div hidden>")
    assert html(folded) == html(button)
    named = "<button aria-expanded=false aria-controls=a>Cost<i>+</i></button>"
    panel = f"<p id=a hidden>{answer}</p><p id=b hidden>Spam!</p>"
    assert html(f"<h3>{named}</h3><hr>{panel}") == f"### Cost\n\n{answer}"
    assert html("<button>Send</button><div>Short.</div>") == "Short."
    details = f"<details><summary>If you move</summary><p>{answer}</p></details>"
    assert html(details) == f"###### If you move\n\n{answer}"
    assert html(f"<button aria-expanded=false>Menu</button><nav>{answer}</nav>Hello.") == "Hello."


def test_elements_that_look_like_a_table_or_list_are_one() -> None:
    def rows(*rows: tuple[str, ...]) -> str:
        cells = ("".join(f"<div>{cell}</div>" for cell in row) for row in rows)
        return f"<div>{''.join(f'<div>{row}</div>' for row in cells)}</div>"

    prices = rows(("Post", "£3", "2 days"), ("Van", "£9", "1 day"), ("Ship", "£1", "6 weeks"))
    assert "| Van | £9 | 1 day |" in html(prices)
    with_head = prices.replace("<div><div>Post", "<div class=th><div>Post")
    assert html(with_head).startswith("| Post | £3 | 2 days |\n| --- |")
    assert "| Serves | 10 |" in html(rows(("Serves", "10"), ("Prep", "5 min"), ("Bake", "1 h")))
    steps = rows(("1", "Print the label."), ("2", "Pack it."), ("3", "Post it."))
    assert html(steps) == "1. Print the label.\n2. Pack it.\n3. Post it."
    striped = "".join(f"<div class={n % 2}>{'<b>x</b>' * 3}</div>" for n in range(4))
    assert html(f"<div>{striped}</div>").startswith("|  |  |  |\n| --- |")
    hidden = prices.replace("<div><div>Ship", "<div hidden><div>Ship")
    assert "Ship" not in html(hidden)
    between = prices.replace("</div></div><div><div>Van", "</div></div>Or:<div><div>Van")
    assert "Or:" in html(between)
    cards = rows(*(("Ann", f"Ann has worked for us for {n} years. " * 3) for n in range(3, 6)))
    assert "|" not in html(cards)


@pytest.mark.parametrize("prices", [["4.50", "11.00", "6", "2", "3", "5"], range(3, 9)])
def test_prices_after_dot_leaders_are_no_contents(prices: Iterable[object]) -> None:
    lines = [f"{name} ............ {price}" for name, price in zip("ABCDEF", prices, strict=True)]
    found = extract("m.pdf", makers.pdf([["Our menu today:", *lines]])).text
    assert all(line in found for line in lines)


def test_contents_of_a_word_document_are_left_out() -> None:
    kind = '<w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj>'
    line = makers.paragraph("1 Water", "<w:r><w:tab/><w:t>2</w:t></w:r>")
    box = "<w:sdt><w:sdtPr>{}</w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>"
    body = box.format(kind, line) + box.format("", makers.paragraph("It rained."))
    assert extract("a.docx", makers.docx_xml(body)).text == "It rained."


def test_contents_with_dot_leaders_are_left_out() -> None:
    contents = ["Summary ............ 1", "Results ............ 2", "Advice ............ 2"]
    prose = ["It met the standard.", "That was rare.", "It may not last."]
    pages = [["The state of the river", *contents, *prose], ["It is clean."]]
    found = extract("r.pdf", makers.pdf(pages)).text
    assert all(line in found for line in prose)
    assert not any(line in found for line in contents)


def test_a_label_of_several_rows_of_a_word_table_keeps_them() -> None:
    cells = ["Landlord", "Details", "", "", "Name", "Ann", "", "Town", "Ryde", "", "Phone", "0123"]
    found = "\n".join(word_table(3, cells, (0, 0, 3, 0), (0, 1, 0, 2)))
    assert all(text in found for text in ("Ann", "Ryde", "0123"))
