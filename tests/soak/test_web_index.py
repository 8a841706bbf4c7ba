"""The index under kill -9, again and again, with readers beside it: slow, so `make soak` only."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hikidashi.web.local import LocalIndex

pytestmark = pytest.mark.soak

INTAKE = """
import asyncio, sys
from hikidashi.web.local import LocalIndex, ingest

async def run():
    async for event in ingest(LocalIndex(sys.argv[1]), [sys.argv[2]]):
        print(event.kind, event.url, flush=True)

asyncio.run(run())
"""
DOCUMENTS = 150
CHANGED = 60
ROUNDS = 40


def write(docs: Path, number: int, version: int) -> str:
    text = f"# Drawer {number}\n\n" + f"Version{version} of number{number} stands here. 引き出し{number}番。" * 150
    (docs / f"{number:03}.md").write_text(text)
    return text


def test_forty_killed_intakes_lose_nothing_that_they_reported(tmp_path: Path) -> None:
    docs, path, chance = tmp_path / "docs", tmp_path / "web.db", random.Random(11)
    docs.mkdir()
    index = LocalIndex(path)
    versions = {number: [write(docs, number, 0)] for number in range(DOCUMENTS)}
    safe: dict[int, int] = {}  # which version of a document was reported
    killed = 0
    for version in range(1, ROUNDS + 1):
        with subprocess.Popen(
            [sys.executable, "-c", INTAKE, str(path), str(docs)], stdout=subprocess.PIPE, text=True
        ) as intake:
            assert intake.stdout is not None
            # Killed by what it has done and not by a clock, so that a fast machine kills as many as a slow one.
            last = chance.randrange(CHANGED)
            for at, line in enumerate(intake.stdout):
                if line.endswith("\n"):
                    number = int(line.rpartition("/")[2].removesuffix(".md\n"))
                    safe[number] = len(versions[number]) - 1
                if at == last:
                    intake.send_signal(signal.SIGKILL)
            killed += intake.wait() == -signal.SIGKILL
        for number, reported in safe.items():
            stored = index.document((docs / f"{number:03}.md").as_uri())
            assert stored is not None
            # A newer version may have been written, and the end have come before it was reported; it is there whole.
            assert stored.text in versions[number][reported:]
            assert any(found.url == stored.url for found in index.search(f"number{number}"))
        for number in chance.sample(range(DOCUMENTS), CHANGED):
            versions[number].append(write(docs, number, version))
    assert killed > ROUNDS // 2
    with index.writing() as writer:
        writer._connection.execute("INSERT INTO words(words) VALUES ('integrity-check')")
        assert writer._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    index.close()


def test_readers_see_whole_documents_while_they_are_replaced(tmp_path: Path) -> None:
    docs, path = tmp_path / "docs", tmp_path / "web.db"
    docs.mkdir()
    for number in range(60):
        write(docs, number, 0)
    index = LocalIndex(path)
    subprocess.run([sys.executable, "-c", INTAKE, str(path), str(docs)], check=True, stdout=subprocess.DEVNULL)
    urls, wrong, done = index.urls(), list[str](), threading.Event()

    def read() -> None:
        chance = random.Random(threading.get_ident())
        while not done.is_set():
            stored = index.document(chance.choice(urls))
            if stored is None or len({word for word in stored.text.split() if word.startswith("Version")}) != 1:
                wrong.append(repr(stored)[:200])
            index.search(f"number{chance.randrange(60)} 引き出し")

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for version in range(1, 11):
        for number in range(60):
            write(docs, number, version)
        subprocess.run([sys.executable, "-c", INTAKE, str(path), str(docs)], check=True, stdout=subprocess.DEVNULL)
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    index.close()
