"""Collections keep what they are given, apart by owner, and give back exact passages."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from semqa.documents import Passage, split
from semqa.errors import ForbiddenError, InputError, NotFoundError, SemqaError, UnavailableError
from semqa.quotes import Source
from semqa.retrieval.passages import Collection, Found, Library, search
from semqa.retrieval.passages import collection as collection_module
from semqa.retrieval.passages.search import DenseEncoder

HARBOUR = b"The harbour of Oslo was built in 1890. It burnt down twice.\n\nFerries leave daily."


class Letters:
    """An encoder of sentences: how often each letter is there."""

    name = "letters"

    def quick(self, texts: Sequence[str]) -> None:
        del texts

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = [[text.lower().count(chr(97 + i)) + 0.01 for i in range(26)] for text in texts]
        return np.asarray(rows, dtype=np.float32)

    def embed_question(self, question: str) -> NDArray[np.float32]:
        return np.asarray(self.embed([question])[0], dtype=np.float32)

    def identity(self) -> str:
        return "letters"


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "library", encoder=False)


@pytest.fixture
def notes(library: Library) -> Collection:
    return library.create("", "notes")


def use(library: Library, encoder: object) -> None:
    library.dense = DenseEncoder(encoder)  # type: ignore[arg-type]


def check_exact(collection: Collection, query: str) -> None:
    found = collection.search(query)
    assert found
    for each in found:
        document = collection.document(each.document_id)
        assert document.text[each.start : each.end] == each.source.text
        assert each.source.title == document.title
        assert each.name == document.name
        assert each.source.url == (
            f"semqa://{collection.name}/{each.document_id}#char={each.start},{each.end}"
        )


def test_added_documents_are_found_with_offsets(notes: Collection) -> None:
    info = notes.put("sub/harbour.txt", HARBOUR)
    assert (info.kind, info.title, info.passages) == ("txt", "harbour", 1)
    assert info.characters == len(HARBOUR)
    assert notes.documents() == [info]
    assert notes.find(info.id) == info
    check_exact(notes, "When was the harbour built?")
    assert notes.info().passages == 1


def test_offsets_are_code_points(notes: Collection) -> None:
    text = "👍 Zürich é 東京。 " * 100 + "\n\nשלום \u202eעולם. zebra 👩\u200d👩\u200d👧 end."
    notes.put("a.txt", text.encode())
    check_exact(notes, "zebra")
    assert "zebra" in notes.search("zebra")[0].source.text


def test_only_changed_files_are_added_again(notes: Collection) -> None:
    first = notes.put("a.txt", HARBOUR)
    version = notes._documents.version, notes._passages.version
    assert notes.put("a.txt", HARBOUR) == first
    assert (notes._documents.version, notes._passages.version) == version
    second = notes.put("a.txt", b"Zebras eat grass.")
    assert second.id != first.id
    assert notes.documents() == [second]
    assert [each.document_id for each in notes.search("harbour zebras")] == [second.id]
    assert notes._passages.count_rows() == 1
    with pytest.raises(NotFoundError):
        notes.document(first.id)


def test_all_or_none_of_several_files(notes: Collection) -> None:
    with pytest.raises(InputError, match=r"bad\.pdf"):
        notes.put_all([("a.txt", HARBOUR), ("bad.pdf", b"no pdf")])
    assert notes.documents() == []
    assert [each.name for each in notes.put_all([("b.txt", HARBOUR), ("a.txt", HARBOUR)])] == [
        "b.txt",
        "a.txt",
    ]


def test_owners_see_only_their_own(library: Library) -> None:
    mine, theirs = library.create("me", "notes"), library.create("you", "notes")
    secret = theirs.put("secret.txt", b"The secret zebra.")
    mine.put("a.txt", HARBOUR)
    assert [each.name for each in library.collections("me")] == ["notes"]
    assert library.collections("me' OR '1'='1") == []
    assert library.collections("") == []
    assert all("zebra" not in each.source.text for each in mine.search("zebra secret"))
    for steal in (mine.document, mine.find, mine.remove):
        with pytest.raises(NotFoundError):
            steal(secret.id)
    for owner in ("", "them", "you' OR 'a'='a"):
        with pytest.raises(NotFoundError):
            library.collection(owner, "notes")
        with pytest.raises(NotFoundError):
            library.delete(owner, "notes")
    with pytest.raises(NotFoundError):
        mine.document("x' OR '1'='1")
    library.delete("me", "notes")
    assert theirs.documents() == [secret]


def test_a_deleted_collection_raises_not_found(library: Library) -> None:
    held = library.create("", "notes")
    held.put("a.txt", HARBOUR)
    library.delete("", "notes")
    calls: list[Callable[[], object]] = [
        held.documents,
        held.info,
        lambda: held.search("harbour"),
        lambda: held.put("b.txt", HARBOUR),
    ]
    for call in calls:
        with pytest.raises(NotFoundError):
            call()
    assert library.create("", "notes").documents() == []


def test_names_of_collections(library: Library) -> None:
    names = {"Meine Akten 2024", "東京", "a'b", "x.y", "%2e"}
    for name in names:
        library.create("", name)
    assert {each.name for each in library.collections()} == names
    library.collection("", "a'b").put("a.txt", HARBOUR)
    assert library.collection("", "a'b").search("harbour")
    for name in ("", " ", "../x", "a\\b", ".hidden", "a\nb", "x" * 101, "\0", " a", "\ud800"):
        with pytest.raises(InputError, match="A collection's name"):
            library.create("", name)
        with pytest.raises((NotFoundError, UnavailableError)):
            library.collection("", name)
    with pytest.raises(InputError, match="already exists"):
        library.create("", "x.y")


def test_any_question_can_be_asked(notes: Collection) -> None:
    assert notes.search("harbour") == []
    notes.put("a.txt", HARBOUR)
    for query in ('"AND OR ( * ~ \\ [', "zebra OR harbour:^", "\ud800 harbour", "harbour " * 1000):
        notes.search(query)
    for query in ("", "  \n"):
        with pytest.raises(InputError, match="The query is empty"):
            notes.search(query)
    for limit in (0, 101):
        with pytest.raises(InputError, match="limit must be"):
            notes.search("harbour", limit)


def test_duplicate_passages_are_left_out(notes: Collection) -> None:
    for i in range(5):
        notes.put(f"{i}.txt", HARBOUR)
    notes.put("other.txt", HARBOUR.replace(b"1890", b"1891"))
    found = notes.search("harbour Oslo")
    assert len(found) == 2
    assert {"1890" in each.source.text for each in found} == {True, False}


RULES = """# Rules

