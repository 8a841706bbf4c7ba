"""Bringing an index up to date: only what changed is read, what is gone is removed, a bad file stops nothing."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from pathlib import Path

import pytest

from hikidashi.errors import MissingExtra, WebIndexError
from hikidashi.texts import in_language
from hikidashi.web.local import IndexTotals, IngestEvent, LocalIndex, documents, ingest
from hikidashi.web.local.documents import Failed, FileFound, read_file

Ingested = Callable[..., Awaitable[list[IngestEvent]]]


def outcomes(events: Sequence[IngestEvent]) -> dict[str, str]:
    return {event.url.rpartition("/")[2]: event.kind for event in events}


def urls(index: LocalIndex, question: str) -> list[str]:
    return [found.url.rpartition("/")[2] for found in index.search(question)]


def make_pdf(text: str) -> bytes:
    """A PDF of one page."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
    ]
    data, offsets = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(data)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return data + b"xref\n0 5\n0000000000 65535 f \n%strailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        table,
        start,
    )


async def test_a_folder_is_indexed_whole_and_reported_document_by_document(
    folder: Path, index: LocalIndex, ingested: Ingested
) -> None:
    events = await ingested(folder)
    assert outcomes(events) == {
        "%E4%BF%AE%E7%90%86.md": "added",
        "manual.rst": "added",
        "notes.txt": "added",
        "repair.md": "added",
    }
    assert [(event.done, event.total) for event in events] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert index.totals() == IndexTotals(documents=4, passages=sum(event.passages for event in events))
    assert urls(index, "plane the chalk")[0] == "repair.md"
    assert urls(index, "経費精算")[0] == "%E4%BF%AE%E7%90%86.md"
    titles = {found.title for question in ("drawer", "hinges", "引き出し") for found in index.search(question)}
    assert titles == {"Repairing a drawer", "Notes about chests", "Manual", "引き出しの修理"}


async def test_a_second_time_nothing_is_read(folder: Path, ingested: Ingested, monkeypatch: pytest.MonkeyPatch) -> None:
    await ingested(folder)
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path} was read"))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert set(outcomes(await ingested(folder)).values()) == {"unchanged"}


async def test_only_what_changed_is_taken_in_again(folder: Path, index: LocalIndex, ingested: Ingested) -> None:
    await ingested(folder)
    (folder / "notes.txt").write_text("Notes about ebony and nothing else.\n")
    os.utime(folder / "manual.rst", ns=(1, 1))
    (folder / "new.md").write_text("# Teak\n\nTeak is oily.\n")
    assert outcomes(await ingested(folder)) == {
        "%E4%BF%AE%E7%90%86.md": "unchanged",
        "manual.rst": "unchanged",
        "new.md": "added",
        "notes.txt": "updated",
        "repair.md": "unchanged",
    }
    assert urls(index, "ebony") == ["notes.txt"]
    assert "notes.txt" not in urls(index, "chest oak")
    assert set(outcomes(await ingested(folder)).values()) == {"unchanged"}


async def test_documents_that_are_gone_are_removed_and_those_of_other_folders_stay(
    folder: Path, tmp_path: Path, index: LocalIndex, ingested: Ingested
) -> None:
    other = tmp_path / "docs-of-others"
    other.mkdir()
    (other / "a.md").write_text("Mahogany.")
    await ingested(folder, other)
    (folder / "repair.md").unlink()
    events = await ingested(folder)
    assert outcomes(events)["repair.md"] == "removed"
    assert events[-1].done == events[-1].total == 4
    assert urls(index, "chalk") == []
    assert urls(index, "mahogany") == ["a.md"]


async def test_a_folder_that_is_not_there_removes_nothing(folder: Path, index: LocalIndex, ingested: Ingested) -> None:
    await ingested(folder)
    folder.rename(folder.with_name("unmounted"))
    (event,) = await ingested(folder)
    assert (event.kind, event.reason) == ("failed", "No such file or directory")
    assert index.totals().documents == 4


