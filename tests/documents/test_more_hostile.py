"""More files that mean harm, or are merely odd: each is read soon and right, or refused in a sentence."""

from __future__ import annotations

import io
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable

import pypdf
import pytest

from semqa.documents import Limits, extract, split
from semqa.errors import InputError
from tests.documents import makers

LIMITS = Limits(seconds=20, unpacked=40 * 2**20)
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def docx_relations(
    *relations: str, body: str = "Hello.", more: dict[str, bytes] | None = None
) -> bytes:
    """A Word document whose main part has relations."""
    listed = (
        '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
        f'relationships">{"".join(relations)}</Relationships>'
    )
    text = f"<w:document {makers.W}><w:body><w:p><w:r><w:t>{body}</w:t></w:r></w:p></w:body></w:document>"
    parts = {"word/_rels/document.xml.rels": listed.encode(), **(more or {})}
    return makers.docx_parts(text, parts)


def relation(number: int, kind: str, target: str, mode: str = "") -> str:
    return f'<Relationship Id="r{number}" Type="{RELATIONS}/{kind}" Target="{target}"{mode}/>'


def laughing_notes() -> bytes:
    entities = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
    notes = f'<!DOCTYPE x [<!ENTITY a0 "ha">{entities}]><w:footnotes {makers.W}><w:p><w:r><w:t>&a11;</w:t></w:r></w:p></w:footnotes>'
    return docx_relations(
        relation(1, "footnotes", "footnotes.xml"), more={"word/footnotes.xml": notes.encode()}
    )


def nested_zip() -> bytes:
    inner = makers.deflated_zeros(2**20)
    for _ in range(20):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.zip", inner)
        inner = out.getvalue()
    return docx_relations(more={"word/embeddings/a.zip": inner})


def deep_word() -> bytes:
    return makers.docx_parts(
        f"<w:document {makers.W}><w:body>" + "<w:p><w:r>" * 50_000 + "<w:t>deep</w:t>"
        + "</w:r></w:p>" * 50_000 + "</w:body></w:document>"
    )  # fmt: skip


def twice_the_same_part() -> bytes:
    out = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", makers.DOCX_TYPES)
        archive.writestr("_rels/.rels", makers.DOCX_RELATIONS)
        for text in ("One.", "Two."):
            body = f"<w:document {makers.W}><w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body></w:document>"
            archive.writestr("word/document.xml", body)
    return out.getvalue()


def cyclic_pages() -> bytes:
    return makers.pdf_objects(
        {
            1: b"<</Type/Catalog/Pages 2 0 R>>",
            2: b"<</Type/Pages/Count 2/Kids[3 0 R 2 0 R]>>",
            3: b"<</Type/Pages/Parent 2 0 R/Count 1/Kids[2 0 R]>>",
        }
    )


def many_pages_said() -> bytes:
    return makers.pdf([["x"]]).replace(b"/Count 1", b"/Count 2147483647")


def deep_pages() -> bytes:
    objects = {1: b"<</Type/Catalog/Pages 2 0 R>>"}
    for i in range(2, 5000):
        objects[i] = b"<</Type/Pages/Count 1/Kids[%d 0 R]>>" % (i + 1)
    objects[5000] = b"<</Type/Page/Parent 4999 0 R/MediaBox[0 0 9 9]>>"
    return makers.pdf_objects(objects)


def huge_table_of_places() -> bytes:
    data = makers.pdf([["Hello."]])
    return data.replace(b"xref\n0 6\n", b"xref\n0 4000000000\n")


def stream_of_places_without_end() -> bytes:
    packed = zlib.compress(b"\0" * 7 * 100)
    return makers.pdf_objects(
        {
            1: b"<</Type/Catalog/Pages 2 0 R>>",
            2: b"<</Type/Pages/Count 0/Kids[]>>",
            3: makers.stream(
                packed,
                filters=b"/Type/XRef/W[1 4 2]/Index[0 2147483647]/Size 2147483647/Filter/FlateDecode/Root 1 0 R",
            ),
        }
    )


def table_that_is_its_own_former() -> bytes:
    data = makers.pdf([["Hello."]])
    at = data.rindex(b"startxref\n") + 10
    place = data[at : data.index(b"\n", at)]
    return data.replace(b"/Root", b"/Prev " + place + b"/Root")


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
        ("a.docx", laughing_notes, "cannot be read"),
        ("a.docx", lambda: docx_relations(relation(1, "footnotes", "../../../../etc/passwd")), "cannot be read"),
        ("a.pdf", cyclic_pages, ""),
        ("a.pdf", many_pages_said, ""),
        ("a.pdf", deep_pages, ""),
        ("a.pdf", huge_table_of_places, ""),
        ("a.pdf", stream_of_places_without_end, ""),
        ("a.pdf", form_that_draws_itself, ""),
        ("a.pdf", locked_pdf, "password"),
        ("a.pdf", lambda: b"%PDF-1.7\n" + b"1 0 obj\n" * 300_000, "cannot be read"),
        ("a.pdf", lambda: b"%PDF-1.7\n1 0 obj\n" + b"[" * 200_000, "cannot be read"),
        ("a.docx", deep_word, ""),
        ("a.html", lambda: b"<div>" * 1_000_000 + b"x" + b"</div>" * 1_000_000, "nested"),
        ("a.md", lambda: b"> " * 50_000 + b"x", ""),
        ("a.md", lambda: b"[" * 50_000, ""),
        ("a.md", lambda: b"*a " * 100_000, ""),
        ("a.md", lambda: b"- " * 20_000 + b"x", ""),
        ("a.csv", lambda: ",".join(map(str, range(100_000))).encode() + b"\n" + b"x," * 100_000, ""),
        ("a.csv", lambda: b'"' + b"x" * 3_000_000, ""),
        ("a.csv", lambda: b'a,b\n1,"2\n' * 100_000, ""),
        ("a.jsonl", lambda: b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "too deep a value"),
        ("a.jsonl", lambda: b'{"n": ' + b"9" * 100_000 + b"}", ""),
        ("a.jsonl", lambda: b'{"n": 1e999999}', ""),
        ("a.txt", lambda: "naïve text without a mark".encode("utf-16-le") * 20, "binary"),
        ("a.txt", lambda: b"a" * 70_000 + b"\0" * 70_000, ""),
        ("a.txt", lambda: bytes(range(1, 256)) * 100, ""),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value)[:20],
)  # fmt: skip
def test_files_are_rejected_or_read_quickly(
    name: str, make: Callable[[], bytes], said: str
) -> None:
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
        ("a.pdf", table_that_is_its_own_former(), "Hello."),
        ("a.pdf", b"\n" * 900 + makers.pdf([["Hello."]]), "Hello."),
        ("a.docx", nested_zip(), "Hello."),
        ("a.docx", twice_the_same_part(), "Two."),
        (
            "a.docx",
            docx_relations(
                relation(1, "attachedTemplate", "http://127.0.0.1:9/x.dotm", ' TargetMode="External"'),
                relation(2, "footnotes", "file:///etc/passwd", ' TargetMode="External"'),
                relation(3, "image", "\\\\host\\share\\x.png", ' TargetMode="External"'),
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