## Deposit

{0}

Tenants get it back in May.

## Parking

{0}

Visitors get it back in June.
"""


def test_a_passage_is_found_by_its_context(notes: Collection) -> None:
    notes.put(
        "rules.md", RULES.format("The office keeps a list of all that was paid. " * 20).encode()
    )
    check_exact(notes, "deposit")
    (deposit,) = (each for each in notes.search("deposit", 20) if "May." in each.source.text)
    assert (deposit.source.context, "Deposit" in deposit.source.text) == ("Deposit", False)
    (parking,) = (each for each in notes.search("parking", 20) if "June." in each.source.text)
    assert (parking.source.context, "Parking" in parking.source.text) == ("Parking", False)


def test_equal_passages_with_other_contexts_are_kept() -> None:
    text = "It costs 40 euros, is paid in advance, and is not paid back if it rains."
    some = [
        search.Candidate(Found(Source(text, context=context), "d", "n", i, i, None, 0.0))
        for i, context in enumerate(("Fees\nBoats", "Fees\nBikes and skates", "Fees\nBoats"))
    ]
    assert search.drop_duplicates(some, 5) == some[:2]


def test_an_old_recipe_is_searched_and_read_again(
    notes: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = RULES.format("The office keeps a list of all that was paid. " * 20).encode()
    with monkeypatch.context() as patch:
        patch.setattr(collection_module, "RECIPE", "2")
        plain = lambda text: [Passage(each.start, each.end) for each in split(text)]  # noqa: E731
        patch.setattr(collection_module, "split", plain)
        old = notes.put("rules.md", text)
    check_exact(notes, "Who gets it back?")
    assert {each.source.context for each in notes.search("Who gets it back?")} == {""}
    new = notes.put("rules.md", text)
    assert new.id != old.id
    assert "Deposit" in {each.source.context for each in notes.search("Who gets it back?")}


def test_words_are_found_in_many_languages(notes: Collection) -> None:
    notes.put("ja.txt", "東京は日本の首都です。".encode())
    notes.put("he.txt", "שלום עולם.".encode())
    notes.put("de.txt", "Die Straße in Zürich.".encode())
    for query, name in (("首都", "ja.txt"), ("עולם", "he.txt"), ("strasse zurich", "de.txt")):
        assert notes.search(query)[0].name == name


def test_vector_search_with_an_encoder(library: Library) -> None:
    use(library, Letters())
    collection = library.create("", "letters")
    collection.put("a.txt", b"zzzz zzz zz.")
    collection.put("b.txt", b"aaaa aaa aa.")
    assert [each.name for each in collection.search("azz")] == ["a.txt", "b.txt"]
    assert [each.name for each in collection.search("aaz")] == ["b.txt", "a.txt"]


def test_a_new_encoder_is_used_for_new_documents(
    library: Library, caplog: pytest.LogCaptureFixture
) -> None:
    old = library.create("", "letters")
    old.put("a.txt", b"zzzz zzz zz.")
    old.put("b.txt", b"aaaa aaa aa.")
    use(library, Letters())
    new = library.collection("", "letters")
    assert new.search("qqz") == []
    assert not caplog.messages
    assert new.search("aaaa") != []
    assert new.search("aaaa") != []
    assert [message for message in caplog.messages if "'letters'" in message] == caplog.messages[:1]
    new.put("a.txt", b"zzzz zzz zz.")
    new.put("c.txt", b"yyyy yyy yy.")
    assert new.search("qqz")[0].name == "a.txt"
    assert len(new.documents()) == 3
    assert new._passages.count_rows() == 3


def test_threads_add_and_search_concurrently(notes: Collection) -> None:
    def put(number: int) -> None:
        for i in range(4):
            notes.put(f"{number}-{i}.txt", f"Zebra number {number} {i} lives here.".encode())
            assert notes.search("zebra")

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(put, range(5)))
    assert len(notes.documents()) == 20
    assert notes._passages.count_rows() == 20


def test_a_failed_write_leaves_nothing(notes: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    before = notes.put("a.txt", HARBOUR)
    with monkeypatch.context() as patch:
        patch.setattr(collection_module.Collection, "_document_row", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            notes.put("a.txt", b"Zebras in the harbour.")
    assert notes._passages.count_rows() == 2  # one of them is of the write that failed
    assert notes.documents() == [before]
    assert [each.document_id for each in notes.search("zebras harbour")] == [before.id]
    notes.put("b.txt", b"Ferries.")
    assert notes._passages.count_rows() == 2


def test_disk_errors_are_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UnavailableError, match="cannot be read or written"):
        Library(tmp_path / "file" / "library", encoder=False)


@pytest.mark.parametrize("most", [0, 20_000])
def test_a_search_sees_changes_by_other_processes(
    library: Library, notes: Collection, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "READ_ALL", most)
    info = notes.put("a.txt", HARBOUR)
    assert notes.search("harbour")
    other = Library(library.store.where, encoder=False).collection("", "notes")
    other.put("a.txt", HARBOUR.replace(b"1890", b"1891"))
    (found,) = notes.search("harbour")
    assert found.document_id != info.id
    assert "1891" in found.source.text
    other.remove(found.document_id)
    assert notes.search("harbour") == []
    other.put("a.txt", HARBOUR)
    assert [each.document_id for each in notes.search("harbour")] == [info.id]
    assert notes._rows.find([info.id, found.document_id]).keys() == {info.id}
    assert notes._rows.find([]) == {}


def test_many_vectors_use_an_index(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found through it is nearly what is found without."""
    monkeypatch.setattr(search, "MIN_INDEXED_VECTORS", 100)
    monkeypatch.setattr(search, "PARTITION_SIZE", 50)
    draw = np.random.default_rng(3)
    rows = draw.standard_normal((150, 256))
    rows[:30] += np.linspace(0.5, 1.5, 30)[:, None]  # some are near the question
    known = {f"n{i}": row for i, row in enumerate(rows)}

    class Drawn(Letters):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            words = [text.split("\n")[-1] for text in texts]
            return np.asarray([known.get(word, np.ones(256)) for word in words], dtype=np.float32)

    use(library, Drawn())
    collection = library.create("", "drawn")
    collection.put_all([(f"{word}.txt", word.encode()) for word in known])
    before = [each.name for each in collection.search("anything", 20)]
    collection.optimize()
    assert [each.index_type for each in collection._passages.list_indices()] == ["FTS", "IvfRq"]
    after = [each.name for each in collection.search("anything", 20)]
    assert len(set(after) & set(before)) >= 18
    collection.put("late.txt", b"late")  # as near as can be
    assert collection.search("anything", 20)[0].name == "late.txt"


