"""Requests to Tavily's API are taken or refused, whatever their bodies are; failures keep what they say."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.web import tavily_api
from hikidashi.web.results import ExtractedPage, ExtractResults, FailedPage, SearchHit
from hikidashi.web.tavily_api import APIRefusal

Request = TypeVar("Request")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 1000) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
texts = st.text(st.characters())  # also halves of UTF-16 pairs, which JSON may carry
names = st.sampled_from(
    ["query", "urls", "max_results", "search_depth", "topic", "include_answer", "include_domains", "format", "other"]
)
bodies = st.binary(max_size=40) | (json_values | st.dictionaries(names, json_values)).map(
    lambda value: json.dumps(value).encode()
)


def taken_or_refused(read: Callable[[bytes], Request], body: bytes) -> Request | None:
    try:
        return read(body)
    except APIRefusal as refused:
        answer = refused.answer
    assert answer.status in {400, 422}
    assert json.loads(answer.wire())["detail"]
    return None


@given(bodies)
def test_any_body_is_a_search_within_bounds_or_refused_with_a_reason(body: bytes) -> None:
    request = taken_or_refused(tavily_api.search_request, body)
    if request is not None:
        assert 0 < len(request.query) <= 400
        assert 0 <= request.max_results <= 20


@given(bodies)
def test_any_body_is_an_extraction_within_bounds_or_refused_with_a_reason(body: bytes) -> None:
    request = taken_or_refused(tavily_api.extract_request, body)
    if request is not None:
        assert 1 <= len(request.addresses) <= 20


@given(texts, texts, texts, st.floats(0, 1), st.none() | texts)
def test_a_hit_arrives_as_it_was(title: str, url: str, content: str, score: float, date: str | None) -> None:
    hit = SearchHit(title=title, url=url, content=content, score=score, published_date=date)
    request = tavily_api.SearchBody(query="q")
    (arrived,) = json.loads(tavily_api.search_answer(request, [hit]).wire())["results"]
    assert SearchHit(**{name: value for name, value in arrived.items() if name != "raw_content"}) == hit


def test_a_longer_query_is_taken_where_the_server_allows_it() -> None:
    body = json.dumps({"query": "y" * 1000}).encode()
    assert len(tavily_api.search_request(body, longest_query=1000).query) == 1000
    with pytest.raises(APIRefusal):
        tavily_api.search_request(body)


@pytest.mark.parametrize(("successes", "basic", "advanced"), [(0, 0, 0), (1, 1, 2), (5, 1, 2), (6, 2, 4), (20, 4, 8)])
def test_an_extraction_costs_a_credit_for_each_five_pages_read(successes: int, basic: int, advanced: int) -> None:
    pages = tuple(ExtractedPage(url=f"https://x.example/{n}", raw_content="…") for n in range(successes))
    read = ExtractResults(results=pages, failed_results=(FailedPage(url="https://y.example", error="No."),))
    for depth, cost in (("basic", basic), ("advanced", advanced)):
        request = tavily_api.ExtractBody(urls=["https://x.example"], extract_depth=depth, include_usage=True)
        assert tavily_api.extract_answer(request, read).body["usage"] == {"credits": cost}
        assert tavily_api.extract_answer(request, read, credits=0.5).body["usage"] == {"credits": 0.5}


@pytest.mark.parametrize(
    ("headers", "fine"),
    [
        ({"authorization": "Bearer tvly-test"}, True),
        ({"authorization": "bearer  tvly-test "}, True),
        ({"authorization": "Bearer tvly-testing"}, False),
        ({"authorization": "Bearer ключ"}, False),
        ({"authorization": "Basic tvly-test"}, False),
        ({"authorization": "tvly-test"}, False),
        ({"authorization": "Bearer "}, False),
        ({}, False),
    ],
)
def test_only_a_bearer_with_a_known_key_comes_in(headers: dict[str, str], fine: bool) -> None:
    if fine:
        assert tavily_api.check_key(headers, {"tvly-test"}) == "tvly-test"
    else:
        with pytest.raises(APIRefusal) as raised:
            tavily_api.check_key(headers, {"tvly-test"})
        assert raised.value.answer.status == 401


@pytest.mark.parametrize(
    ("error", "status", "headers"),
    [
        (TavilyAPIError("No.", ErrorType.VALIDATION_ERROR), 400, {}),
        (TavilyAPIError("Who?", ErrorType.AUTH_ERROR), 401, {}),
        (TavilyAPIError("Slowly.", ErrorType.RATE_LIMIT_ERROR, 432, 2.5), 432, {"retry-after": "2.5"}),
        (TavilyAPIError("Late.", ErrorType.TIMEOUT_ERROR), 504, {}),
        (TavilyAPIError("Away.", ErrorType.NETWORK_ERROR), 502, {}),
        (TavilyAPIError("Away.", ErrorType.SERVICE_UNAVAILABLE, 503, 0), 503, {"retry-after": "0"}),
        (TavilyAPIError("Odd.", ErrorType.API_ERROR, 201), 500, {}),
    ],
)
def test_a_failure_of_the_provider_becomes_its_status(
    error: TavilyAPIError, status: int, headers: dict[str, Any]
) -> None:
    answer = tavily_api.failure_answer(error)
    assert (answer.status, answer.body) == (status, {"detail": {"error": error.message}})
    assert {name: value for name, value in answer.headers.items() if name != "content-type"} == headers


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://docs.python.org/3/", True),
        ("https://python.org", True),
        ("https://bugs.python.org/", False),
        ("https://notpython.org/", False),
        ("http://[broken", False),
    ],
)
def test_domains_count_with_their_subdomains(url: str, allowed: bool) -> None:
    request = tavily_api.SearchBody(query="q", include_domains=["Python.org."], exclude_domains=["bugs.python.org"])
    assert request.allows(url) is allowed
    assert tavily_api.SearchBody(query="q").allows(url)
