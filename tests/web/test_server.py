"""A search provider behind Tavily's API: other people's clients use it as they use Tavily."""

from __future__ import annotations

import asyncio
import errno
import http.client
import logging
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, aclosing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import tavily.errors  # pyright: ignore[reportMissingTypeStubs]
from pydantic_ai import Agent
from pydantic_ai.common_tools.tavily import tavily_search_tool
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tavily import AsyncTavilyClient, TavilyClient  # pyright: ignore[reportMissingTypeStubs]

from hikidashi.errors import ErrorType, TavilyAPIError, WebIndexError
from hikidashi.testing import TavilyPage, TavilyServer
from hikidashi.testing.server import Exchange, LoopbackServer
from hikidashi.web import AnswerKind, ExtractOptions, SearchRequest
from hikidashi.web import server as serve
from hikidashi.web.local import LocalIndex, LocalSearchProvider, ingest
from hikidashi.web.pages.fetch import Fetcher
from hikidashi.web.provider import SearchProvider
from hikidashi.web.providers.tavily import TavilyAPIClient
from hikidashi.web.request import CrawlOptions, SearchDepth
from hikidashi.web.results import ExtractedPage, ExtractResults, FailedPage, SearchHit, SearchResults
from hikidashi.web.server import SearchServer, Served

HITS = (
    SearchHit(title="引き出し", url="https://drawer.example/ja", content="道具の引き出し。", score=0.9),
    SearchHit(title="Drawer", url="https://drawer.example/en", content="A drawer of tools.", score=0.6),
    SearchHit(title="Elsewhere", url="https://docs.other.example/", content="Something.", score=0.3),
)
TEXTS = {"https://drawer.example/en": "# Drawer\n\nThe whole page."}


class Shelf(SearchProvider):
    """A provider that knows three pages, and does as the test says."""

    name = "shelf"

    def __init__(self) -> None:
        self.asked: list[tuple[str, SearchDepth, int, AnswerKind]] = []
        self.error: Exception | None = None
        self.began = threading.Event()
        self.waits_for_ever = False
        self.cancelled = False
        self.loops: set[asyncio.AbstractEventLoop] = set()
        self.closed = 0
        self.text = ""

    async def _search(self, request: SearchRequest) -> SearchResults:
        self.asked.append((request.query, request.search_depth, request.max_results, request.include_answer))
        self.loops.add(asyncio.get_running_loop())
        self.began.set()
        if self.error is not None:
            raise self.error
        if self.waits_for_ever:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise
        answer = "42" if request.include_answer else None
        return SearchResults(query=request.query, results=HITS[: request.max_results], answer=answer)

    async def _extract(self, urls: Sequence[str], options: ExtractOptions) -> ExtractResults:
        return ExtractResults(
            results=tuple(
                ExtractedPage(url=url, raw_content=self.text or TEXTS[url], title="A") for url in urls if url in TEXTS
            ),
            failed_results=tuple(FailedPage(url=url, error="Not here.") for url in urls if url not in TEXTS),
            credits=0.5,
        )

    async def aclose(self) -> None:
        self.loops.add(asyncio.get_running_loop())
        self.closed += 1