def test_a_question_does_not_wait_for_an_upload() -> None:
    """Embedding is for one thread at a time, and a long job lets others in between."""
    order: list[str] = []
    begun = threading.Event()

    class Slow(Letters):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            order.append(texts[0])
            begun.set()
            time.sleep(0.05)
            return super().embed(texts)

    dense = DenseEncoder(Slow())  # type: ignore[arg-type]
    book = threading.Thread(target=dense.embed, args=(["book"] * 640,))
    book.start()
    begun.wait()
    assert dense.embed_question("question").shape == (26,)
    book.join()
    assert len(order) == 11
    assert order.index("question") <= 3


def test_writing_to_a_deleted_collection_raises_not_found(library: Library) -> None:
    held = [library.create("", f"notes {i}") for i in range(3)]
    told: list[BaseException] = []

    def write(collection: Collection) -> None:
        try:
            for i in range(20):
                collection.put(f"{i}.txt", HARBOUR)
        except SemqaError as error:
            told.append(error)

    for i, collection in enumerate(held):
        writer = threading.Thread(target=write, args=(collection,))
        writer.start()
        time.sleep(0.03 + i / 30)
        library.delete("", collection.name)  # waits for the write that is under way
        writer.join()
    assert [type(error) for error in told] == [NotFoundError] * 3
    assert library.store.names() == ["collections"]


