"""Tavily on loopback, asked by tavily-python, sync and async."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import requests
import tavily.errors  # pyright: ignore[reportMissingTypeStubs]
from tavily import AsyncTavilyClient, TavilyClient  # pyright: ignore[reportMissingTypeStubs]

from hikidashi.testing import TavilyFault, TavilyPage, TavilyRequest, TavilyServer, fault, tavily_fault

PAGES = [
    TavilyPage(
        "Sourdough", "https://bread.example/sourdough", "Bread that rises without yeast.", "# Sourdough\n\nLong."
    ),
    TavilyPage("Trains of Kyoto", "https://kyoto.example/trains", "How to reach the temples by train."),
    TavilyPage(
        "京都の電車", "https://kyoto.example/ja/densha", "京都駅から金閣寺までの行き方。", published_date="2026-04-01"
    ),
]


class Both:
    """The same calls through the sync and the async client."""

    def __init__(self, server: TavilyServer, *, asynchronous: bool, api_key: str | None = "tvly-test") -> None:
        self._server = server
        self._asynchronous = asynchronous
        self._api_key = api_key

    def search(self, query: str, **options: Any) -> dict[str, Any]:
        return self._call("search", query, **options)

    def extract(self, urls: list[str] | str, **options: Any) -> dict[str, Any]:
        return self._call("extract", urls, **options)

    def _call(self, method: str, *arguments: Any, **options: Any) -> dict[str, Any]:
        if not self._asynchronous:
            with TavilyClient(self._api_key, api_base_url=self._server.url) as client:
                return getattr(client, method)(*arguments, **options)

        async def call() -> dict[str, Any]:
            async with AsyncTavilyClient(self._api_key, api_base_url=self._server.url) as client:
                return await getattr(client, method)(*arguments, **options)

        return asyncio.run(call())


Connect = Callable[..., Both]


@pytest.fixture(params=["sync", "async"])
def connect(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tavily_server: Callable[..., TavilyServer]
) -> Connect:
    """`connect(pages, **options)` gives a client of a server with these pages."""
    monkeypatch.delenv("TAVILY_API_KEY", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def start(*pages: Any, api_key: str | None = "tvly-test", **options: Any) -> Both:
        return Both(tavily_server(*pages, **options), asynchronous=request.param == "async", api_key=api_key)

    return start


def test_a_search_gives_pages_that_share_words_best_first(connect: Connect) -> None:
    found = connect(PAGES).search("kyoto train", max_results=2)
    assert found["query"] == "kyoto train"
    assert found["answer"] is None
    assert found["results"] == [
        {
            "title": "Trains of Kyoto",
            "url": "https://kyoto.example/trains",
            "content": "How to reach the temples by train.",
            "score": 0.95,
            "raw_content": None,
        }
    ]
    assert set(found) == {
        "query",
        "follow_up_questions",
        "answer",
        "images",
        "results",
        "response_time",
        "request_id",
    }


def test_a_japanese_search_finds_words_inside_sentences(connect: Connect) -> None:
    found = connect(PAGES).search("金閣寺への行き方")
    assert [result["url"] for result in found["results"]] == ["https://kyoto.example/ja/densha"]
    assert found["results"][0]["published_date"] == "2026-04-01"


def test_nothing_in_common_is_no_result(connect: Connect) -> None:
    client = connect(PAGES)
    assert client.search("quantum chromodynamics")["results"] == []
    assert client.search("?!")["results"] == []


def test_max_results_cuts_and_domains_choose(connect: Connect) -> None:
    client = connect(PAGES)
    everywhere = "kyoto bread 京都駅 by"
    assert len(client.search(everywhere)["results"]) == 3
    assert len(client.search(everywhere, max_results=1)["results"]) == 1
    assert client.search(everywhere, max_results=0)["results"] == []
    only = client.search(everywhere, include_domains=["kyoto.example"])["results"]
    without = client.search(everywhere, exclude_domains=["example"])["results"]
    assert {result["title"] for result in only} == {"Trains of Kyoto", "京都の電車"}
    assert without == []


def test_answer_raw_content_and_usage_come_when_asked_for(connect: Connect) -> None:
    client = connect(PAGES, answer="It rises by itself.")
    found = client.search("bread", include_answer=True, include_raw_content=True, include_usage=True)
    assert found["answer"] == "It rises by itself."
    assert found["results"][0]["raw_content"] == "# Sourdough\n\nLong."
    assert found["usage"] == {"credits": 1}
    assert client.search("bread", search_depth="advanced", include_usage=True)["usage"] == {"credits": 2}


def test_the_answer_is_the_best_page_unless_given(connect: Connect) -> None:
    client = connect(PAGES)
    assert client.search("bread", include_answer="basic")["answer"] == "Bread that rises without yeast."
    assert client.search("nothing at hand", include_answer=True)["answer"] is None


def test_an_extraction_gives_texts_and_names_what_failed(connect: Connect) -> None:
    client = connect(PAGES)
    urls = ["https://bread.example/sourdough", "https://nowhere.example/", "https://kyoto.example/trains"]
    got = client.extract(urls, include_usage=True)
    assert got["results"] == [
        {"url": urls[0], "title": "Sourdough", "raw_content": "# Sourdough\n\nLong.", "images": []},
        {"url": urls[2], "title": "Trains of Kyoto", "raw_content": "How to reach the temples by train.", "images": []},
    ]
    assert got["failed_results"] == [{"url": "https://nowhere.example/", "error": "Failed to fetch url"}]
    assert got["usage"] == {"credits": 1}


def test_one_url_may_come_as_a_string(connect: Connect) -> None:
    assert len(connect(PAGES).extract("https://kyoto.example/trains")["results"]) == 1


def test_a_function_says_what_there_is(connect: Connect) -> None:
    def pages(request: TavilyRequest) -> list[TavilyPage]:
        return [TavilyPage(f"About {request.query}", "https://all.example/", "…", score=score) for score in (0.2, 0.7)]

    found = connect(pages).search("anything")
    assert [(result["title"], result["score"]) for result in found["results"]] == [
        ("About anything", 0.7),
        ("About anything", 0.2),
    ]


@pytest.mark.parametrize("api_key", ["tvly-other", None])
def test_a_key_that_is_not_known_is_refused(connect: Connect, api_key: str | None) -> None:
    with pytest.raises(tavily.InvalidAPIKeyError, match="Unauthorized: missing or invalid API key"):
        connect(PAGES, api_key=api_key).search("bread")


def test_a_client_without_a_key_is_served_where_that_is_allowed(connect: Connect) -> None:
    assert connect(PAGES, keyless=True, api_key=None).search("bread")["results"]


def test_a_wrong_key_is_refused_also_where_none_is_needed(connect: Connect) -> None:
    with pytest.raises(tavily.InvalidAPIKeyError):
        connect(PAGES, keyless=True, api_key="tvly-other").search("bread")


@pytest.mark.parametrize(
    ("query", "options", "words"),
    [
        ("x" * 401, {}, "Query is too long. Max query length is 400 characters."),
        (" ", {}, "Query is missing."),
        ("x", {"max_results": 21}, "Invalid max results. Must be between 0 and 20."),
        ("x", {"max_results": -1}, "Invalid max results. Must be between 0 and 20."),
        ("x", {"search_depth": "deep"}, "Invalid search depth. Must be 'basic', 'advanced', 'fast' or 'ultra-fast'."),
        ("x", {"topic": "gossip"}, "Invalid topic. Must be 'general', 'news' or 'finance'."),
    ],
)
def test_a_search_out_of_bounds_is_a_bad_request(
    connect: Connect, query: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(tavily.BadRequestError) as raised:
        connect(PAGES).search(query, **options)
    assert str(raised.value) == words


def test_a_query_of_400_characters_is_taken(connect: Connect) -> None:
    assert connect(PAGES).search("bread " * 66 + "four")["results"]


@pytest.mark.parametrize(
    ("urls", "options", "words"),
    [
        ([], {}, "No URLs provided."),
        ([""], {}, "No URLs provided."),
        ([f"https://x.example/{number}" for number in range(21)], {}, "Max 20 URLs are allowed."),
        (["https://x.example"], {"extract_depth": "fast"}, "Invalid extract depth. Must be 'basic' or 'advanced'."),
        (["https://x.example"], {"format": "pdf"}, "Invalid format. Must be 'markdown' or 'text'."),
    ],
)
def test_an_extraction_out_of_bounds_is_a_bad_request(
    connect: Connect, urls: list[str], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(tavily.BadRequestError) as raised:
        connect(PAGES).extract(urls, **options)
    assert str(raised.value) == words


def test_wrong_types_are_told_in_the_other_shape(connect: Connect) -> None:
    with pytest.raises((httpx.HTTPStatusError, requests.HTTPError)) as raised:
        connect(PAGES).search("x", max_results="many")
    response = raised.value.response
    assert response is not None
    assert response.status_code == 422
    (problem,) = response.json()["detail"]
    assert (problem["type"], problem["loc"], problem["input"]) == ("int_parsing", ["body", "max_results"], "many")


@pytest.mark.parametrize("body", [b"{", b"", b"\xff", b"[" * 100_000])
def test_a_body_that_is_not_json_is_told_in_the_other_shape(body: bytes) -> None:
    with TavilyServer(PAGES) as server:
        answer = httpx.post(f"{server.url}/search", content=body, headers=HEADERS, trust_env=False)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["type"] == "json_invalid"


@pytest.mark.parametrize("body", ["[]", '"bread"', "{}", '{"query": null}', "null"])
def test_a_body_without_a_query_is_told_in_the_other_shape(body: str) -> None:
    with TavilyServer(PAGES) as server:
        answer = httpx.post(f"{server.url}/search", content=body, headers=HEADERS, trust_env=False)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"][0] == "body"
    assert server.requests[0].query == ""


HEADERS = {"authorization": "Bearer tvly-test"}


def test_usage_counts_what_was_spent() -> None:
    with TavilyServer(PAGES, credit_limit=5) as server, httpx.Client(headers=HEADERS, trust_env=False) as client:
        client.post(f"{server.url}/search", json={"query": "bread", "search_depth": "advanced"})
        client.post(f"{server.url}/extract", json={"urls": [page.url for page in PAGES]})
        usage = client.get(f"{server.url}/usage").json()
        assert (usage["key"]["usage"], usage["key"]["limit"]) == (3, 5)
        assert (usage["key"]["search_usage"], usage["account"]["extract_usage"]) == (2, 1)
        assert client.post(f"{server.url}/search", json={"query": "bread", "search_depth": "advanced"}).is_success
        over = client.post(f"{server.url}/search", json={"query": "bread"})
        assert over.status_code == 432
        assert "usage limit" in over.json()["detail"]["error"]
        assert client.post(f"{server.url}/extract", json={"urls": [PAGES[0].url]}).status_code == 432
        assert client.post(f"{server.url}/research", json={"input": "x"}).status_code == 404
        assert server.credits_spent == 5


def test_every_request_is_kept_also_those_that_were_refused() -> None:
    with TavilyServer(PAGES) as server:
        client = Both(server, asynchronous=False)
        client.search("bread", max_results=3)
        with pytest.raises(tavily.BadRequestError):
            client.search("y" * 500)
        client.extract("https://kyoto.example/trains")
        first, _, third = server.requests
    assert (first.method, first.path, first.body) == ("POST", "/search", {"query": "bread", "max_results": 3})
    assert (first.api_key, first.headers["x-client-source"]) == ("tvly-test", "tavily-python")
    assert third.urls == ["https://kyoto.example/trains"]
    assert server.searches == ["bread", "y" * 500]
    assert "tvly-test" not in repr(first)


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (tavily_fault.bad_request("No."), tavily.BadRequestError, "No."),
        (tavily_fault.unauthorized(), tavily.InvalidAPIKeyError, "Unauthorized"),
        (tavily_fault.forbidden(), tavily.errors.ForbiddenError, "URL is not supported"),
        (tavily_fault.rate_limited(retry_after=7), tavily.UsageLimitExceededError, "excessive requests"),
        (tavily_fault.out_of_credits(), tavily.errors.ForbiddenError, "plan's set usage limit"),
        (tavily_fault.out_of_paygo(), tavily.errors.ForbiddenError, "pay-as-you-go"),
        (fault.rate_limited(), tavily.UsageLimitExceededError, "exceed your rate limit"),
        (fault.status(403, "", "Not yours."), tavily.errors.ForbiddenError, "Not yours."),
        (tavily_fault.slow(0.001, then=tavily_fault.bad_request("Late.")), tavily.BadRequestError, "Late."),
        (fault.slow(0.001, then=fault.status(400, "", "Later.")), tavily.BadRequestError, "Later."),
    ],
)
def test_a_fault_raises_its_own_error(
    connect: Connect, answer: TavilyFault, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        connect(PAGES, faults=[answer]).search("bread")


@pytest.mark.parametrize(
    ("answer", "status"),
    [(tavily_fault.server_error(), 500), (tavily_fault.unavailable(), 503), (fault.overloaded(), 529)],
)
def test_a_broken_service_is_an_http_error(connect: Connect, answer: TavilyFault, status: int) -> None:
    with pytest.raises((httpx.HTTPStatusError, requests.HTTPError)) as raised:
        connect(PAGES, faults=[answer]).search("bread")
    assert raised.value.response is not None
    assert raised.value.response.status_code == status


@pytest.mark.parametrize("answer", [tavily_fault.not_json(), tavily_fault.malformed()])
def test_what_is_not_json_is_a_decode_error(connect: Connect, answer: TavilyFault) -> None:
    with pytest.raises((json.JSONDecodeError, requests.JSONDecodeError)):
        connect(PAGES, faults=[answer]).search("bread")


@pytest.mark.parametrize("answer", [tavily_fault.raw(201, "{}"), tavily_fault.raw(204)])
def test_a_success_the_client_does_not_know_is_a_type_error(connect: Connect, answer: TavilyFault) -> None:
    with pytest.raises(TypeError):
        connect(PAGES, faults=[answer]).search("bread")


def test_a_cut_answer_is_a_broken_connection(connect: Connect) -> None:
    with pytest.raises((httpx.RemoteProtocolError, requests.ConnectionError, requests.exceptions.ChunkedEncodingError)):
        connect(PAGES, faults=[tavily_fault.cut()]).search("bread")


@pytest.mark.parametrize("answer", [tavily_fault.hang(), tavily_fault.slow(60)])
def test_a_silent_server_is_a_timeout(connect: Connect, answer: TavilyFault) -> None:
    with pytest.raises(tavily.errors.TimeoutError):
        connect(PAGES, faults=[answer]).search("bread", timeout=0.2)


@pytest.mark.parametrize("answer", [None, tavily_fault.slow(0.001), fault.slow(0.001, then="")])
def test_no_fault_and_a_short_wait_end_in_the_answer(connect: Connect, answer: TavilyFault | None) -> None:
    assert connect(PAGES, faults=[answer]).search("bread")["results"]


def test_faults_are_taken_in_order_and_then_all_is_well(connect: Connect) -> None:
    client = connect(PAGES, faults=[None, tavily_fault.bad_request("Second.")])
    assert client.search("bread")["results"]
    with pytest.raises(tavily.BadRequestError, match="too long"):  # refused, and takes no fault
        client.search("y" * 500)
    with pytest.raises(tavily.BadRequestError, match="Second"):
        client.extract("https://kyoto.example/trains")
    assert client.search("bread")["results"]


def test_a_function_may_choose_the_faults(connect: Connect) -> None:
    def faults(request: TavilyRequest) -> TavilyFault | None:
        return tavily_fault.forbidden() if request.path == "/extract" else None

    client = connect(PAGES, faults=faults)
    assert client.search("bread")["results"]
    with pytest.raises(tavily.errors.ForbiddenError):
        client.extract(["https://kyoto.example/trains"])


def test_the_limit_of_callers_without_a_key_has_its_own_error(connect: Connect) -> None:
    with pytest.raises(tavily.errors.TavilyKeylessLimitError) as raised:
        connect(PAGES, keyless=True, api_key=None, faults=[tavily_fault.keyless_limit(retry_after=60)]).search("bread")
    assert (raised.value.code, raised.value.retry_after_seconds) == ("keyless_limit_reached", 60)


@pytest.mark.parametrize(
    ("answer", "header"),
    [
        (tavily_fault.rate_limited(retry_after=1.5), "1.5"),
        (tavily_fault.rate_limited(retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), "Wed, 21 Oct 2026 07:28:00 GMT"),
        (tavily_fault.rate_limited(), None),
        (tavily_fault.unavailable(retry_after=3), "3"),
        (fault.rate_limited(retry_after=2), "2"),
    ],
)
def test_a_fault_may_say_when_to_come_back(answer: TavilyFault, header: str | None) -> None:
    with TavilyServer(PAGES, faults=[answer]) as server:
        got = httpx.post(f"{server.url}/search", json={"query": "bread"}, headers=HEADERS, trust_env=False)
    assert got.headers.get("retry-after") == header


def test_what_the_pages_function_raises_is_kept() -> None:
    def broken(request: TavilyRequest) -> list[TavilyPage]:
        raise LookupError(request.query)

    server = TavilyServer(broken).start()
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.post(f"{server.url}/search", json={"query": "bread"}, headers=HEADERS, trust_env=False)
    server.close()
    (failure,) = server.failures
    assert (type(failure), failure.args) == (LookupError, ("bread",))