Start = Callable[..., SearchServer]


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def start(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """`start(**options)` gives a running server in front of the shelf."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    with ExitStack() as running:

        def enter(**options: Any) -> SearchServer:
            return running.enter_context(SearchServer(shelf, **options))

        yield enter


def tavily_client(server: SearchServer) -> Any:
    return TavilyClient("any-key", api_base_url=server.url)


def async_tavily_client(server: SearchServer) -> Any:
    return AsyncTavilyClient("any-key", api_base_url=server.url)


def post(server: SearchServer, path: str, body: Any, **headers: str) -> httpx.Response:
    return httpx.post(f"{server.url}{path}", json=body, headers=headers, trust_env=False)


def test_tavily_python_searches_and_extracts(start: Start, shelf: Shelf) -> None:
    with tavily_client(start()) as client:
        found: dict[str, Any] = client.search("引き出し", max_results=2)
        got: dict[str, Any] = client.extract(["https://drawer.example/en", "https://x.example/"])
    assert shelf.asked == [("引き出し", "basic", 2, False)]
    assert [(hit["title"], hit["url"], hit["content"], hit["score"]) for hit in found["results"]] == [
        (hit.title, hit.url, hit.content, hit.score) for hit in HITS[:2]
    ]
    assert (found["query"], found["answer"], found["images"]) == ("引き出し", None, [])
    assert got["results"] == [
        {"url": "https://drawer.example/en", "title": "A", "raw_content": "# Drawer\n\nThe whole page.", "images": []}
    ]
    assert got["failed_results"] == [{"url": "https://x.example/", "error": "Not here."}]


async def test_the_async_client_may_ask_for_many_things_at_once(start: Start, shelf: Shelf) -> None:
    async with async_tavily_client(start()) as client:
        everything = await asyncio.gather(
            *(client.search(f"q{number}", search_depth="advanced", include_answer=True) for number in range(20))
        )
    assert [answer["query"] for answer in everything] == [f"q{number}" for number in range(20)]
    assert {answer["answer"] for answer in everything} == {"42"}
    assert sorted(shelf.asked) == sorted((f"q{number}", "advanced", 5, True) for number in range(20))
    assert len(shelf.loops) == 1


async def test_the_tavily_tool_of_pydantic_ai_works_as_it_is(start: Start) -> None:
    returned: list[Any] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart):
            returned.append(last.content)
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("tavily_search", {"query": "drawer"})])

    async with async_tavily_client(start()) as client:
        agent = Agent(FunctionModel(model), tools=[tavily_search_tool(client=client, max_results=1)])
        assert (await agent.run("Search!")).output == "done"
    first = HITS[0]
    assert returned == [[{"title": first.title, "url": first.url, "content": first.content, "score": first.score}]]


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[LocalSearchProvider]:
    """A real index of two documents."""
    (tmp_path / "drawers.md").write_text("# Drawers\n\nA drawer holds every tool an agent has.\n", encoding="utf-8")
    (tmp_path / "祝日.md").write_text("# 祝日\n\n日本の祝日は16日あります。\n", encoding="utf-8")
    index = LocalIndex(tmp_path / "web.db")
    async with aclosing(ingest(index, [tmp_path])) as events:
        assert sorted([event.kind async for event in events]) == ["added", "added"]
    index.close()
    async with LocalSearchProvider(tmp_path / "web.db") as provider:
        yield provider


async def test_ones_own_documents_are_tavily_to_tavily_clients(
    library: LocalSearchProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    url = (tmp_path / "祝日.md").as_uri()
    with SearchServer(library) as server:
        async with async_tavily_client(server) as client:
            found = await client.search("祝日は何日ありますか", include_answer=True, include_raw_content=True)
            passages = await client.search("drawer", search_depth="advanced", max_results=1)
        with tavily_client(server) as client:
            got = await asyncio.to_thread(client.extract, [url, "file:///etc/passwd"])
    (hit,) = found["results"]
    assert (hit["title"], hit["url"], hit["raw_content"]) == ("祝日", url, "# 祝日\n\n日本の祝日は16日あります。\n")
    assert 0 < hit["score"] <= 1
    assert "A drawer holds every tool" in passages["results"][0]["content"]
    assert [page["url"] for page in got["results"]] == [url]
    assert [page["url"] for page in got["failed_results"]] == ["file:///etc/passwd"]


def test_a_depth_is_passed_on_and_zero_results_are_none(start: Start, shelf: Shelf) -> None:
    server = start()
    assert post(server, "/search", {"query": "q", "search_depth": "ultra-fast"}).json()["results"]
    assert post(server, "/search", {"query": "q", "max_results": 0}).json()["results"] == []
    assert [depth for _, depth, _, _ in shelf.asked] == ["ultra-fast", "basic"]


def test_domains_choose_among_the_best_20_where_the_provider_has_no_filters(start: Start, shelf: Shelf) -> None:
    server = start()
    only = post(server, "/search", {"query": "q", "max_results": 1, "include_domains": ["Other.example"]}).json()
    without = post(server, "/search", {"query": "q", "exclude_domains": ["drawer.example"]}).json()
    assert [hit["title"] for hit in only["results"]] == ["Elsewhere"]
    assert [hit["title"] for hit in without["results"]] == ["Elsewhere"]
    assert [most for _, _, most, _ in shelf.asked] == [20, 20]


def test_raw_content_is_what_the_provider_extracts(start: Start) -> None:
    found = post(start(), "/search", {"query": "q", "include_raw_content": "text", "include_usage": True}).json()
    assert [hit["raw_content"] for hit in found["results"]] == [None, "Drawer\n\nThe whole page.", None]
    assert found["usage"] == {"credits": 0.5}
    assert post(start(), "/search", {"query": "q", "max_results": 0, "include_raw_content": True}).is_success


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"time_range": "week"}, "time_range"),
        ({"topic": "news"}, "topic"),
        ({"country": "japan"}, "country"),
        ({"days": 3}, "start_date"),
    ],
)
def test_a_filter_that_the_provider_lacks_is_refused_by_name(
    start: Start, shelf: Shelf, given: dict[str, Any], name: str
) -> None:
    refused = post(start(), "/search", {"query": "q", **given})
    assert refused.status_code == 400
    assert f"shelf cannot do `{name}`" in refused.json()["detail"]["error"]
    assert shelf.asked == []


NO_CONDITION = {
    "search_depth": "fast",
    "topic": "news",
    "time_range": "week",
    "include_domains": ["drawer.example"],
    "exclude_domains": ["old.drawer.example"],
    "country": "japan",
}


def test_every_filter_and_option_reaches_tavily_through_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    page = TavilyPage("Drawer", "https://drawer.example/en", "A drawer of tools.", "# Drawer\n\nThe whole page.")
    with TavilyServer([page]) as tavily:
        provider = TavilyAPIClient("tvly-test", base_url=tavily.url)
        with SearchServer(provider) as server, tavily_client(server) as client:
            client.search("drawer", **NO_CONDITION)
            client.search("drawer", start_date="2026-01-02", end_date="2026-03-04")
            client.extract([page.url], extract_depth="advanced", format="text", query="tools", chunks_per_source=2)
        searched, dated, extracted = tavily.requests
    assert {name: searched.body[name] for name in NO_CONDITION} == NO_CONDITION
    assert (dated.body["start_date"], dated.body["end_date"]) == ("2026-01-02", "2026-03-04")
    assert {name: extracted.body[name] for name in ("extract_depth", "format", "query", "chunks_per_source")} == {
        "extract_depth": "advanced",
        "format": "text",
        "query": "tools",
        "chunks_per_source": 2,
    }


def test_an_extraction_with_a_question_gives_the_passages_that_matter_as_plain_text(start: Start) -> None:
    body = {"urls": ["https://drawer.example/en"], "format": "text", "query": "whole", "chunks_per_source": 1}
    (page,) = post(start(), "/extract", body).json()["results"]
    assert page["raw_content"] == "Drawer\n\nThe whole page."


def test_usage_counts_what_the_provider_charged(start: Start) -> None:
    server = start()
    post(server, "/extract", {"urls": "https://drawer.example/en"})
    post(server, "/search", {"query": "q"})
    usage = httpx.get(f"{server.url}/usage", trust_env=False).json()
    assert (usage["key"]["search_usage"], usage["key"]["extract_usage"], usage["key"]["limit"]) == (0, 0.5, None)
    assert usage["account"]["current_plan"] == "shelf"


def test_the_root_says_who_answers(start: Start) -> None:
    server = start()
    assert httpx.get(server.url, trust_env=False).json() == {
        "service": "hikidashi",
        "provider": "shelf",
        "routes": ["/search", "/extract", "/crawl", "/map", "/usage"],
    }
    assert httpx.head(server.url, trust_env=False).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/search", 405), ("DELETE", "/usage", 405), ("POST", "/research", 404)]
)
def test_other_routes_are_not_there(start: Start, method: str, path: str, status: int) -> None:
    answer = httpx.request(method, f"{start().url}{path}", trust_env=False)
    assert answer.status_code == status
    assert answer.json()["detail"]["error"]


@pytest.mark.parametrize("path", ["/search", "/extract", "/usage"])
def test_a_key_is_asked_for_where_one_is_set(start: Start, path: str, shelf: Shelf) -> None:
    server = start(api_key="tvly-test")
    method = "GET" if path == "/usage" else "POST"
    body = {"query": "q", "urls": ["https://drawer.example/en"]}
    statuses = [
        httpx.request(method, f"{server.url}{path}", json=body, headers=headers, trust_env=False).status_code
        for headers in ({}, {"authorization": "Bearer tvly-other"}, {"authorization": "Bearer tvly-test"})
    ]
    assert statuses == [401, 401, 200]
    assert len(shelf.asked) <= 1


def test_a_long_query_is_taken_up_to_what_the_tools_allow(start: Start) -> None:
    server = start()
    assert post(server, "/search", {"query": "q" * 1000}).status_code == 200
    assert post(server, "/search", {"query": "q" * 1001}).status_code == 400


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (TavilyAPIError("Slowly.", ErrorType.RATE_LIMIT_ERROR, 429, 7.0), tavily.UsageLimitExceededError),
        (TavilyAPIError("No.", ErrorType.VALIDATION_ERROR), tavily.BadRequestError),
        (TavilyAPIError("Who?", ErrorType.AUTH_ERROR), tavily.InvalidAPIKeyError),
        (TavilyAPIError("Spent.", ErrorType.API_ERROR, 432), tavily.errors.ForbiddenError),
    ],
)
def test_what_the_provider_raises_the_client_raises(
    start: Start, shelf: Shelf, error: TavilyAPIError, raised: type[Exception]
) -> None:
    shelf.error = error
    with tavily_client(start()) as client, pytest.raises(raised, match=str(error)):
        client.search("q")


def test_a_wait_that_the_provider_asks_for_is_passed_on(start: Start, shelf: Shelf) -> None:
    shelf.error = TavilyAPIError("Slowly.", ErrorType.RATE_LIMIT_ERROR, 429, 7.0)
    assert post(start(), "/search", {"query": "q"}).headers["retry-after"] == "7"


def test_an_index_that_cannot_be_read_is_told(start: Start, shelf: Shelf) -> None:
    shelf.error = WebIndexError("web.db", "is damaged", "Build it again.")
    answer = post(start(), "/search", {"query": "q"})
    assert (answer.status_code, answer.json()) == (500, {"detail": {"error": str(shelf.error)}})


def test_a_mistake_of_ours_is_logged_and_not_told(start: Start, shelf: Shelf, caplog: pytest.LogCaptureFixture) -> None:
    shelf.error = KeyError("tvly-test")
    with caplog.at_level(logging.ERROR, "hikidashi"):
        answer = post(start(), "/search", {"query": "q"})
    assert (answer.status_code, answer.json()) == (500, {"detail": {"error": "Internal Server Error"}})
    assert caplog.records[0].exc_info is not None


def test_a_provider_that_takes_too_long_is_stopped(start: Start, shelf: Shelf) -> None:
    shelf.waits_for_ever = True
    answer = post(start(timeout=0.05), "/search", {"query": "q"})
    assert answer.status_code == 504
    assert answer.json()["detail"]["error"] == "The shelf provider took more than 0.05 seconds."
    assert shelf.cancelled


def test_closing_ends_what_is_running_and_closes_the_provider_in_its_own_loop(shelf: Shelf) -> None:
    shelf.waits_for_ever = True
    server = SearchServer(shelf).start()
    outcome: list[object] = []

    def ask() -> None:
        try:
            outcome.append(post(server, "/search", {"query": "q"}))
        except httpx.HTTPError as error:
            outcome.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    assert shelf.began.wait(30)
    server.close()
    server.close()
    asking.join(30)
    assert isinstance(outcome[0], httpx.TransportError)
    assert (shelf.cancelled, shelf.closed, len(shelf.loops)) == (True, 1, 1)
    assert not [thread for thread in threading.enumerate() if thread.name == "hikidashi-search"]


def test_each_answer_is_told_without_what_was_asked(start: Start) -> None:
    told: list[Served] = []
    server = start(on_served=told.append, api_key="tvly-test")
    post(server, "/search", {"query": "secret plans"}, authorization="Bearer tvly-test")
    post(server, "/search", {"query": "secret plans"})
    server.close()
    assert [(served.method, served.path, served.status) for served in told] == [
        ("POST", "/search", 200),
        ("POST", "/search", 401),
    ]
    assert "secret" not in repr(told)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:1234", 200),
        ("localhost", 200),
        ("[::1]:80", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("[bad", 403),
        ("", 403),
    ],
)
def test_only_names_of_this_machine_are_answered(start: Start, host: str, status: int) -> None:
    connection = http.client.HTTPConnection(urlsplit(start().url).netloc, timeout=30)
    connection.request("GET", "/", headers={"host": host})
    assert connection.getresponse().status == status
    connection.close()


def test_a_server_for_other_machines_takes_any_name(start: Start) -> None:
    server = start(host="0.0.0.0", api_key="tvly-test")
    port = urlsplit(server.url).port
    answer = httpx.get(f"http://127.0.0.1:{port}/", headers={"host": "search.example"}, trust_env=False)
    assert answer.status_code == 200


def test_ipv6_is_an_address_like_any_other(start: Start) -> None:
    server = start(host="::1")
    assert server.url.startswith("http://[::1]:")
    assert httpx.get(server.url, trust_env=False).status_code == 200


def test_a_port_in_use_is_told_with_its_number(start: Start, shelf: Shelf) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(OSError, match=rf"Port {port} of 127.0.0.1 is in use\.") as raised:
            SearchServer(shelf, port=port).start()
    assert raised.value.errno == errno.EADDRINUSE
    assert not [thread for thread in threading.enumerate() if thread.name == "hikidashi-search"]


def test_a_port_for_the_superuser_is_told(shelf: Shelf) -> None:
    refused = serve._cannot_listen(OSError(errno.EACCES, "Permission denied"), "127.0.0.1", 80)
    assert str(refused).endswith("Port 80 of 127.0.0.1 is not allowed for this user. Choose a port from 1024 on.")


def test_starting_twice_is_starting_once(start: Start) -> None:
    server = start()
    url = server.url
    assert server.start().url == url


def test_an_address_of_another_machine_is_told(shelf: Shelf) -> None:
    with pytest.raises(OSError, match=r"Cannot listen on '192\.0\.2\.1', port 0"):
        SearchServer(shelf, host="192.0.2.1").start()


def test_a_body_that_is_too_long_is_refused_before_it_is_read(start: Start, shelf: Shelf) -> None:
    connection = http.client.HTTPConnection(urlsplit(start().url).netloc, timeout=30)
    connection.request("POST", "/search", headers={"content-length": "1000000000000"})
    assert connection.getresponse().status == 413
    connection.close()


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"content-length": "many"}, b"", 400),
        ({"content-length": "-1"}, b"", 400),
        ({"transfer-encoding": "chunked"}, b"zz\r\n", 400),
        ({"transfer-encoding": "chunked"}, b"2;name=value\r\n{}\r\n0\r\n\r\n", 422),
    ],
)
def test_a_length_that_is_none_is_a_bad_request(
    start: Start, headers: dict[str, str], body: bytes, status: int
) -> None:
    connection = http.client.HTTPConnection(urlsplit(start().url).netloc, timeout=30)
    connection.putrequest("POST", "/search")
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    assert connection.getresponse().status == status
    connection.close()


@pytest.mark.parametrize(
    "sent", [b"", b"POST /search HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9\r\n\r\n{"], ids=["nothing", "half"]
)
def test_a_client_that_falls_silent_is_let_go(start: Start, sent: bytes) -> None:
    server = start()
    server.limits = replace(server.limits, idle_seconds=0.05, body_seconds=0.05)
    address = urlsplit(server.url)
    with socket.create_connection((str(address.hostname), address.port), timeout=30) as connection:
        connection.sendall(sent)
        answer = connection.recv(100)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 408 ")


class Raw:
    """A connection on which a test writes what no client would."""

    def __init__(self, server: SearchServer) -> None:
        address = urlsplit(server.url)
        self.socket = socket.create_connection((str(address.hostname), address.port), timeout=30)

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        with suppress(ConnectionError):
            self.socket.sendall(data)

    def answer(self) -> bytes:
        """Everything that comes until the server closes the connection."""
        pieces: list[bytes] = []
        with suppress(ConnectionError):
            while piece := self.socket.recv(65_536):
                pieces.append(piece)
        return b"".join(pieces)


HEAD = b"POST /search HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"


def test_a_body_without_the_key_is_not_read(start: Start) -> None:
    with Raw(start(api_key="tvly-test")) as raw:
        raw.send(HEAD + b"content-length: 900000\r\n\r\n")  # and no body at all
        assert raw.answer().startswith(b"HTTP/1.1 401 ")


def test_a_client_that_asks_first_is_told_to_go_on_only_with_the_key(start: Start) -> None:
    server = start(api_key="tvly-test")
    expecting = HEAD + b"expect: 100-continue\r\ncontent-length: 13\r\nconnection: close\r\n"
    with Raw(server) as raw:
        raw.send(expecting + b"\r\n")
        assert raw.answer().startswith(b"HTTP/1.1 401 ")
    with Raw(server) as raw:
        raw.send(expecting + b"authorization: Bearer tvly-test\r\n\r\n")
        assert raw.socket.recv(65_536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        raw.send(b'{"query":"q"}')
        assert raw.answer().startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (CHUNKED + b"1" * 70_000, b"400"),
        (CHUNKED + b"1;" + b"x" * 70_000, b"400"),
        (CHUNKED + b"1\r\n{" + b"x" * 8_000, b"400"),
        (CHUNKED + b"f4240\r\n" + b" " * 1_000_000 + b"\r\n1\r\nx\r\n", b"413"),
        (HEAD + b"x-long: " + b"x" * 70_000, b"400"),
        (HEAD + b"x: y\r\n" * 20_000, b"400"),
        (b"GET /" + b"x" * 70_000, b"400"),
        (HEAD + b"content-length: 1_000\r\n\r\n", b"400"),
        (HEAD + b"content-length: +5\r\n\r\n", b"400"),
        (HEAD + b"content-length: " + b"9" * 5_000 + b"\r\n\r\n", b"400"),
    ],
    ids=["size", "extension", "no-end-of-chunk", "sum", "line", "lines", "target", "_", "+", "9"],
)
def test_what_goes_past_a_limit_is_refused_before_more_is_read(start: Start, sent: bytes, status: bytes) -> None:
    with Raw(start()) as raw:
        raw.send(sent)
        assert raw.answer().startswith(b"HTTP/1.1 " + status)


def test_a_line_without_end_takes_no_memory(start: Start) -> None:
    server = start()
    with Raw(server) as raw:
        raw.send(CHUNKED)
        sent = 0
        with suppress(OSError):
            for _ in range(400):  # megabytes, were they read
                raw.socket.sendall(b"1" * 1_000_000)
                sent += 1
        assert sent < 50


@pytest.mark.parametrize("sent", [b"GET / HT", HEAD + b"content-length: 9\r\n\r\n{", CHUNKED + b"5\r\n{"])
def test_a_request_that_takes_too_long_is_let_go_however_it_trickles(start: Start, sent: bytes) -> None:
    server = start()
    server.limits = replace(server.limits, head_seconds=0.1, body_seconds=0.1)
    with Raw(server) as raw:
        raw.send(sent)
        trickling = threading.Event()

        def trickle() -> None:
            while not trickling.wait(0.02):
                raw.send(b"x")

        thread = threading.Thread(target=trickle)
        thread.start()
        answer = raw.answer()  # ends only when the server closes
        trickling.set()
        thread.join()
    assert not answer.startswith(b"HTTP/1.1 200")


def test_a_client_that_does_not_read_its_answer_is_let_go(start: Start, shelf: Shelf) -> None:
    server = start()
    server.limits = replace(server.limits, write_seconds=0.1, connections=1)
    shelf.text = "x" * 30_000_000
    body = b'{"urls": "https://drawer.example/en"}'
    with Raw(server) as raw:
        raw.send(HEAD.replace(b"/search", b"/extract") + b"content-length: %d\r\n\r\n" % len(body) + body)
        until_free = (httpx.get(server.url, trust_env=False).status_code for _ in range(3_000))
        assert 200 in until_free  # the one place is free again, though the answer was never read


def test_connections_are_bounded_and_others_are_told(start: Start) -> None:
    server = start()
    server.limits = replace(server.limits, connections=3)
    with ExitStack() as open_ones:
        silent = [open_ones.enter_context(Raw(server)) for _ in range(3)]
        for raw in silent:
            raw.send(b"GET / HT")
        refused = open_ones.enter_context(Raw(server))
        assert refused.answer().startswith(b"HTTP/1.1 503 ")
        told = [post(server, "/search", {"query": "q" * 100_000}).status_code for _ in range(5)]
        assert told == [503] * 5  # also to clients that are still sending
        silent[0].send(b"TP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
        assert silent[0].answer().startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:3000"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": "multipart/form-data; boundary=x"}, 415),
        ({"content-type": "Application/JSON; charset=utf-8"}, 200),
    ],
)
@pytest.mark.parametrize("path", ["/search", "/extract"])
def test_a_web_page_cannot_spend_credits(
    start: Start, shelf: Shelf, path: str, headers: dict[str, str], status: int
) -> None:
    body = {"/search": b'{"query": "q"}', "/extract": b'{"urls": ["https://drawer.example/en"]}'}[path]
    answer = httpx.post(f"{start().url}{path}", content=body, headers=headers, trust_env=False)
    assert answer.status_code == status
    assert bool(shelf.asked) == (status == 200 and path == "/search")


class Site(LoopbackServer):
    """Three pages that link to one another, and one that robots.txt closes."""

    def handle(self, exchange: Exchange) -> None:
        links = {"/": ("/a", "/b", "/closed"), "/a": ("/a/deep",), "/b": (), "/a/deep": ()}
        if exchange.path == "/robots.txt":
            exchange.answer(200, b"User-agent: *\nDisallow: /closed", {"content-type": "text/plain"})
        elif exchange.path in links:
            anchors = "".join(f'<a href="{link}">on</a>' for link in links[exchange.path])
            sentence = f"The page {exchange.path} tells about drawers, and how they are made of oak."
            exchange.answer(
                200, f"<html><body><article><p>{sentence}</p>{anchors}</article></body></html>".encode(), {}
            )
        else:
            exchange.answer(404, b"", {})


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as server:
        yield server


@pytest.fixture
def local(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchServer]:
    """The local provider behind Tavily's API; it may read `site`, though that is on this machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    fetcher = Fetcher(allowed_hosts={urlsplit(site.url).netloc})
    with SearchServer(LocalSearchProvider(tmp_path / "web.db", fetcher=fetcher, language="en")) as server:
        yield server


def test_the_real_client_crawls_a_site(local: SearchServer, site: Site) -> None:
    answer = tavily_client(local).crawl(f"{site.url}/", max_depth=2, limit=10, include_usage=True)
    assert answer["base_url"] == f"{site.url}/"
    assert [page["url"] for page in answer["results"]] == [f"{site.url}{path}" for path in ("/", "/a", "/b", "/a/deep")]
    assert all("tells about drawers" in page["raw_content"] and page["images"] == [] for page in answer["results"])
    assert answer["failed_results"] == [{"url": f"{site.url}/closed", "error": "robots.txt does not allow it"}]
    assert answer["usage"] == {"credits": 0.0}
    assert {"response_time", "request_id"} <= answer.keys()
    narrowed = tavily_client(local).crawl(f"{site.url}/", max_depth=2, select_paths=["^/a"], exclude_paths=["deep"])
    assert [page["url"] for page in narrowed["results"]] == [f"{site.url}/a"]


def test_the_real_client_maps_a_site(local: SearchServer, site: Site) -> None:
    answer = tavily_client(local).map(f"{site.url}/", max_depth=2, max_breadth=1)
    assert (answer["base_url"], answer["results"]) == (
        f"{site.url}/",
        [f"{site.url}{path}" for path in ("/", "/a", "/a/deep")],
    )


@pytest.mark.parametrize("route", ["/crawl", "/map"])
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"url": "http://10.0.0.1/"}, "it leads to a private, local or reserved address"),
        ({"url": " "}, "No starting url provided"),
        ({"instructions": "find prices"}, "The local index cannot do `instructions`"),
        ({"categories": ["Pricing"]}, "The local index cannot do `categories`"),
        ({"max_depth": 6}, "`max_depth` is 6. It must be an integer from 1 to 5."),
        ({"limit": 0}, "`limit` is 0"),
        ({"select_paths": ["("]}, "which is not a regular expression"),
        ({"timeout": 0}, "`timeout` is 0"),
    ],
)
def test_what_a_crawl_cannot_do_is_refused_by_name(
    local: SearchServer, route: str, given: dict[str, Any], words: str
) -> None:
    refused = post(local, route, {"url": "https://example.com/", **given})
    assert refused.status_code == 400
    assert words in refused.json()["detail"]["error"]


