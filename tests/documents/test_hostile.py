"""Files that mean harm are refused, soon and in a sentence."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import threading
import time
import zlib
from dataclasses import asdict

import pytest

from semqa.documents import Limits, extract
from semqa.documents.reader import Readers
from semqa.errors import InputError
from tests.documents import makers

LIMITS = Limits(seconds=10, unpacked=40 * 2**20)


def laughs() -> bytes:
    entities = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
    return makers.docx_parts(
        f'<!DOCTYPE x [<!ENTITY a0 "ha">{entities}]><w:document {makers.W}><w:body><w:p><w:r>'
        "<w:t>&a11;</w:t></w:r></w:p></w:body></w:document>"
    )


def outside_entity() -> bytes:
    return makers.docx_parts(
        f'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><w:document {makers.W}><w:body>'
        "<w:p><w:r><w:t>&a;</w:t></w:r></w:p></w:body></w:document>"
    )


def many_entries() -> bytes:
    entry = b"PK\x01\x02" + b"\x14\0" * 2 + b"\0" * 20 + b"\x01\0" + b"\0" * 16 + b"a"
    size = 200_000
    end = b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 1, 1, size * len(entry), 0, 0)
    return b"PK\x03\x04" + entry * size + end


def slow_pdf() -> bytes:
    shown = b"BT /F1 12 Tf " + b"(abcdefgh) Tj " * 4_000_000 + b"ET"
    return makers.pdf_contents(
        [makers.stream(zlib.compress(shown, 9), filters=b"/Filter/FlateDecode")]
    )


def many_segments() -> bytes:
    drawn = b"10 10 m " + b"20 20 l " * 2000 + b"S "
    shown = b"BT /F1 12 Tf (A map.) Tj ET " + drawn * 5000
    return makers.pdf_contents(
        [makers.stream(zlib.compress(shown), filters=b"/Filter/FlateDecode")]
    )


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("a.pdf", makers.flate_bomb, "no text"),
        ("a.docx", lambda: makers.docx_parts(b"<x>" + b" " * (50 * 2**20)), "too large"),
        ("a.docx", laughs, "cannot be read"),
        ("a.docx", outside_entity, "no text"),
        ("a.html", lambda: b"<div>" * 200_000 + b"hello", "nested"),
        ("a.jsonl", lambda: b"[" * 100_000, "too deep a value"),
        ("a.jsonl", lambda: b"[1]", "JSON object"),
        ("a.zip", many_entries, "valid Word|an archive|too large"),
        ("a.zip", lambda: makers.archive({"a.txt": b"hello"}), "an archive"),
        (
            "a.xlsx",
            lambda: makers.archive({"[Content_Types].xml": b"", "xl/a": b""}),
            "an Excel wor",
        ),
        ("a.pptx", lambda: makers.archive({"ppt/slides/1.xml": b""}), "Save it as PDF"),
        ("a.odt", lambda: makers.archive({"META-INF/manifest.xml": b""}), "an OpenDocument file"),
        ("a.xlsx", lambda: b"PK\x03\x04 is no archive", r"Not a valid Word document"),
        ("a.txt", lambda: b"a\0b", "binary"),
        ("a.txt", lambda: b"", "no text"),
        ("a.png", lambda: b"\x89PNG\r\n", "an image"),
        ("a.pdf", lambda: b"hello", "although its name says so"),
        ("a.docx", lambda: b"hello", "although its name says so"),
        ("a.zip", lambda: makers.docx_parts("")[:-30], "valid Word document"),
        ("a.doc", lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Save it as docx"),
        ("a.pdf", lambda: makers.pdf([["x"]])[:200], "cannot be read"),
        ("a.pdf", lambda: makers.pdf([[]]), "OCR"),
    ],
)
def test_refused(name: str, make: object, said: str) -> None:
    assert callable(make)
    data = make()
    started = time.monotonic()
    with pytest.raises(InputError, match=said) as raised:
        extract(name, data, LIMITS)
    assert time.monotonic() - started < LIMITS.seconds
    assert str(raised.value).startswith(name)
    assert "\n" not in str(raised.value)


def test_a_slow_parser_is_stopped() -> None:
    started = time.monotonic()
    with pytest.raises(InputError, match="takes more than 2 s"):
        extract("a.pdf", slow_pdf(), Limits(seconds=2))
    assert time.monotonic() - started < 10
    assert extract("a.txt", b"The next one is read.").text == "The next one is read."


def test_a_parser_is_limited_in_memory() -> None:
    with pytest.raises(InputError, match=r"cannot be read|takes more than"):
        extract("a.html", b"<p>hello</p>" * 3_000_000, Limits(memory=300 * 2**20))
    assert extract("a.txt", b"The next one is read.").text == "The next one is read."


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.html", b" " * 3_000_000 + b"x"),
        ("a.html", b"<meta " * 500_000 + b"<p>x"),
        ("a.csv", b",;" * 1_000_000),
        ("a.jsonl", b'{"text":"' + b"\\n" * 1_000_000 + b'x"}'),
        ("a.txt", b"\n " * 1_000_000 + b"x"),
        ("a.pdf", makers.pdf([["x" * 300_000, "y-" * 100_000, "end"]])),
        ("a.pdf", many_segments()),
        ("a.html", b"<div class=menu>" * 200 + b"<br>" * 50_000 + b"x"),
        ("a.eml", b"Subject: x\nTo: " + b",".join([b"a@b.org"] * 50_000) + b"\n\nhello"),
    ],
    ids=["blanks", "meta", "csv", "jsonl", "lines", "pdf", "segments", "menus", "addresses"],
)
def test_unusual_texts_are_read_quickly(name: str, data: bytes) -> None:
    started = time.monotonic()
    assert extract(name, data, Limits(seconds=30)).text
    assert time.monotonic() - started < 25


def test_a_sign_within_a_record_ends_no_line() -> None:
    assert extract("a.jsonl", '{"text": "one\u2028two"}'.encode()).text == "one\ntwo"


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


def test_a_limit_is_above_zero() -> None:
    with pytest.raises(InputError, match="seconds must be above 0"):
        Limits(seconds=0)


@pytest.mark.parametrize(
    "name",
    [
        "../a.txt",
        "/etc/passwd",
        "a/../../b.txt",
        "..",
        "a\\b.txt",
        "a\0.txt",
        "a\n.txt",
        "",
        "a//b",
        "x" * 501,
        "C:\\a.txt",
        "\u2028.txt",
        "\ud800.txt",
    ],
)
def test_names_are_names(name: str) -> None:
    with pytest.raises(InputError, match="document name"):
        extract(name, b"hello")


def test_content_decides_over_the_name() -> None:
    assert extract("a.txt", makers.pdf([["Hello."]])).kind == "pdf"
    assert extract("a", makers.docx("Hello.")).kind == "docx"


def test_many_threads_share_a_few_processes() -> None:
    found: list[str] = []

    def work(number: int) -> None:
        found.append(extract(f"{number}.html", f"<p>{number}</p>".encode()).text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found, key=int) == [str(number) for number in range(20)]


READ_ONE = """
import json, resource, signal, sys
from semqa.documents.reader import main