async def test_a_folder_that_cannot_be_opened_is_reported_and_its_documents_stay(
    folder: Path, index: LocalIndex, ingested: Ingested, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ingested(folder)
    really = os.scandir

    def scandir(path: Path) -> object:
        if path == folder / "ja":
            raise PermissionError(13, "Permission denied")
        return really(path)

    monkeypatch.setattr(os, "scandir", scandir)  # the superuser may open any folder
    events = await ingested(folder)
    assert [(event.url, event.reason) for event in events if event.kind == "failed"] == [
        ((folder / "ja").as_uri(), "Permission denied")
    ]
    assert urls(index, "引き出し")


async def test_a_file_that_vanished_meanwhile_fails_and_the_rest_goes_on(tmp_path: Path) -> None:
    gone = FileFound(tmp_path / "gone.md", "markdown", 1, 1)
    assert await read_file(gone, None, max_bytes=100) == Failed("No such file or directory")


async def test_without_the_extra_html_fails_and_says_what_to_install(
    tmp_path: Path, ingested: Ingested, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise MissingExtra("trafilatura", "web")

    monkeypatch.setattr(documents, "_extractor", missing)
    (tmp_path / "page.html").write_text("<p>Oak</p>")
    (tmp_path / "text.md").write_text("Oak")
    events = await ingested(tmp_path / "page.html", tmp_path / "text.md")
    assert outcomes(events) == {"page.html": "failed", "text.md": "added"}
    assert "pip install 'hikidashi[web]'" in events[0].reason


async def test_what_is_not_a_document_is_left_alone(tmp_path: Path, ingested: Ingested) -> None:
    docs = tmp_path / "docs"
    for name in (".git/a.md", ".hidden.md", "node_modules/b.md", "code.py", "image.png", "sub/c.md", "README"):
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text("A drawer.")
    assert outcomes(await ingested(docs)) == {"README": "added", "c.md": "added"}


async def test_links_in_circles_end_and_a_file_is_taken_once(folder: Path, ingested: Ingested) -> None:
    (folder / "ja" / "up").symlink_to(folder)
    (folder / "self.md").symlink_to(folder / "self.md")
    (folder / "z-copy.md").symlink_to(folder / "repair.md")
    events = await ingested(folder)
    assert sum(event.kind == "added" for event in events) == 4
    assert {event.url.rpartition("/")[2] for event in events if event.kind != "added"} <= {"self.md"}


async def test_files_that_are_no_text_too_large_or_empty_are_skipped_with_the_reason(
    tmp_path: Path, ingested: Ingested
) -> None:
    (tmp_path / "binary.txt").write_bytes(b"\x7fELF\0\0\1")
    (tmp_path / "empty.md").write_text(" \n")
    (tmp_path / "large.txt").write_text("x" * 3_000_000)
    (tmp_path / "good.md").write_text("A drawer.")
    events = await ingested(tmp_path / "good.md", tmp_path, max_bytes=2 * 1024 * 1024)
    reasons = {event.url.rpartition("/")[2]: event.reason for event in events if event.kind == "skipped"}
    assert reasons == {
        "binary.txt": "it is not text",
        "empty.md": "it is empty",
        "large.txt": "it is larger than 2 MB",
    }
    assert {name: in_language(reason, "ja") for name, reason in reasons.items()} == {
        "binary.txt": "テキストではありません",
        "empty.md": "空です",
        "large.txt": "2 MB を超えています",
    }
    assert sum(event.kind == "added" for event in events) == 1


async def test_a_document_that_became_something_else_is_removed(
    tmp_path: Path, index: LocalIndex, ingested: Ingested
) -> None:
    (tmp_path / "a.txt").write_text("A drawer of oak.")
    await ingested(tmp_path / "a.txt")
    (tmp_path / "a.txt").write_bytes(b"\0\1\2\3")
    (event,) = await ingested(tmp_path / "a.txt")
    assert (event.kind, event.reason) == ("removed", "it is not text")
    assert index.search("oak") == []


async def test_a_file_named_alone_is_read_whatever_it_is_called(
    tmp_path: Path, index: LocalIndex, ingested: Ingested
) -> None:
    (tmp_path / "notes.weird").write_text("Rosewood smells sweet.")
    assert outcomes(await ingested(tmp_path / "notes.weird")) == {"notes.weird": "added"}
    assert urls(index, "rosewood") == ["notes.weird"]


async def test_what_is_neither_file_nor_folder_fails(tmp_path: Path, ingested: Ingested) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (event,) = await ingested(tmp_path / "pipe.md")
    assert (event.kind, event.reason) == ("failed", "it is neither a file nor a folder")
    assert await ingested(tmp_path) == []


async def test_html_and_pdf_are_read_and_a_broken_one_stops_nothing(
    tmp_path: Path, index: LocalIndex, ingested: Ingested
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    body = "<h2>Polish</h2>" + "<p>Shellac is dissolved in alcohol and rubbed on in thin coats.</p>" * 3
    (docs / "page.html").write_text(
        f"<html><head><title>Finishes</title></head><body><article>{body}</article></body></html>"
    )
    (docs / "paper.pdf").write_bytes(make_pdf("Ebonising with vinegar and iron"))
    (docs / "broken.pdf").write_bytes(b"%PDF-1.4 and then nothing")
    (docs / "z.md").write_text("Last.")
    events = await ingested(docs)
    assert outcomes(events) == {"broken.pdf": "failed", "page.html": "added", "paper.pdf": "added", "z.md": "added"}
    assert next(event.reason for event in events if event.kind == "failed") == "the PDF is damaged"
    assert [(found.title, found.url.rpartition("/")[2]) for found in index.search("shellac")] == [
        ("Finishes", "page.html")
    ]
    assert urls(index, "ebonising vinegar") == ["paper.pdf"]


async def test_other_encodings_are_read(tmp_path: Path, index: LocalIndex, ingested: Ingested) -> None:
    (tmp_path / "sjis.txt").write_bytes("引き出しの修理について説明します。溝に蝋を塗ってください。".encode("cp932"))
    (tmp_path / "utf16.txt").write_bytes("Rosewood smells sweet.".encode("utf-16"))
    await ingested(tmp_path / "sjis.txt", tmp_path / "utf16.txt")
    assert urls(index, "引き出しの蝋") == ["sjis.txt"]
    assert urls(index, "rosewood") == ["utf16.txt"]


async def test_a_document_without_heading_is_called_by_its_file(
    tmp_path: Path, index: LocalIndex, ingested: Ingested
) -> None:
    (tmp_path / "my drawer.md").write_text("Only text.")
    await ingested(tmp_path / "my drawer.md")
    (found,) = index.search("text")
    assert found.title == "my drawer.md"
    assert found.url.endswith("/my%20drawer.md")


async def test_no_sources_make_an_empty_index(index: LocalIndex, ingested: Ingested) -> None:
    assert await ingested() == []
    assert index.totals() == IndexTotals(documents=0, passages=0)


async def test_an_intake_that_is_left_keeps_what_it_reported(tmp_path: Path, index: LocalIndex) -> None:
    docs = tmp_path / "many"
    docs.mkdir()
    for number in range(100):
        (docs / f"{number}.md").write_text(f"# Name{number}\n\n" + "Some words in a sentence. " * 800)
    async with aclosing(ingest(index, [docs])) as events:
        first = await anext(events)
    assert first.url in index.urls()
    assert index.totals().documents < 100
    with index.writing():
        pass  # the lock is free again


async def test_a_second_intake_at_the_same_time_is_refused(folder: Path, index: LocalIndex, ingested: Ingested) -> None:
    with index.writing(), pytest.raises(WebIndexError, match="is being written by another process"):
        await ingested(folder)
