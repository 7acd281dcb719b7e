"""Files of the kinds that are read, made small and plain, and some that mean harm."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DOCX_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-'
    'officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def pdf_objects(objects: Mapping[int, bytes], *, root: int = 1, extra: bytes = b"") -> bytes:
    """A PDF of numbered objects, with a table of where they are."""
    out = io.BytesIO()
    out.write(b"%PDF-1.7\n")
    places = {}
    for number, body in objects.items():
        places[number] = out.tell()
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    table = out.tell()
    size = max(objects) + 1
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % size)
    for number in range(1, size):
        out.write(b"%010d 00000 n \n" % places.get(number, 0))
    out.write(
        b"trailer\n<</Size %d/Root %d 0 R%s>>\nstartxref\n%d\n%%%%EOF" % (size, root, extra, table)
    )
    return out.getvalue()


def stream(data: bytes, *, filters: bytes = b"") -> bytes:
    return b"<</Length %d%s>>stream\n%s\nendstream" % (len(data), filters, data)


def pdf(pages: Sequence[Sequence[str]], title: str = "") -> bytes:
    """A PDF with the given lines on its pages; Latin-1 only."""
    contents = [
        b"BT /F1 12 Tf 72 720 Td 14 TL "
        + b" ".join(
            b"("
            + line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)").encode("latin-1")
            + b") Tj T*"
            for line in lines
        )
        + b" ET"
        for lines in pages
    ]
    return pdf_contents(
        [stream(zlib.compress(each), filters=b"/Filter/FlateDecode") for each in contents], title
    )


def pdf_contents(
    contents: Sequence[bytes],
    title: str = "",
    *,
    more: bytes = b"",
    annotations: Sequence[str] = (),
) -> bytes:
    """A PDF whose pages have the given streams, and more entries; the annotations are on all pages."""
    first = 4 + 2 * len(contents)
    fields = b" ".join(b"%d 0 R" % (first + i) for i in range(len(annotations)))
    more += b"/Annots[%s]" % fields if fields else b""
    form = b"/AcroForm<</Fields[%s]>>" % fields if fields else b""
    objects = {1: b"<</Type/Catalog/Pages 2 0 R%s>>" % form}
    for i, annotation in enumerate(annotations):
        objects[first + i] = f"<</Type/Annot{annotation}>>".encode("latin-1")
    kids = b" ".join(b"%d 0 R" % (4 + 2 * i) for i in range(len(contents)))
    objects[2] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(contents), kids)
    objects[3] = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
    for i, content in enumerate(contents):
        objects[4 + 2 * i] = (
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>"
            b"/Contents %d 0 R%s>>" % (5 + 2 * i, more)
        )
        objects[5 + 2 * i] = content
    extra = b""
    if title:
        number = max(objects) + 1
        objects[number] = b"<</Title(%s)>>" % title.encode("latin-1")
        extra = b"/Info %d 0 R" % number
    return pdf_objects(objects, extra=extra)


def flate_bomb(size: int = 64 * 2**20) -> bytes:
    """A PDF with a page of a few kilobytes that becomes `size` bytes: packed three times."""
    data = deflated_zeros(size)
    packed = zlib.compress(data, 9)
    return pdf_contents([stream(packed, filters=b"/Filter[/FlateDecode/FlateDecode]")])


def deflated_zeros(size: int) -> bytes:
    packer = zlib.compressobj(9)
    block = b" " * 2**20
    parts = [packer.compress(block) for _ in range(size // 2**20)]
    return b"".join([*parts, packer.flush()])


def relation(number: int, kind: str, target: str, mode: str = "") -> str:
    return f'<Relationship Id="r{number}" Type="{_OFFICE}/{kind}" Target="{target}"{mode}/>'


def relations(*listed: str) -> str:
    return (
        '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
        f'relationships">{"".join(listed)}</Relationships>'
    )


DOCX_RELATIONS = relations(relation(1, "officeDocument", "word/document.xml"))


def docx_parts(body: str | bytes, more: Mapping[str, bytes] | None = None) -> bytes:
    """A Word document with the given XML as its main part."""
    parts = {"[Content_Types].xml": DOCX_TYPES, "_rels/.rels": DOCX_RELATIONS}
    return archive({**parts, "word/document.xml": body, **(more or {})})


def docx_xml(body: str, *related: str, **parts: str) -> bytes:
    """A Word document with the given XML as its body, relations, and other parts in XML."""
    more = {f"word/{name}.xml": data.encode() for name, data in parts.items()}
    more["word/_rels/document.xml.rels"] = relations(*related).encode()
    return docx_parts(f"<w:document {W}><w:body>{body}</w:body></w:document>", more)


def numbered(
    levels: Sequence[tuple[str, str, str]], items: Sequence[tuple[int, int, str]], more: str = ""
) -> bytes:
    """A Word document with numbered paragraphs.

    Args:
        levels: the style, text and further XML of each level.
        items: the list, level and text of each paragraph.
        more: XML of further lists than the first.
    """
    numbering = "".join(
        f'<w:lvl w:ilvl="{i}"><w:numFmt w:val="{style}"/>{extra}<w:lvlText w:val="{text}"/></w:lvl>'
        for i, (style, text, extra) in enumerate(levels)
    )
    numbering = (
        f'<w:numbering {W}><w:abstractNum w:abstractNumId="7">{numbering}</w:abstractNum>'
        f'<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>{more}</w:numbering>'
    )
    body = "".join(
        f'<w:p><w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr></w:pPr>'
        f"<w:r><w:t>{text}</w:t></w:r></w:p>"
        for number, level, text in items
    )
    return docx_xml(body, relation(1, "numbering", "numbering.xml"), numbering=numbering)


def paragraph(text: str, more: str = "") -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r>{more}</w:p>"


def docx(*paragraphs: str) -> bytes:
    return docx_xml("".join(map(paragraph, paragraphs)))


def archive(files: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(name, data)
    return out.getvalue()
