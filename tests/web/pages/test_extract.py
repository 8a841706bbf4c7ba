from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from hikidashi.errors import ErrorType, PageError
from hikidashi.web.pages.extract import Extractor, shared_extractor
from hikidashi.web.pages.fetch import Fetched
from hikidashi.web.pages.worker import WorkerDied, WorkerProcess, read_frame, write_frame

ARTICLE = """<!doctype html><title>Drawers &amp; tools</title>
<nav><a href=/>Home</a> <a href=/shop>Shop</a></nav>
<article><h1>Where tools live</h1>
<p>A drawer keeps every tool in its place, so that the hand finds it without a search.</p>
<p>Whoever puts a tool back after its use has it at once the next time, which is the whole secret of a tidy shop.</p>
<h2>Labels</h2><ul><li>One label per drawer</li><li>Large letters</li></ul>
<pre>drawer.open()\n    tool = drawer.take("saw")</pre>
</article><footer>Cookies are good for you</footer>"""
JAPANESE = (
    "<title>引き出し</title><article><h1>道具の場所</h1><p>引き出しは、すべての道具をその場所に置いておきます。"
    "使い終わった道具を元に戻す人は、次に使うとき、すぐに取り出せます。これが片づけの秘訣です。</p></article>"
)
HANGS_LEXBOR = b"<p>" + b"".join(b"<b a=%d>" % number for number in range(240)) + b"<p>word" * 40_000
"""A parser must open the 240 elements anew in each paragraph, and all of them before that."""


@pytest.fixture(scope="module")
def extractor() -> Iterator[Extractor]:
    extractor = Extractor(processes=1, timeout=30)
    yield extractor
    extractor.close()


def gone(pid: int, *, seconds: float = 30) -> bool:
    """Whether the process ends, and is no zombie either."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


async def test_an_article_is_read_as_markdown_without_what_surrounds_it(extractor: Extractor) -> None:
    page = await extractor.read(ARTICLE.encode(), content_type="text/html", url="https://a.example/")
    assert (page.url, page.title) == ("https://a.example/", "Drawers & tools")
    assert "# Where tools live" in page.raw_content
    assert "A drawer keeps every tool in its place" in page.raw_content
    assert "- Large letters" in page.raw_content
    assert "Cookies" not in page.raw_content
    assert "Shop\n" not in page.raw_content


@pytest.mark.parametrize("encoding", ["utf-8", "cp932", "euc_jp", "iso2022_jp", "utf-16"])
async def test_japanese_pages_are_read_in_every_encoding(extractor: Extractor, encoding: str) -> None:
    page = await extractor.read(JAPANESE.encode(encoding), content_type="text/html")
    assert page.title == "引き出し"
    assert "使い終わった道具を元に戻す人は、次に使うとき、すぐに取り出せます。" in page.raw_content


async def test_a_fetched_page_is_read_by_the_processes_of_the_program() -> None:
    fetched = Fetched(
        url="https://a.example/",
        final_url="https://b.example/",
        status=200,
        content_type="text/plain",
        charset="shift_jis",
        body="道具".encode("cp932"),
    )
    page = await shared_extractor().extract(fetched)
    assert (page.url, page.raw_content, page.title) == ("https://a.example/", "道具", None)
    assert shared_extractor().pids


@pytest.mark.parametrize(
    ("body", "content_type", "reason"),
    [
        (b"<p></p>", "text/html", "the page has no text"),
        (b"", "text/html", "the page has no text"),
        (b"PK\x03\x04\x00\x00", "application/zip", "it is application/zip, which has no text to extract"),
        (b"PK\x03\x04\x00\x00", "", "it is a binary file, which has no text to extract"),
        (b"%PDF-1.4 broken", "application/pdf", "the PDF is damaged"),
        (b"%PDF-1.4 broken", "text/html", "the PDF is damaged"),
    ],
)
async def test_a_page_without_text_says_why(extractor: Extractor, body: bytes, content_type: str, reason: str) -> None:
    with pytest.raises(PageError) as failed:
        await extractor.read(body, content_type=content_type, url="https://a.example/")
    assert (failed.value.reason, failed.value.error_type) == (reason, ErrorType.API_ERROR)


async def test_one_process_reads_page_after_page(extractor: Extractor) -> None:
    await extractor.read(b"one", content_type="text/plain")
    [first] = extractor.pids
    await extractor.read(b"two", content_type="text/plain")
    assert extractor.pids == [first]


async def test_a_process_that_dies_between_pages_is_replaced(extractor: Extractor) -> None:
    await extractor.read(b"one", content_type="text/plain")
    [first] = extractor.pids
    os.kill(first, signal.SIGKILL)
    page = await extractor.read(b"two", content_type="text/plain")
    assert page.raw_content == "two"
    assert extractor.pids != [first]


async def test_a_process_that_crashes_over_a_page_is_replaced_and_the_page_read(extractor: Extractor) -> None:
    await extractor.read(b"one", content_type="text/plain")
    [first] = extractor.pids
    os.kill(first, signal.SIGSTOP)
    reading = asyncio.create_task(extractor.read(ARTICLE.encode(), content_type="text/html"))
    await asyncio.sleep(0)
    os.kill(first, signal.SIGSEGV)
    os.kill(first, signal.SIGCONT)
    page = await reading
    assert "A drawer keeps every tool in its place" in page.raw_content
    assert extractor.pids != [first]


async def test_a_page_that_hangs_the_parser_is_killed_and_read_plainly() -> None:
    extractor = Extractor(processes=1, timeout=2)
    try:
        page = await extractor.read(HANGS_LEXBOR, content_type="text/html")
    finally:
        extractor.close()
    assert page.raw_content.startswith("word\nword")
    assert extractor.pids == []


async def test_a_page_that_cannot_be_read_in_time_at_all_fails_honestly() -> None:
    extractor = Extractor(processes=1, timeout=0.0001)
    try:
        with pytest.raises(PageError, match="the page could not be parsed"):
            await extractor.read(HANGS_LEXBOR, content_type="text/html", url="https://a.example/")
        with pytest.raises(PageError, match="the PDF took more time or memory than allowed"):
            await extractor.read(b"%PDF-" + b" " * 5_000_000, content_type="application/pdf")
    finally:
        extractor.close()


async def test_a_page_that_needs_too_much_memory_fails_and_the_next_is_read() -> None:
    extractor = Extractor(processes=1, timeout=30, memory=200 << 20)
    try:
        with pytest.raises(PageError, match="the page could not be parsed"):
            await extractor.read(b"<p>word</p>" * 8_000_000, content_type="text/html")
        assert (await extractor.read(b"next", content_type="text/plain")).raw_content == "next"
    finally:
        extractor.close()


async def test_a_cancelled_reading_does_not_hinder_the_next(extractor: Extractor) -> None:
    task = asyncio.create_task(extractor.read(ARTICLE.encode() * 20, content_type="text/html"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await extractor.read(b"next", content_type="text/plain")).raw_content == "next"


def test_one_extractor_serves_several_event_loops(extractor: Extractor) -> None:
    texts = [asyncio.run(extractor.read(b"x", content_type="text/plain")).raw_content for _ in range(2)]
    assert texts == ["x", "x"]


async def test_closing_ends_the_process_and_leaves_no_zombie() -> None:
    extractor = Extractor(processes=1)
    await extractor.read(b"x", content_type="text/plain")
    [pid] = extractor.pids
    extractor.close()
    extractor.close()
    assert extractor.pids == []
    assert gone(pid, seconds=1)


def test_an_idle_process_ends() -> None:
    worker = WorkerProcess(memory=1 << 30, idle_seconds=0.01)
    worker.call({"content_type": "text/plain"}, b"x", seconds=30)
    end = time.monotonic() + 30
    while worker.pid is not None and time.monotonic() < end:
        time.sleep(0.01)
    assert worker.pid is None


@pytest.mark.parametrize("kept", [0, 3, 8, 20])
def test_a_frame_that_breaks_off_is_no_frame(kept: int) -> None:
    pipe = BytesIO()
    write_frame(pipe, {"way": 1}, b"body")
    assert read_frame(BytesIO(pipe.getvalue())) == ({"way": 1}, b"body")
    assert read_frame(BytesIO(pipe.getvalue()[:kept])) is None


def test_a_python_that_is_not_there_is_a_dead_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    with pytest.raises(WorkerDied, match="could not be started"):
        WorkerProcess(memory=1 << 30).call({}, b"", seconds=30)


# No `if __name__ == "__main__"`, on purpose.
PROGRAM = """
import asyncio, os, signal, sys, threading, time
from hikidashi.web.pages.extract import shared_extractor

