"""`hikidashi web` as people and programs run it: a process of its own, with a home of its own."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer
from mcp import Client, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from rich.cells import cell_len
from tavily import TavilyClient  # pyright: ignore[reportMissingTypeStubs]
from typer.testing import CliRunner

from hikidashi.cli.app import app
from hikidashi.cli.web import local_index
from hikidashi.testing import TavilyPage, TavilyServer, tavily_fault
from hikidashi.web.local import IngestEvent

FRAMEWORKS = ("pydantic_ai", "claude_agent_sdk", "mcp", "strands", "anthropic", "tavily")
COMMANDS = ("search", "extract", "context", "index", "list", "remove", "stats", "serve", "mcp")
PAGES = [
    TavilyPage(
        "Sourdough", "https://bread.example/sourdough", "Bread that rises without yeast.", "# Sourdough\n\nLong."
    ),
    TavilyPage("京都の電車", "https://kyoto.example/ja/densha", "京都駅から金閣寺までの行き方。"),
]

Command = Callable[..., "subprocess.CompletedProcess[str]"]
Web = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def tavily(tavily_server: Callable[..., TavilyServer]) -> TavilyServer:
    return tavily_server(PAGES)


def failed(done: subprocess.CompletedProcess[str]) -> str:
    """What a command that failed said, in one line."""
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize("arguments", [(), *((name,) for name in COMMANDS)])
def test_every_command_has_help_with_examples_that_fits_80_columns(web: Web, arguments: tuple[str, ...]) -> None:
    done = web(*arguments, "--help", without=(*FRAMEWORKS, "rich", "httpx"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "Examples:\n    hikidashi web" in done.stdout
    assert max(map(cell_len, done.stdout.splitlines())) <= 80


def test_a_search_prints_the_format_of_the_tools(web: Web, tavily: TavilyServer) -> None:
    done = web("search", "bread", "--base-url", tavily.url, TAVILY_API_KEY="tvly-test")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "## Search results: bread\n\n"
        "### 1. Sourdough\n"
        "URL: https://bread.example/sourdough\n"
        "Score: 0.90\n"
        "Bread that rises without yeast.\n"
    )


@pytest.mark.parametrize("options", [("--lang", "ja"), ()])
def test_the_language_is_asked_for_or_that_of_the_environment(
    web: Web, tavily: TavilyServer, options: tuple[str, ...]
) -> None:
    done = web("search", "金閣寺", *options, "--base-url", tavily.url, TAVILY_API_KEY="tvly-test", LC_ALL="ja_JP.UTF-8")
    assert done.stdout.startswith(
        "## 検索結果: 金閣寺\n\n### 1. 京都の電車\nURL: https://kyoto.example/ja/densha\nスコア: "
    )


def test_options_reach_the_provider(web: Web, tavily: TavilyServer) -> None:
    done = web(
        *("search", "bread", "--max-results", "3", "--depth", "advanced", "--answer", "--no-cache"),
        *("--base-url", tavily.url, "--provider", "tavily"),
        TAVILY_API_KEY="tvly-test",
    )
    assert done.returncode == 0
    assert done.stdout.endswith("\n\n> Bread that rises without yeast.\n")
    body = tavily.requests[0].body
    assert (body["max_results"], body["search_depth"], body["include_answer"]) == (3, "advanced", True)


def test_filters_and_reading_options_reach_the_provider(web: Web, tavily: TavilyServer) -> None:
    asked = ("--base-url", tavily.url, "--provider", "tavily")
    searched = web(
        *("search", "bread", "--topic", "news", "--time-range", "week", "--country", "Japan"),
        *("--include-domain", "bread.example", "--include-domain", "kyoto.example", "--exclude-domain", "x.example"),
        *asked,
        TAVILY_API_KEY="tvly-test",
    )
    packed = web("context", "bread", "--start-date", "2026-01-02", *asked, TAVILY_API_KEY="tvly-test")
    read = web(
        *("extract", PAGES[0].url, "--depth", "advanced", "--format", "text", "--query", "yeast", "--chunks", "2"),
        *asked,
        TAVILY_API_KEY="tvly-test",
    )
    assert [searched.returncode, packed.returncode, read.returncode] == [0, 0, 0]
    filters, dates, reading = (request.body for request in tavily.requests)
    assert {
        name: filters[name] for name in ("topic", "time_range", "country", "include_domains", "exclude_domains")
    } == {
        "topic": "news",
        "time_range": "week",
        "country": "japan",
        "include_domains": ["bread.example", "kyoto.example"],
        "exclude_domains": ["x.example"],
    }
    assert dates["start_date"] == "2026-01-02"
    assert [reading[name] for name in ("extract_depth", "format", "query", "chunks_per_source")] == [
        "advanced",
        "text",
        "yeast",
        2,
    ]


@pytest.mark.parametrize("option", [("--country", "japan"), ("--topic", "news")])
def test_a_filter_that_the_provider_lacks_is_refused_by_name(web: Web, option: tuple[str, str]) -> None:
    said = failed(web("search", "bread", "--provider", "local", *option, "--lang", "en"))
    assert f"The local index cannot do `{option[0].strip('-')}` ({option[1]!r})." in said


def test_a_search_as_json(web: Web, tavily: TavilyServer) -> None:
    done = web("search", "京都駅", "--json", "--base-url", tavily.url, TAVILY_API_KEY="tvly-test")
    assert "京都の電車" in done.stdout
    found = json.loads(done.stdout)
    assert found["results"] == [
        {
            "title": "京都の電車",
            "url": "https://kyoto.example/ja/densha",
            "content": "京都駅から金閣寺までの行き方。",
            "score": 0.95,
            "published_date": None,
        }
    ]
    assert (found["query"], found["provider"], found["cached"], found["credits"]) == ("京都駅", "tavily", False, 1)


def test_nothing_found_is_said_and_ends_with_1(web: Web, tavily: TavilyServer) -> None:
    done = web("search", "quantum", "--base-url", tavily.url, TAVILY_API_KEY="tvly-test")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "## Search results: quantum\n\nNo results were found.\n"
    as_json = web("search", "quantum", "--json", "--base-url", tavily.url, TAVILY_API_KEY="tvly-test")
    assert (as_json.returncode, json.loads(as_json.stdout)["results"]) == (1, [])


def test_the_same_search_is_paid_once_unless_told_otherwise(web: Web, tavily: TavilyServer) -> None:
    search = ("search", "bread", "--json", "--base-url", tavily.url)
    cached = [
        json.loads(web(*search, *options, TAVILY_API_KEY="tvly-test").stdout)["cached"]
        for options in ((), (), ("--no-cache",))
    ]
    assert cached == [False, True, False]
    assert len(tavily.requests) == 2


def test_an_extraction_prints_texts_and_what_failed(web: Web, tavily: TavilyServer) -> None:
    urls = ("https://bread.example/sourdough", "http://10.0.0.1/", "https://nowhere.example/")
    done = web("extract", *urls, "--base-url", tavily.url, TAVILY_API_KEY="tvly-test")
    assert done.returncode == 0
    assert done.stdout.startswith(
        "## Extracted content\n\n### URL: https://bread.example/sourdough\n# Sourdough\n\nLong.\n\n---\n\n"
        "## Failed URLs\n"
    )
    assert "- http://10.0.0.1/: " in done.stdout
    assert "- https://nowhere.example/: " in done.stdout
    assert tavily.requests[0].urls == ["https://bread.example/sourdough", "https://nowhere.example/"]


def test_an_extraction_of_nothing_ends_with_1(web: Web, tavily: TavilyServer) -> None:
    done = web("extract", "https://nowhere.example/", "--json", "--base-url", tavily.url, TAVILY_API_KEY="tvly-test")
    assert done.returncode == 1
    assert [page["url"] for page in json.loads(done.stdout)["failed_results"]] == ["https://nowhere.example/"]


def test_a_context_is_printed_and_bounded(web: Web, tavily: TavilyServer) -> None:
    done = web("context", "bread", "--base-url", tavily.url, TAVILY_API_KEY="tvly-test")
    assert done.returncode == 0
    assert done.stdout.startswith("## Search context for RAG: bread\n\n")
    assert "https://bread.example/sourdough" in done.stdout
    short = web(
        "context", "bread", "--max-tokens", "20", "--json", "--base-url", tavily.url, TAVILY_API_KEY="tvly-test"
    )
    assert 0 < json.loads(short.stdout)["tokens"] <= 20
    nothing = web("context", "quantum", "--base-url", tavily.url, TAVILY_API_KEY="tvly-test")
    assert (nothing.returncode, nothing.stderr) == (1, "")


def test_a_failure_is_one_line_with_what_to_do(web: Web, tavily_server: Callable[..., TavilyServer]) -> None:
    refusing = tavily_server(PAGES, faults=[tavily_fault.unauthorized()])
    said = failed(web("search", "bread", "--base-url", refusing.url, TAVILY_API_KEY="tvly-test"))
    assert "Check the key." in said
    assert "tvly-test" not in said


def test_bad_values_are_failures_that_name_them(web: Web) -> None:
    assert "max_results" in failed(web("search", "bread", "--max-results", "21", "--provider", "local"))
    assert "1000" in failed(web("search", "b" * 1001, "--provider", "local"))
    assert "max_tokens" in failed(web("context", "bread", "--max-tokens", "0", "--provider", "local"))


def test_tavily_without_a_key_is_not_asked(web: Web, tavily_server: Callable[..., TavilyServer]) -> None:
    keyless = tavily_server(PAGES, keyless=True)
    said = failed(web("search", "bread", "--provider", "tavily", "--base-url", keyless.url))
    assert "Set TAVILY_API_KEY, or use --provider local, or --keyless." in said
    assert keyless.requests == []
    done = web("search", "bread", "--provider", "tavily", "--keyless", "--base-url", keyless.url)
    assert done.returncode == 0
    assert keyless.requests[0].headers["x-tavily-access-mode"] == "keyless"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("search",), "Missing argument"),
        (("search", "x", "--provider", "google"), "google"),
        (("search", "x", "--depth", "deep"), "deep"),
        (("search", "x", "--provider", "searxng"), "--provider searxng needs --base-url URL, or SEARXNG_URL."),
        (
            ("search", "x", "--base-url", "http://127.0.0.1"),
            "--base-url needs --provider tavily or --provider searxng.",
        ),
        (("search", "x", "--keyless"), "--keyless belongs to --provider tavily."),
        (("search", "x", "--index", "a.db", "--provider", "searxng"), "--index belongs to --provider local"),
        (("serve", "--host", "0.0.0.0"), "give --api-key KEY"),
        (("serve", "--port", "70000"), "'--port': Input should be less than or equal to 65535"),
        (("index",), "Missing argument"),
    ],
)
def test_wrong_usage_ends_with_2(home: dict[str, str], arguments: tuple[str, ...], words: str) -> None:
    unset = dict.fromkeys(("TAVILY_API_KEY", "SEARXNG_URL", "HIKIDASHI_WEB_API_KEY"))
    done = CliRunner().invoke(app, ["web", *arguments], env={**home, **unset})
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in " ".join(done.stderr.split())


def test_wrong_usage_has_no_traceback(web: Web) -> None:
    done = web("search", "x", "--keyless")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_package_is_named_with_its_extra(web: Web) -> None:
    said = failed(web("search", "bread", TAVILY_API_KEY="tvly-test", without=("tavily",)))
    assert said.endswith("Run: pip install 'hikidashi[tavily]'\n")


def on_a_terminal(*arguments: str, **environment: str) -> tuple[str, int]:
    """What a terminal of 80 columns gets, and the exit code."""
    terminal, end = pty.openpty()
    process = subprocess.Popen(  # not `pty.fork`, of which Python 3.12 warns where there are threads, as in a worker
        [sys.executable, "-m", "hikidashi", *arguments],
        env=environment,
        stdin=end,
        stdout=end,
        stderr=end,
        start_new_session=True,
    )
    os.close(end)
    seen = b""
    while True:
        try:
            read = os.read(terminal, 65536)
        except OSError:  # how Linux tells the end
            break
        if not read:
            break
        seen += read
    os.close(terminal)
    return seen.decode().replace("\r\n", "\n"), process.wait()


@pytest.fixture
def terminal_environment(home: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_KEY", "_TOKEN", "_URL"))}
    colours = {"TERM": "xterm-256color", "COLUMNS": "80", "LANG": "C.UTF-8", "LC_ALL": ""}
    kept.pop("NO_COLOR", None)
    return {**kept, **home, **colours, "TAVILY_API_KEY": "tvly-test"}


def test_a_terminal_gets_colours_and_nothing_it_would_obey(
    tavily_server: Callable[..., TavilyServer], terminal_environment: dict[str, str]
) -> None:
    nasty = TavilyPage("Wipe\x1b[2J", "https://x.example/", "Wipe\x07 the \u202escreen\x9b2J\nsecond line")
    server = tavily_server([nasty])
    seen, code = on_a_terminal("web", "search", "wipe", "--base-url", server.url, **terminal_environment)
    assert code == 0
    assert "\x1b[1;36m### 1. Wipe\x1b[0m\n" in seen
    assert "\nWipe the screen2J\nsecond line\n" in seen
    assert "from tavily · 1 credit" in seen
    assert "\x1b[2J" not in seen


def test_no_color_is_respected_on_a_terminal(tavily: TavilyServer, terminal_environment: dict[str, str]) -> None:
    environment = {**terminal_environment, "NO_COLOR": "1"}
    seen, _ = on_a_terminal("web", "search", "金閣寺", "--lang", "ja", "--base-url", tavily.url, **environment)
    assert "\x1b[3" not in seen
    assert "提供: tavily · 1クレジット" in seen


class Serving:
    """`hikidashi web serve` in a process of its own."""

    def __init__(self, *arguments: str, env: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hikidashi", "web", "serve", *arguments],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        self.url = self.said.split()[-1] if self.said else ""
        self._told = ""
        assert self.process.stderr is not None
        while "Ctrl-C" not in self._told and (line := self.process.stderr.readline()):
            self._told += line

    def ended(self, number: signal.Signals) -> tuple[int, str]:
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, self._told + errors


@pytest.fixture
def serving(terminal_environment: dict[str, str]) -> Iterator[Callable[..., Serving]]:
    started: list[Serving] = []

    def start(*arguments: str, **environment: str) -> Serving:
        started.append(Serving(*arguments, env={**terminal_environment, **environment}))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.communicate()


def behind(server: TavilyServer) -> tuple[str, ...]:
    return ("--provider", "tavily", "--base-url", server.url)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_answers_tavily_clients_until_it_is_told_to_end(
    tavily: TavilyServer, serving: Callable[..., Serving], number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = serving("--port", "0", *behind(tavily))
    assert server.said.startswith("Serving tavily on http://127.0.0.1:")
    client: Any = TavilyClient("any-key", api_base_url=server.url)
    with client:
        found = client.search("bread")
    assert [hit["title"] for hit in found["results"]] == ["Sourdough"]
    assert httpx.post(f"{server.url}/search", json={"query": " "}, trust_env=False).status_code == 400
    code, errors = server.ended(number)
    assert code == 0
    assert f"TavilyClient('any-key', api_base_url='{server.url}')" in errors
    assert "POST /search 200 " in errors
    assert "POST /search 400 " in errors
    assert errors.endswith("Ended.\n")
    assert "bread" not in errors


def test_serve_asks_for_its_key_and_never_shows_it(tavily: TavilyServer, serving: Callable[..., Serving]) -> None:
    server = serving("--port", "0", *behind(tavily), HIKIDASHI_WEB_API_KEY="tvly-guests")
    question = {"query": "bread"}
    refused = httpx.post(f"{server.url}/search", json=question, trust_env=False)
    headers = {"authorization": "Bearer tvly-guests"}
    taken = httpx.post(f"{server.url}/search", json=question, headers=headers, trust_env=False)
    assert (refused.status_code, taken.status_code) == (401, 200)
    _, errors = server.ended(signal.SIGINT)
    assert "tvly-guests" not in errors
    assert "Bearer YOUR-KEY" in errors


def test_serve_says_when_its_port_is_in_use(web: Web) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        said = failed(web("serve", "--port", port, "--provider", "searxng", "--base-url", "http://127.0.0.1:9"))
    assert said == (
        f"error: Port {port} of 127.0.0.1 is in use. Stop the program that uses it, or choose another port.\n"
    )


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "drawers.md").write_text("# Drawers\n\nA drawer holds every tool an agent has.\n", encoding="utf-8")
    (folder / "祝日.md").write_text("# 祝日\n\n日本の祝日は16日あります。\n", encoding="utf-8")
    return folder


def test_documents_are_indexed_and_found(web: Web, documents: Path, home: dict[str, str]) -> None:
    first = web("index", str(documents))
    path = Path(home["XDG_DATA_HOME"], "hikidashi", "web.db")
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == f"2 added\n2 documents, 2 passages in {path}\n"
    found = json.loads(web("search", "祝日", "--json").stdout)
    assert [hit["url"] for hit in found["results"]] == [(documents / "祝日.md").as_uri()]
    assert found["provider"] == "local"
    assert "A drawer holds every tool" in web("context", "drawer").stdout
    assert "A drawer holds every tool" in web("extract", (documents / "drawers.md").as_uri()).stdout


def test_only_what_changed_is_read_again(web: Web, documents: Path) -> None:
    web("index", str(documents))
    (documents / "祝日.md").unlink()
    (documents / "drawers.md").write_text("# Drawers\n\nChanged.\n", encoding="utf-8")
    (documents / "new.txt").write_text("Something new.", encoding="utf-8")
    again = web("index", str(documents), "--lang", "ja")
    assert again.stdout.startswith("追加 1 件、更新 1 件、削除 1 件\n文書 2 件、パッセージ 2 件（")
    assert web("index", str(documents)).stdout.startswith("2 unchanged\n")


def test_what_cannot_be_read_is_told_and_the_rest_is_indexed(web: Web, documents: Path, tmp_path: Path) -> None:
    (documents / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    missing = tmp_path / "nowhere"
    done = web("index", str(documents), str(missing), "http://127.0.0.1:1/", "--lang", "ja")
    assert done.returncode == 1
    assert done.stdout.startswith("追加 2 件、失敗 3 件\n")
    complaints = done.stderr.splitlines()
    assert len(complaints) == 3
    assert f"✗ {missing}: " in done.stderr
    assert f"✗ {documents / 'broken.pdf'}: PDF が壊れています" in done.stderr
    assert "✗ http://127.0.0.1:1/: " in done.stderr


def test_many_complaints_are_cut_and_json_has_them_all(web: Web, tmp_path: Path) -> None:
    missing = [str(tmp_path / f"nowhere{number}") for number in range(25)]
    done = web("index", *missing, "--json")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 21
    assert done.stderr.endswith("  … and 5 more: --json shows all\n")
    report = json.loads(done.stdout)
    assert [Path(one["url"].removeprefix("file://")) for one in report["failed"]] == [Path(path) for path in missing]
    assert (report["documents"], report["added"], report["skipped"]) == (0, 0, [])


def test_an_empty_folder_is_nothing_to_do(web: Web, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = web("index", str(tmp_path / "empty"), "--index", str(tmp_path / "own.db"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"nothing to do\n0 documents, 0 passages in {tmp_path / 'own.db'}\n"


def test_an_index_of_ones_own_is_searched_also_where_there_is_a_key(web: Web, documents: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "own.db")
    web("index", str(documents), "--index", path)
    found = json.loads(web("search", "drawer", "--index", path, "--json", TAVILY_API_KEY="tvly-test").stdout)
    assert (found["provider"], len(found["results"])) == ("local", 1)


def test_without_an_index_a_search_says_how_to_make_one(web: Web) -> None:
    assert "Run `hikidashi web index PATH`" in failed(web("search", "bread"))
    assert "`hikidashi web index フォルダー`" in failed(web("search", "bread", "--lang", "ja"))


def test_a_file_that_is_no_index_is_left_alone(web: Web, documents: Path, tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Sir", encoding="utf-8")
    assert str(letter) in failed(web("index", str(documents), "--index", str(letter)))
    assert letter.read_text(encoding="utf-8") == "Dear Sir"


def test_a_terminal_sees_how_far_it_is(documents: Path, terminal_environment: dict[str, str]) -> None:
    seen, code = on_a_terminal("web", "index", str(documents), **terminal_environment)
    assert code == 0
    assert "Looking for documents" in seen
    assert "2/2" in seen
    assert "documents/drawers.md" in seen or "documents/祝日.md" in seen
    assert "\x1b[1m2 added\x1b[0m\n" in seen


def test_a_stopped_run_says_that_it_can_go_on(
    documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def stopped(*_: object) -> AsyncGenerator[IngestEvent]:
        yield IngestEvent(kind="added", url="file:///a.md", done=1, total=2, passages=1)
        raise KeyboardInterrupt

    monkeypatch.setattr(local_index, "ingest", stopped)
    with pytest.raises(typer.Exit) as ended:
        local_index.run_index([str(documents)], tmp_path / "own.db", language="en", as_json=False)
    assert ended.value.exit_code == 130
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("Stopped. What was finished is in the index")


def test_serve_shares_ones_own_documents(web: Web, documents: Path, serving: Callable[..., Serving]) -> None:
    server = serving("--port", "0", "--lang", "ja")
    question = {"query": "祝日は何日", "include_raw_content": True}
    before = httpx.post(f"{server.url}/search", json=question, trust_env=False)
    assert before.status_code == 500
    assert "hikidashi web index" in before.json()["detail"]["error"]
    web("index", str(documents))
    after = httpx.post(f"{server.url}/search", json=question, trust_env=False).json()
    assert [(hit["title"], hit["raw_content"]) for hit in after["results"]] == [
        ("祝日", "# 祝日\n\n日本の祝日は16日あります。\n")
    ]
    code, errors = server.ended(signal.SIGINT)
    assert code == 0
    assert "Ctrl-C で終了します。" in errors
    again = serving("--port", "0")
    assert "\n2 documents\n" in "\n" + again.ended(signal.SIGTERM)[1]


async def test_mcp_serves_the_tools_on_stdio(tavily: TavilyServer, terminal_environment: dict[str, str]) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "hikidashi", "web", "mcp", "--lang", "en", "--base-url", tavily.url],
        env=terminal_environment,
    )
    async with Client(stdio_client(parameters)) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        answer = await client.call_tool("tavily_search", {"query": "bread"})
    assert names == ["tavily_search", "tavily_extract", "tavily_context"]
    (block,) = answer.content
    assert isinstance(block, types.TextContent)
    assert "URL: https://bread.example/sourdough\nScore: 0.90\n" in block.text


@pytest.mark.parametrize(("language", "said"), [("en", "Ctrl-C ends it."), ("ja", "Ctrl-C で終了します。")])
def test_mcp_on_a_terminal_says_what_it_is_and_ends_with_ctrl_c(home: dict[str, str], language: str, said: str) -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "hikidashi", "web", "mcp", "--lang", language, "--provider", "local"]
    with subprocess.Popen(
        command,
        env={**os.environ, **home},
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as started:
        assert started.stderr is not None
        assert said in started.stderr.readline()
        started.send_signal(signal.SIGINT)
        assert started.wait(timeout=60) == -signal.SIGINT
    os.close(ours)
    os.close(theirs)