def test_damaged_collections_are_reported_and_can_be_deleted(
    library: Library, tmp_path: Path
) -> None:
    library.create("", "good").put("a.txt", HARBOUR)
    for name, damage in (("emptied", lambda path: path.write_bytes(b"")), ("lost", Path.unlink)):
        bad = library.create("", name)
        for path in (tmp_path / "library" / f"documents_{bad._key}.lance").rglob("*.*"):
            damage(path)
        opened = Library(tmp_path / "library", encoder=False)
        for call in (opened.collections, opened.collection("", name).info):
            with pytest.raises(UnavailableError, match=f"Collection '{name}': "):
                call()
        assert opened.names() == sorted(["good", name])
        opened.delete("", name)
        assert [info.name for info in opened.collections()] == ["good"]


def test_collections_can_be_deleted_on_a_full_disk(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = library.create("", "large")
    library.create("", "other").put("a.txt", HARBOUR)
    catalogue = library._catalogue

    class Full:
        """Takes no writes while the collection's tables are there."""

        def delete(self, condition: str) -> None:
            if list((tmp_path / "library").glob(f"*_{held._key}.lance")):
                raise RuntimeError("Unable to copy data to file: No space left on device")
            catalogue.delete(condition)

        def search(self) -> object:
            return catalogue.search()

    monkeypatch.setitem(library.__dict__, "_catalogue", Full())
    library.delete("", "large")
    assert [info.name for info in library.collections()] == ["other"]


def test_read_ahead_gets_the_sources_of_searches(tmp_path: Path) -> None:
    ahead: list[Source] = []
    library = Library(tmp_path / "library", encoder=False, read_ahead=ahead.extend)
    notes = library.create("", "notes")
    text = b"# Hire\n\n## Prices\n\nThe hall costs 45 euros.\n\n## Times\n\n- Monday: all day\n- Sunday: no\n"
    notes.put_all([("hire.md", text * 9), ("harbour.txt", HARBOUR)])
    found = [each.source for each in notes.search("hall harbour Monday Oslo", 100)]
    assert found
    assert {(each.text, each.title, each.context) for each in found} <= {
        (each.text, each.title, each.context) for each in ahead
    }


def test_a_share_ends_with_its_collection(library: Library, tmp_path: Path) -> None:
    notes = library.create("ann", "notes")
    notes.put("a.txt", b"The harbour of Oslo was built in 1890.")
    library.create("bob", "notes")
    with pytest.raises(InputError):
        library.share("ann", "notes", "bob", "notes")  # the name is taken
    library.share("ann", "notes", "bob", "ann's notes")
    assert [each.name for each in library.collections("bob")] == ["ann's notes", "notes"]
    assert [(each.owner, each.access) for each in library.shares("ann", "notes")] == [
        ("bob", "read")
    ]
    held = library.collection("bob", "ann's notes")
    assert held.search("harbour")
    with pytest.raises(ForbiddenError):
        held.put("b.txt", b"Bob.")
    with pytest.raises(ForbiddenError):
        held.remove(held.documents()[0].id)
    with pytest.raises(ForbiddenError):
        library.share("bob", "ann's notes", "eve", "mine")  # not theirs to share
    library.delete("bob", "notes")  # what nothing needs is dropped, and shares are needed
    assert library.names("bob") == ["ann's notes"]
    library.delete("ann", "notes")
    assert library.names("bob") == []


def test_a_rare_word_counts_more_than_function_words(notes: Collection) -> None:
    for i, paid in enumerate(("subs", "tea", "rent", "ink", "coal")):
        notes.put(
            f"{i}.md", f"# How much we owe\n\nThis is how much we do owe for the {paid}.".encode()
        )
    notes.put("wedding.md", b"Photographer Duarte, 1750 in all, 500 of it paid in May.")
    assert notes.search("how much do we owe Duarte", 1)[0].name == "wedding.md"