extractor = shared_extractor()
asyncio.run(extractor.read(b"x", content_type="text/plain"))
print(*extractor.pids, flush=True)
if sys.argv[1] == "busy":
    extractor.timeout = 3
    body = b"<p>" + b"".join(b"<b a=%d>" % number for number in range(240)) + b"<p>word" * 100_000
    threading.Thread(target=lambda: asyncio.run(extractor.read(body, content_type="text/html")), daemon=True).start()
    time.sleep(0.3)
if sys.argv[1] != "ends":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("end", ["ends", "idle", "busy"])
def test_a_worker_does_not_outlive_its_program(end: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    ran = subprocess.run(
        [sys.executable, "-W", "error", program, end], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == (0 if end == "ends" else -signal.SIGKILL)
    assert ran.stderr == ""
    assert gone(int(ran.stdout.split()[0]))


FORKS = """
import asyncio, os, warnings
from hikidashi.web.pages.extract import shared_extractor

warnings.simplefilter("ignore")
async def read():
    return (await shared_extractor().read(b"x", content_type="text/plain")).raw_content

first = asyncio.run(read())
if (child := os.fork()) == 0:
    os._exit(0 if asyncio.run(read()) == "x" else 1)
print(first, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), asyncio.run(read()))
"""


def test_a_program_may_fork(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(FORKS)
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120, check=False)
    assert (ran.stdout, ran.stderr) == ("x 0 x\n", "")


async def test_the_worker_does_not_see_the_keys_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-test")
    extractor = Extractor(processes=1)
    try:
        await extractor.read(b"x", content_type="text/plain")
        [pid] = extractor.pids
        assert b"tvly-test" not in Path(f"/proc/{pid}/environ").read_bytes()
    finally:
        extractor.close()