@pytest.mark.parametrize("route", ["/crawl", "/map"])
def test_a_provider_that_cannot_crawl_says_who_can(start: Start, route: str) -> None:
    refused = post(start(), route, {"url": "https://example.com/"})
    assert refused.status_code == 400
    assert refused.json()["detail"]["error"] == (
        f"shelf cannot {route[1:]} a site. Choose a provider that can: local, tavily."
    )
    assert post(start(), route, {"url": ["https://example.com/"]}).status_code == 422


def test_a_crawl_goes_through_to_tavily_with_every_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    pages = [TavilyPage(f"Page {n}", f"https://shop.example/{n}", f"Number {n}.") for n in range(12)]
    asked: dict[str, Any] = {
        "max_depth": 3,
        "max_breadth": 40,
        "limit": 30,
        "instructions": "find prices",
        "select_paths": ["/1"],
        "exclude_paths": ["/11"],
        "select_domains": ["shop"],
        "exclude_domains": ["blog"],
        "allow_external": False,
        "categories": ["Pricing"],
    }
    read = {"extract_depth": "advanced", "format": "text", "chunks_per_source": 2}
    with TavilyServer(pages) as real:
        provider = TavilyAPIClient("tvly-test", base_url=real.url, language="en")
        with SearchServer(provider) as server:
            client = tavily_client(server)
            crawled = client.crawl("shop.example", include_usage=True, **asked, **read)
            mapped = client.map("https://shop.example/", include_usage=True, **asked)
            usage = httpx.get(f"{server.url}/usage", trust_env=False).json()["key"]
        crawl, found = real.requests
    assert {name: crawl.body[name] for name in (*asked, *read)} == {**asked, **read}
    assert {name: found.body[name] for name in asked} == asked
    assert (crawl.body["url"], crawl.path, found.path) == ("https://shop.example", "/crawl", "/map")
    assert [page["url"] for page in crawled["results"]] == ["https://shop.example/1", "https://shop.example/10"]
    assert crawled["results"][0]["raw_content"] == "Number 1."
    assert mapped["results"] == ["https://shop.example/1", "https://shop.example/10"]
    assert (crawled["usage"], mapped["usage"]) == ({"credits": 4.0}, {"credits": 2.0})
    assert (usage["crawl_usage"], usage["map_usage"], usage["usage"]) == (4.0, 2.0, 6.0)