resource.setrlimit(resource.RLIMIT_AS, (2**32 - 2**20, 2**32))
main()
state = signal.getitimer(signal.ITIMER_REAL)[0], *map(
    resource.getrlimit, (resource.RLIMIT_AS, resource.RLIMIT_CORE)
)
print(json.dumps(state))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits differ between systems")
@pytest.mark.parametrize(("memory", "expected"), [(2**40, 2**32), (2**30, 2**30)])
def test_a_reader_is_limited_and_an_idle_one_has_no_alarm(memory: int, expected: int) -> None:
    limits = Limits(seconds=5, memory=memory)
    head = json.dumps({"name": "a.txt", "kind": "txt", **asdict(limits)}).encode()
    request = struct.pack("<QQ", len(head), 5) + head + b"Hello"
    done = subprocess.run(
        [sys.executable, "-c", READ_ONE], input=request, capture_output=True, check=True
    )
    (size,) = struct.unpack("<Q", done.stdout[:8])
    assert json.loads(done.stdout[8 : 8 + size])["text"] == "Hello"
    assert json.loads(done.stdout[8 + size :]) == [0.0, [expected, 2**32], [0, 0]]


def test_a_process_that_died_is_replaced() -> None:
    readers = Readers()
    assert readers.read("a", "txt", b"one", LIMITS).text == "one"
    (reader,) = readers._idle
    reader.process.kill()
    reader.process.wait()
    assert readers.read("a", "txt", b"two", LIMITS).text == "two"
    readers.close()
    assert not readers._idle
