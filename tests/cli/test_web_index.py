"""`hikidashi web index`, `list`, `remove` and `stats` as people and programs run them."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hikidashi.testing.server import Exchange, LoopbackServer

Command = Callable[..., "subprocess.CompletedProcess[str]"]
Web = Callable[..., "subprocess.CompletedProcess[str]"]

NO_TEXT = (
    b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
    b"2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n"
    b"3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>\nendobj\n"
    b"xref\n0 4\n0000000000 65535 f \n0000000009 00000 n \n0000000058 00000 n \n0000000115 00000 n \n"
    b"trailer\n<< /Size 4 /Root 1 0 R >>\nstartxref\n181\n%%EOF"
)


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "drawers.md").write_text("---\ndate: 2026-03-04\n---\n# Drawers\n\nA drawer holds every tool.\n")
    (folder / "祝日.md").write_text("# 祝日\n\n日本の祝日は16日あります。\n")
    os.utime(folder / "祝日.md", (1_500_000_000, 1_500_000_000))
    return folder


def test_documents_are_listed_and_removed(web: Web, documents: Path) -> None:
    web("index", str(documents))
    listed = web("list")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert listed.stdout == (
        f"2017-07-14     1  祝日  {documents / '祝日.md'}\n2026-03-04     1  Drawers  {documents / 'drawers.md'}\n"
    )
    found = json.loads(web("list", str(documents / "祝日.md"), "--json").stdout)["documents"]
    assert [(one["title"], one["kind"], one["day"], one["passages"]) for one in found] == [
        ("祝日", "markdown", "2017-07-14", 1)
    ]
    done = web("remove", str(documents / "祝日.md"), str(documents / "nowhere.md"), "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert report["removed"] == [(documents / "祝日.md").as_uri()]
    assert report["unknown"] == [str(documents / "nowhere.md")]
    assert done.stderr == f"✗ {documents / 'nowhere.md'}: not in the index\n"
    assert (documents / "祝日.md").exists()
    rest = web("remove", str(documents), "--lang", "ja")
    assert (rest.returncode, rest.stdout, rest.stderr) == (0, "削除 1 件\n", "")
    empty = web("list")
    assert (empty.returncode, empty.stdout) == (1, "")
    assert empty.stderr.startswith("There are no documents in ")


def test_an_index_says_how_much_it_holds(web: Web, documents: Path, home: dict[str, str]) -> None:
    web("index", str(documents))
    path = Path(home["XDG_DATA_HOME"], "hikidashi", "web.db")
    stats = json.loads(web("stats", "--json").stdout)
    assert stats.pop("bytes") > 4096
    assert stats == {
        "index": str(path),
        "documents": 2,
        "passages": 2,
        "kinds": {"markdown": 2},
        "first_day": "2017-07-14",
        "last_day": "2026-03-04",
    }
    shown = web("stats", "--lang", "ja")
    assert shown.returncode == 0
    assert "文書: 2\n" in shown.stdout
    assert "日付: 2017-07-14 – 2026-03-04\n" in shown.stdout
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("arguments", [("list",), ("stats",), ("remove", "x.md")])
def test_without_an_index_there_is_nothing_to_show_and_none_is_made(
    web: Web, home: dict[str, str], arguments: tuple[str, ...]
) -> None:
    done = web(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Run `hikidashi web index PATH`" in done.stderr
    assert not Path(home["XDG_DATA_HOME"]).exists()


def test_a_pdf_without_text_is_skipped_with_the_reason(web: Web, documents: Path) -> None:
    (documents / "scan.pdf").write_bytes(NO_TEXT)
    done = web("index", str(documents))
    assert done.returncode == 0
    assert done.stdout.startswith("2 added, 1 skipped\n")
    assert done.stderr == f"- {documents / 'scan.pdf'}: the PDF has no text, perhaps only images\n"
    again = json.loads(web("index", str(documents), "--json").stdout)
    assert [one["reason"] for one in again["skipped"]] == ["the PDF has no text, perhaps only images"]


class Site(LoopbackServer):
    def handle(self, exchange: Exchange) -> None:
        exchange.answer(200, b"<p>never reached</p>", {"content-type": "text/html"})


def test_a_site_on_this_machine_is_not_crawled(web: Web) -> None:
    with Site() as site:
        done = web("index", f"{site.url}/", "--depth", "2", "--limit", "5", "--json")
        address = f"{site.url}/"
    assert done.returncode == 1
    assert [(one["url"], one["reason"]) for one in json.loads(done.stdout)["failed"]] == [
        (address, "only the ports 80 and 443 are allowed")
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--limit", "5"), "--limit needs --depth"),
        (("--depth", "6"), "Invalid value for '--depth'"),
        (("--watch",), "--watch needs a folder or file"),
    ],
)
def test_options_that_make_no_sense_are_wrong_usage(web: Web, arguments: tuple[str, ...], words: str) -> None:
    done = web("index", "https://example.com/", *arguments)
    assert done.returncode == 2
    assert words in done.stderr


@contextmanager
def watching(home: dict[str, str], *arguments: str) -> Generator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "hikidashi", "web", "index", *arguments, "--watch"],
        env={**os.environ, **home},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def test_changes_are_indexed_while_it_watches_and_ctrl_c_ends_it(
    web: Web, documents: Path, home: dict[str, str]
) -> None:
    with watching(home, str(documents), "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["added"] == 2
        assert process.stderr.readline() == "Watching for changes. Ctrl-C ends it.\n"
        (documents / "new.md").write_text("# Ebony\n\nEbony is black.\n")
        assert json.loads(process.stdout.readline())["added"] == 1
        (documents / "drawers.md").unlink()
        assert json.loads(process.stdout.readline())["removed"] == 1
        assert "Ebony is black." in web("search", "ebony").stdout
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
        assert (process.returncode, output, errors) == (0, "", "")


def test_the_ranking_by_meaning_is_an_option_of_the_local_index(web: Web, documents: Path) -> None:
    web("index", str(documents))
    by_words, by_meaning = (
        json.loads(web("search", "drawer", "--json", "--ranker", ranker).stdout)["results"][0]
        for ranker in ("lexical", "hybrid")
    )
    assert by_words["url"] == by_meaning["url"]
    without = web("search", "drawer", "--ranker", "hybrid", without=("hikidashi_encoder",))
    assert (without.returncode, without.stderr) == (
        1,
        "error: `hikidashi_encoder` is not installed. Run: pip install hikidashi\n",
    )
    other = web("search", "drawer", "--ranker", "hybrid", "--provider", "tavily", TAVILY_API_KEY="tvly-test")
    assert (other.returncode, "--ranker belongs to --provider local, not tavily." in other.stderr) == (2, True)


@pytest.mark.parametrize("address", ["http://[", "https://\u2100.example/"])
def test_an_address_that_is_none_is_that_addresss_failure(web: Web, documents: Path, address: str) -> None:
    done = web("index", address, str(documents))
    assert (done.returncode, done.stdout.startswith("2 added, 1 failed\n")) == (1, True)
    assert done.stderr == f"✗ {address}: it names no valid host\n"