async def test_tavily_refuses_and_charges_for_crawls_as_for_searches() -> None:
    with TavilyServer([TavilyPage("P", "https://shop.example/", "P")], credit_limit=5) as server:
        async with TavilyAPIClient("tvly-test", base_url=server.url, credit_limit=1, language="en") as client:
            with pytest.raises(TavilyAPIError, match="credit") as over:
                await client.crawl("https://shop.example/")
            assert over.value.error_type is ErrorType.API_ERROR
            with pytest.raises(TavilyAPIError, match="private") as private:
                await client.map("http://127.0.0.1/")
            assert private.value.error_type is ErrorType.VALIDATION_ERROR
            assert server.requests == []
            found = await client.map("https://shop.example/", options=CrawlOptions(limit=5))
            assert (found.results, found.credits, client.credits_used) == (("https://shop.example/",), 1.0, 1.0)


async def test_the_real_client_asks_for_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    (tmp_path / "glue.md").write_text("# Glue\n\nIt is old. Hide glue lets go in heated rooms. Use it cold.\n")
    os.utime(tmp_path / "glue.md", (1_500_000_000, 1_500_000_000))  # much older than the week the client asks for
    index = LocalIndex(tmp_path / "web.db")
    async with aclosing(ingest(index, [tmp_path / "glue.md"])) as events:
        assert [event.kind async for event in events] == ["added"]
    with SearchServer(LocalSearchProvider(index.path, language="en")) as server:
        client = tavily_client(server)
        with pytest.warns(DeprecationWarning, match="qna_search"):
            answer = await asyncio.to_thread(client.qna_search, "Where does hide glue let go?")
        assert answer == "Hide glue lets go in heated rooms."
        for kind in (True, "basic", "advanced"):
            found = await asyncio.to_thread(client.search, "hide glue heated rooms", include_answer=kind)
            assert found["answer"] == "Hide glue lets go in heated rooms."
        old = await asyncio.to_thread(client.search, "hide glue", days=3)
        assert old["results"] == []
        dated = await asyncio.to_thread(client.search, "hide glue", end_date="2017-12-31")
        assert [hit["published_date"] for hit in dated["results"]] == ["2017-07-14"]
    index.close()


