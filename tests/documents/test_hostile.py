"""Files that mean harm, or are merely odd: each is read soon and right, or refused in a sentence."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import pypdf
import pytest

from semqa.documents import Limits, extract, split
from semqa.documents.extract import Readers
from semqa.errors import InputError
from tests.documents import makers

LIMITS = Limits(seconds=20, unpacked=40 * 2**20)


ENTITIES = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
LAUGHS = f'<!DOCTYPE x [<!ENTITY a0 "ha">{ENTITIES}]>'


def with_type(doctype: str, entity: str) -> bytes:
    """A Word document with a document type and an entity."""
    body = makers.paragraph(f"&{entity};")
    return makers.docx_parts(
        f"{doctype}<w:document {makers.W}><w:body>{body}</w:body></w:document>"
    )


def laughs() -> bytes:
    return with_type(LAUGHS, "a11")


def outside_entity() -> bytes:
    return with_type('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>', "a")


def laughing_notes() -> bytes:
    notes = f"{LAUGHS}<w:footnotes {makers.W}>{makers.paragraph('&a11;')}</w:footnotes>"
    related = makers.relation(1, "footnotes", "footnotes.xml")
    return makers.docx_xml(makers.paragraph("Hello."), related, footnotes=notes)


def outside_notes() -> bytes:
    related = makers.relation(1, "footnotes", "../../../../etc/passwd")
    return makers.docx_xml(makers.paragraph("Hello."), related)


def many_entries() -> bytes:
    entry = b"PK\x01\x02" + b"\x14\0" * 2 + b"\0" * 20 + b"\x01\0" + b"\0" * 16 + b"a"
    size = 60_000
    end = b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 1, 1, size * len(entry), 0, 0)
    return b"PK\x03\x04" + entry * size + end


def many_segments() -> bytes:
    drawn = b"10 10 m " + b"20 20 l " * 2000 + b"S "
    shown = b"BT /F1 12 Tf (A map.) Tj ET " + drawn * 500
    return makers.pdf_contents(
        [makers.stream(zlib.compress(shown), filters=b"/Filter/FlateDecode")]
    )


def deep_word() -> bytes:
    return makers.docx_xml("<w:p><w:r>" * 50_000 + "<w:t>deep</w:t>" + "</w:r></w:p>" * 50_000)


def cyclic_pages() -> bytes:
    return makers.pdf_objects(
        {
            1: b"<</Type/Catalog/Pages 2 0 R>>",
            2: b"<</Type/Pages/Count 2/Kids[3 0 R 2 0 R]>>",
            3: b"<</Type/Pages/Parent 2 0 R/Count 1/Kids[2 0 R]>>",
        }
    )


def form_that_draws_itself() -> bytes:
    return makers.pdf_objects(
        {
            1: b"<</Type/Catalog/Pages 2 0 R>>",
            2: b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
            3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Resources<</XObject<</X 4 0 R>>>>/Contents 5 0 R>>",
            4: makers.stream(
                b"/X Do /X Do",
                filters=b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 4 0 R>>>>",
            ),
            5: makers.stream(b"/X Do"),
        }
    )


def locked_pdf() -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(makers.pdf([["Secret."]])))
    writer.encrypt("open sesame", algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def pdf_with_a_script() -> bytes:
    return makers.pdf([["Hello."]]).replace(
        b"<</Type/Catalog", b"<</Type/Catalog/OpenAction<</S/JavaScript/JS(app.alert\\(1\\))>>"
    )


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("a.pdf", makers.flate_bomb, "no text"),
        ("a.docx", lambda: makers.docx_parts(b"<x>" + b" " * (50 * 2**20)), "too large"),
        ("a.docx", laughs, "cannot be read"),
        ("a.docx", laughing_notes, "cannot be read"),
        ("a.docx", outside_entity, "no text"),
        ("a.docx", outside_notes, "cannot be read"),
        ("a.docx", deep_word, ""),
        ("a.zip", many_entries, ""),
        ("a.zip", lambda: makers.archive({"a.txt": b"hello"}), "an archive"),
        ("a.xlsx", lambda: makers.archive({"[Content_Types].xml": b"", "xl/a": b""}), "an Excel wor"),
        ("a.xlsx", lambda: b"PK\x03\x04 is no archive", "Not a valid Word document"),
        ("a.zip", lambda: makers.docx_parts("")[:-30], "valid Word document"),
        ("a.docx", lambda: b"hello", "although its name says so"),
        ("a.doc", lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Save it as docx"),
        ("a.pdf", lambda: makers.pdf([["x"]])[:200], "cannot be read"),
        ("a.pdf", lambda: makers.pdf([[]]), "OCR"),
        ("a.pdf", cyclic_pages, ""),
        ("a.pdf", locked_pdf, "password"),
        ("a.pdf", many_segments, ""),
        ("a.pdf", lambda: b"%PDF-1.7\n1 0 obj\n" + b"[" * 200_000, "cannot be read"),
        ("a.pdf", lambda: makers.pdf([["x" * 20_000, "y-" * 10_000, "end"]]), ""),
        ("a.html", lambda: b"<div>" * 60_000 + b"x" + b"</div>" * 60_000, "nested"),
        ("a.html", lambda: b" " * 1_000_000 + b"x", ""),
        ("a.html", lambda: b"<meta " * 100_000 + b"<p>x", ""),
        ("a.html", lambda: b"<div class=menu>" * 40 + b"<br>" * 20_000 + b"x", ""),
        ("a.md", lambda: b"> " * 5_000 + b"x", ""),
        ("a.md", lambda: b"[" * 4_000, ""),
        ("a.md", lambda: b"*a " * 30_000, ""),
        ("a.md", lambda: b"- " * 10_000 + b"x", ""),
        ("a.csv", lambda: ",".join(map(str, range(30_000))).encode() + b"\n" + b"x," * 30_000, ""),
        ("a.csv", lambda: b'"' + b"x" * 1_000_000, ""),
        ("a.csv", lambda: b",;" * 100_000, ""),
        ("a.jsonl", lambda: b"[1]", "JSON object"),
        ("a.jsonl", lambda: b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "too deep a value"),
        ("a.jsonl", lambda: b'{"n": ' + b"9" * 100_000 + b"}", ""),
        ("a.eml", lambda: b"Subject: x\nTo: " + b",".join([b"a@b.org"] * 50_000) + b"\n\nhello", ""),
        ("a.eml", lambda: b"Dear all,\n\nthe harbour is open.", "not an e-mail"),
        ("a.txt", lambda: b"\n " * 300_000 + b"x", ""),
        ("a.txt", lambda: b"a\0b", "binary"),
        ("a.txt", lambda: b"", "no text"),
        ("a.png", lambda: b"\x89PNG\r\n", "an image"),
        ("a.txt", lambda: "naïve text without a mark".encode("utf-16-le") * 20, "binary"),
        ("a.txt", lambda: b"a" * 70_000 + b"\0" * 70_000, ""),
        ("a.txt", lambda: bytes(range(1, 256)) * 100, ""),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value)[:20],
)  # fmt: skip
def test_files_are_refused_or_read_quickly(name: str, make: Callable[[], bytes], said: str) -> None:
    data = make()
    started = time.monotonic()
    try:
        found = extract(name, data, LIMITS)
    except InputError as error:
        assert str(error).startswith(name)  # noqa: PT017
        assert said in str(error)  # noqa: PT017
        assert "\n" not in str(error)  # noqa: PT017
        assert len(str(error)) < 500  # noqa: PT017
    else:
        assert not said
        found.text.encode("utf-8")
        assert "\0" not in found.text
        split(found)
    assert time.monotonic() - started < LIMITS.seconds + 10
    assert extract("next.txt", b"The next one is read.").text == "The next one is read."


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("a.pdf", pdf_with_a_script(), "Hello."),
        ("a.pdf", b"\n" * 900 + makers.pdf([["Hello."]]), "Hello."),
        (
            "a.docx",
            makers.docx_xml(
                makers.paragraph("Hello."),
                makers.relation(1, "attachedTemplate", "http://127.0.0.1:9/x.dotm", ' TargetMode="External"'),
                makers.relation(2, "footnotes", "file:///etc/passwd", ' TargetMode="External"'),
                makers.relation(3, "image", "\\\\host\\share\\x.png", ' TargetMode="External"'),
            ),
            "Hello.",
        ),
        ("a.txt", b"one\rtwo\r\nthree\n\rfour\x0bfive\x0csix", "one\ntwo\nthree\n\nfour five\nsix"),
        ("a.txt", "one\u0085two\u2028three\u2029four\ufeff".encode(), "one\ntwo\nthree\nfour\ufeff"),
        ("a.jsonl", b'{"text": "a \\ud800 lone one \\udc00 and \\ud83d\\udc4d"}', "a   lone one   and 👍"),
        ("a.jsonl", b'{"text": "a \\u0000 b"}', "a   b"),
        ("a.jsonl", b'\xef\xbb\xbf{"text": "marked"}\r\n{"text": "more"}\r', "marked\n\nmore"),
        ("a.csv", b"\xef\xbb\xbfname,age\r\nBo,3\r\n", "| name | age |\n| --- | --- |\n| Bo | 3 |"),
        ("a.csv", b"name,name\nBo,Ann\n", "| name | name |\n| --- | --- |\n| Bo | Ann |"),
        ("a.html", b"<p>a&#0;b&#xD800;c&#x110000;d</p>", None),
        ("a.html", "<p>\u202egnp.exe</p>".encode(), "\u202egnp.exe"),
        ("a.html", b"<![CDATA[x]]><p>y</p>]]>", None),
        ("a.md", b"<script>alert(1)</script>\n\ntext &lt;b&gt;", "text <b>"),
    ],
)  # fmt: skip
def test_unusual_documents_are_read_correctly(name: str, data: bytes, text: str | None) -> None:
    found = extract(name, data, LIMITS)
    found.text.encode("utf-8")
    assert text is None or found.text == text


def test_a_slow_parser_is_stopped() -> None:
    started = time.monotonic()
    with pytest.raises(InputError, match="takes more than 1 s"):
        extract("a.pdf", form_that_draws_itself(), Limits(seconds=1))
    assert time.monotonic() - started < 10
    assert extract("a.txt", b"The next one is read.").text == "The next one is read."


def test_a_parser_is_limited_in_memory() -> None:
    with pytest.raises(InputError, match=r"cannot be read|takes more than"):
        extract("a.html", b"<p>hello</p>" * 3_000_000, Limits(memory=300 * 2**20))
    assert extract("a.txt", b"The next one is read.").text == "The next one is read."


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(size=10), "877 bytes"),
        (Limits(characters=3), "characters of text"),
        (Limits(pages=1), "has 2 pages"),
    ],
)
def test_limits(limits: Limits, said: str) -> None:
    with pytest.raises(InputError, match=said):
        extract("a.pdf", makers.pdf([["Hello."], ["More."]]), limits)


@pytest.mark.parametrize(
    "name",
    [
        "../a.txt",
        "/etc/passwd",
        "a/../../b.txt",
        "a\\b.txt",
        "a\0.txt",
        "",
        "a//b",
        "x" * 501,
        "\u2028.txt",
        "\ud800.txt",
    ],
)
def test_names_are_names(name: str) -> None:
    with pytest.raises(InputError, match="document name"):
        extract(name, b"hello")


def test_many_threads_share_a_few_processes() -> None:
    names = [str(number) for number in range(20)]
    with ThreadPoolExecutor(20) as pool:
        found = pool.map(lambda name: extract(f"{name}.html", f"<p>{name}</p>".encode()), names)
    assert [document.text for document in found] == names


READ_ONE = """
import json, resource, signal, sys
from semqa.documents.extract import main