@pytest.mark.parametrize(
    ("path", "given", "name"),
    [
        ("/search", {"exact_match": True}, "exact_match"),
        ("/search", {"max_age_hours": 2}, "max_age_hours"),
        ("/search", {"include_domains_mode": "prefer", "include_domains": ["drawer.example"]}, "include_domains_mode"),
        ("/search", {"language": "ja", "filter_by_language": True}, "language"),
        ("/search", {"auto_parameters": True}, "auto_parameters"),
        ("/search", {"chunks_per_source": 5, "search_depth": "advanced"}, "chunks_per_source"),
        ("/search", {"include_images": True}, "include_images"),
        ("/extract", {"include_favicon": True}, "include_favicon"),
        ("/crawl", {"include_images": True}, "include_images"),
        ("/map", {"whatever_comes_next": ["x"]}, "whatever_comes_next"),
    ],
)
def test_what_the_server_does_not_know_is_refused_by_name(
    start: Start, shelf: Shelf, path: str, given: dict[str, Any], name: str
) -> None:
    asked = {"query": "q", "urls": ["https://drawer.example/en"], "url": "https://drawer.example/"}
    wanted = {"/search": ["query"], "/extract": ["urls"]}.get(path, ["url"])
    refused = post(start(), path, {key: asked[key] for key in wanted} | given)
    assert refused.status_code == 400
    assert f"This server cannot do `{name}`" in refused.json()["detail"]["error"]
    assert shelf.asked == []


def test_what_asks_for_nothing_is_no_reason_to_refuse(start: Start) -> None:
    nothing: dict[str, Any] = {
        "api_key": "tvly-test",
        "include_images": False,
        "include_favicon": None,
        "include_domains": [],
        "include_domains_mode": "restrict",
        "chunks_per_source": 3,
        "exact_match": False,
        "country": None,
    }
    assert post(start(), "/search", {"query": "q"} | nothing).status_code == 200


@pytest.mark.parametrize("given", [{"days": -5}, {"days": 0}, {"days": 10**9}, {"timeout": -1}, {"timeout": 0}])
def test_a_number_that_makes_no_sense_is_refused(start: Start, shelf: Shelf, given: dict[str, Any]) -> None:
    refused = post(start(), "/search", {"query": "q"} | given)
    assert (refused.status_code, shelf.asked) == (400, [])
    assert refused.json()["detail"]["error"].startswith(f"Invalid {next(iter(given))}.")


def test_days_that_contradict_a_date_are_refused(start: Start) -> None:
    refused = post(start(), "/search", {"query": "q", "days": 3, "start_date": "2026-01-01"})
    assert (
        refused.json()["detail"]["error"]
        == "`days` cannot go with `start_date` or `time_range`. Give one or the other."
    )


def test_the_time_that_a_client_gives_is_kept(start: Start, shelf: Shelf) -> None:
    shelf.waits_for_ever = True
    late = post(start(), "/search", {"query": "q", "timeout": 0.2})
    assert (late.status_code, shelf.cancelled) == (504, True)
    assert late.json()["detail"]["error"] == "The shelf provider took more than 0.2 seconds."


def test_the_kind_of_answer_reaches_tavily(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    with TavilyServer([]) as tavily:
        provider = TavilyAPIClient("tvly-test", base_url=tavily.url)
        with SearchServer(provider) as server, tavily_client(server) as client:
            for kind in ("advanced", "basic", True, False):
                client.search(f"drawer {kind}", include_answer=kind)
    assert [request.body["include_answer"] for request in tavily.requests] == ["advanced", True, True, False]


async def test_the_server_speaks_english_whatever_its_provider_speaks(library: LocalSearchProvider) -> None:
    with SearchServer(library) as server:
        refused, crawled, extracted = [
            (await asyncio.to_thread(post, server, path, body)).json()
            for path, body in (
                ("/search", {"query": "q", "topic": "news"}),
                ("/crawl", {"url": "http://127.0.0.1/"}),
                ("/extract", {"urls": ["http://10.0.0.1/"]}),
            )
        ]
    assert refused["detail"]["error"].startswith("The local index cannot do `topic`")
    assert crawled["detail"]["error"].endswith("it leads to a private, local or reserved address.")
    assert extracted["failed_results"][0]["error"] == "it leads to a private, local or reserved address"