resource.setrlimit(resource.RLIMIT_AS, (2**32 - 2**20, 2**32))
main()
state = signal.getitimer(signal.ITIMER_REAL)[0], *map(
    resource.getrlimit, (resource.RLIMIT_AS, resource.RLIMIT_CORE)
)
print(json.dumps(state))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits differ between systems")
def test_a_reader_is_limited_and_an_idle_one_has_no_alarm() -> None:
    limits = Limits(seconds=5, memory=2**30)
    head = json.dumps({"name": "a.txt", "kind": "txt", **asdict(limits)}).encode()
    request = struct.pack("<QQ", len(head), 5) + head + b"Hello"
    done = subprocess.run(
        [sys.executable, "-c", READ_ONE], input=request, capture_output=True, check=True
    )
    (size,) = struct.unpack("<Q", done.stdout[:8])
    assert json.loads(done.stdout[8 : 8 + size])["text"] == "Hello"
    assert json.loads(done.stdout[8 + size :]) == [0.0, [2**30, 2**32], [0, 0]]


def test_a_process_that_died_is_replaced() -> None:
    readers = Readers()
    assert readers.read("a", "txt", b"one", LIMITS)[1] == "one"
    (reader,) = readers._idle
    reader.process.kill()
    reader.process.wait()
    assert readers.read("a", "txt", b"two", LIMITS)[1] == "two"
    readers.close()


def test_a_long_pdf_title_is_read_in_linear_time() -> None:
    title = "_" * 100_000 + " x"
    assert extract("a.pdf", makers.pdf([["Text."]], title), Limits(seconds=20)).title
