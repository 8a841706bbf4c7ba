"""Answers of unexpected shapes: whatever a server sends, a search gives results or a `TavilyAPIError`."""

from __future__ import annotations

import json
import logging
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.testing import TavilyPage, TavilyServer, tavily_fault
from hikidashi.web.providers.tavily import TavilyAPIClient
from hikidashi.web.providers.tavily_answers import read_answer, read_credits, read_hits, read_pages, translate
from hikidashi.web.providers.transport import RetryPolicy
from hikidashi.web.results import ExtractedPage, FailedPage, SearchHit

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
ITEM = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("title", "url", "content", "score", "published_date", "raw_content", "error"), JSON | st.just("https://a.jp")
    ),
)
ANSWER = st.fixed_dictionaries(
    {},
    optional={
        "results": st.lists(ITEM | JSON, max_size=4) | JSON,
        "failed_results": st.lists(ITEM | JSON, max_size=4) | JSON,
        "answer": JSON,
        "usage": JSON | st.fixed_dictionaries({"credits": JSON}),
    },
)


@given(ANSWER)
def test_hits_of_any_answer_are_whole_or_refused(answer: dict[str, Any]) -> None:
    if not isinstance(answer.get("results", []), list | None):
        with pytest.raises(TavilyAPIError, match="results"):
            read_hits(answer, limit=3)
        return
    hits = read_hits(answer, limit=3)
    assert len(hits) <= 3
    for hit in hits:
        assert all(isinstance(text, str) for text in (hit.title, hit.url, hit.content))
        assert 0.0 <= hit.score <= 1.0


@given(ANSWER)
def test_credits_and_summary_of_any_answer_are_usable_or_none(answer: dict[str, Any]) -> None:
    cost, summary = read_credits(answer), read_answer(answer)
    assert cost is None or 0 <= cost < float("inf")
    assert summary is None or (isinstance(summary, str) and summary)


@given(ANSWER, st.lists(st.sampled_from(["https://a.jp", "https://b.jp", "https://c.jp/x"]), unique=True))
def test_every_address_asked_for_is_answered_once(answer: dict[str, Any], asked: list[str]) -> None:
    try:
        pages, failed = read_pages(answer, asked)
    except TavilyAPIError:
        return
    assert sorted([*pages, *(page.url for page in failed)]) == sorted(asked)
    assert all(url == page.url and page.raw_content.strip() for url, page in pages.items())
    assert all(page.error for page in failed)


@pytest.mark.parametrize(
    ("item", "hit"),
    [
        ({"url": "https://a.jp"}, SearchHit(title="https://a.jp", url="https://a.jp", content="", score=0)),
        (
            {"title": None, "url": "https://a.jp", "content": None, "score": None},
            SearchHit(title="https://a.jp", url="https://a.jp", content="", score=0),
        ),
        (
            {"title": 5, "url": "u", "content": "c", "score": "0.75", "published_date": 3},
            SearchHit(title="5", url="u", content="c", score=0.75),
        ),
        ({"title": "t", "url": "u", "score": 7}, SearchHit(title="t", url="u", content="", score=1.0)),
        ({"title": "t", "url": "u", "score": float("nan")}, SearchHit(title="t", url="u", content="", score=0.0)),
        ({"title": "t", "url": "u", "score": "good"}, SearchHit(title="t", url="u", content="", score=0.0)),
        ({"title": "t", "url": "u", "score": 10**400}, SearchHit(title="t", url="u", content="", score=0.0)),
    ],
)
def test_fields_that_are_missing_or_strange_get_a_value(item: dict[str, Any], hit: SearchHit) -> None:
    assert read_hits({"results": [item]}, limit=5) == (hit,)


def test_items_without_address_and_text_and_items_that_are_none_are_left_out() -> None:
    answer = {"results": [{"title": "empty"}, None, "text", 5, {"content": "c"}]}
    assert read_hits(answer, limit=9) == (SearchHit(title="", url="", content="c", score=0),)


def test_an_address_may_come_back_in_another_spelling() -> None:
    asked = ["https://Example.com/A/", "https://example.com", "https://例え.jp/茶"]
    answer = {
        "results": [
            {"url": "https://xn--r8jz45g.jp/%E8%8C%B6", "raw_content": "茶"},
            {"url": "https://example.com/", "raw_content": "home", "title": "H"},
            {"url": "https://example.com/A", "raw_content": "a"},
        ]
    }
    assert read_pages(answer, asked) == (
        {
            "https://example.com": ExtractedPage(url="https://example.com", raw_content="home", title="H"),
            "https://Example.com/A/": ExtractedPage(url="https://Example.com/A/", raw_content="a"),
            "https://例え.jp/茶": ExtractedPage(url="https://例え.jp/茶", raw_content="茶"),
        },
        (),
    )


def test_an_address_with_a_slash_at_its_end_and_one_without_are_two_pages() -> None:
    asked = ["https://a.jp/x", "https://a.jp/x/", "https://a.jp/y", "https://a.jp/y/"]
    answer = {
        "results": [
            {"url": "https://a.jp/x/", "raw_content": "with"},
            {"url": "https://a.jp/x", "raw_content": "without"},
            {"url": "https://a.jp/y/", "raw_content": "with"},
        ]
    }
    pages, failed = read_pages(answer, asked)
    assert {url: page.raw_content for url, page in pages.items()} == {
        "https://a.jp/x": "without",
        "https://a.jp/x/": "with",
        "https://a.jp/y/": "with",
    }
    assert failed == (FailedPage(url="https://a.jp/y", error="the API returned nothing for it"),)


def test_the_one_address_that_is_left_was_sent_on() -> None:
    answer = {"results": [{"url": "https://www.example.com/new", "raw_content": "text"}]}
    pages, failed = read_pages(answer, ["https://example.com/old"])
    assert (pages["https://example.com/old"].raw_content, failed) == ("text", ())


def test_of_several_strangers_none_is_guessed() -> None:
    answer = {"results": [{"url": f"https://other.jp/{n}", "raw_content": "text"} for n in range(2)]}
    pages, failed = read_pages(answer, ["https://a.jp", "https://b.jp"])
    assert pages == {}
    assert [page.error for page in failed] == ["the API returned nothing for it"] * 2


def test_a_page_given_twice_answers_for_no_other() -> None:
    answer = {"results": [{"url": "https://a.jp", "raw_content": "a"}] * 2}
    pages, failed = read_pages(answer, ["https://a.jp", "https://b.jp"])
    assert list(pages) == ["https://a.jp"]
    assert [page.url for page in failed] == ["https://b.jp"]


def test_a_page_without_text_and_a_failure_without_words_get_a_reason() -> None:
    answer = {"results": [{"url": "https://a.jp", "raw_content": None}], "failed_results": [{"url": "https://b.jp"}]}
    assert read_pages(answer, ["https://a.jp", "https://b.jp"])[1] == (
        FailedPage(url="https://a.jp", error="the page has no text"),
        FailedPage(url="https://b.jp", error="the page could not be extracted"),
    )


@pytest.mark.parametrize("usage", [None, {}, [], {"credits": None}, {"credits": -1}, {"credits": True}, "5"])
def test_a_cost_that_is_none_is_not_read(usage: Any) -> None:
    assert read_credits({"usage": usage}) is None


def test_a_cost_may_be_a_fraction_or_nothing() -> None:
    assert [read_credits({"usage": {"credits": cost}}) for cost in (0, 0.4, "2")] == [0, 0.4, 2]


PAGE = TavilyPage(title="Tea", url="https://example.com/tea", content="Tea.", score=0.5)
NO_RETRY = RetryPolicy(max_retries=0)


async def failure(fault: Any, *, language: Any = "en", **options: Any) -> TavilyAPIError:
    with TavilyServer([PAGE], faults=[fault] * 9) as server:
        async with TavilyAPIClient(
            "tvly-test", base_url=server.url, retry=NO_RETRY, language=language, **options
        ) as client:
            with pytest.raises(TavilyAPIError) as error:
                await client.search("tea")
            with pytest.raises(TavilyAPIError) as extract_error:
                await client.extract([PAGE.url])
    same = (extract_error.value.error_type, extract_error.value.status_code)
    assert same == (error.value.error_type, error.value.status_code)
    return error.value


@pytest.mark.parametrize(
    ("fault", "kind", "retryable"),
    [
        (tavily_fault.bad_request(), "VALIDATION_ERROR", False),
        (tavily_fault.unauthorized(), "AUTH_ERROR", False),
        (tavily_fault.forbidden(), "AUTH_ERROR", False),
        (tavily_fault.status(404, "Not Found"), "API_ERROR", False),
        (tavily_fault.status(408, "Slow"), "TIMEOUT_ERROR", True),
        (tavily_fault.status(409, "Conflict"), "API_ERROR", False),
        (tavily_fault.status(422, "Bad body"), "VALIDATION_ERROR", False),
        (tavily_fault.rate_limited(), "RATE_LIMIT_ERROR", True),
        (tavily_fault.out_of_credits(), "API_ERROR", False),
        (tavily_fault.out_of_paygo(), "API_ERROR", False),
        (tavily_fault.server_error(), "SERVER_ERROR", True),
        (tavily_fault.status(501, "Not Implemented"), "SERVER_ERROR", True),
        (tavily_fault.status(502, "Bad Gateway"), "SERVICE_UNAVAILABLE", True),
        (tavily_fault.unavailable(), "SERVICE_UNAVAILABLE", True),
        (tavily_fault.status(504, "Gateway Timeout"), "SERVICE_UNAVAILABLE", True),
        (tavily_fault.raw(201, "{}"), "API_ERROR", False),
        (tavily_fault.raw(204), "API_ERROR", False),
        (tavily_fault.raw(302), "API_ERROR", False),
        (tavily_fault.not_json(), "API_ERROR", False),
        (tavily_fault.malformed(), "API_ERROR", False),
        (tavily_fault.raw(200, "[1, 2]"), "API_ERROR", False),
        (tavily_fault.raw(200, "null"), "API_ERROR", False),
        (tavily_fault.raw(200, '{"results": "none"}'), "API_ERROR", False),
        (tavily_fault.raw(200, b"\xff\xfe\xff"), "API_ERROR", False),
        (tavily_fault.raw(200, "[" * 100_000), "API_ERROR", False),
        (tavily_fault.Raw(200, b"not gzip", {"content-encoding": "gzip"}), "API_ERROR", False),
    ],
)
async def test_every_answer_has_its_type(fault: Any, kind: str, retryable: bool) -> None:
    error = await failure(fault)
    status = getattr(fault, "status", 200)
    assert (error.error_type, error.status_code, error.is_retryable) == (kind, status, retryable)
    assert str(status) in error.message or "shape" in error.message


async def test_an_answer_that_breaks_off_is_a_network_error() -> None:
    error = await failure(tavily_fault.cut())
    assert (error.error_type, error.status_code) == (ErrorType.NETWORK_ERROR, None)


async def test_silence_is_a_timeout() -> None:
    error = await failure(tavily_fault.hang(), timeout=0.05)
    assert (error.error_type, error.status_code) == (ErrorType.TIMEOUT_ERROR, None)
    assert error.message == "The API did not answer within 0.05 seconds. Raise `timeout`, or try again."


async def test_a_server_that_is_not_there_is_a_network_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    async with TavilyAPIClient("tvly-test", base_url=f"http://127.0.0.1:{port}", retry=NO_RETRY) as client:
        with pytest.raises(TavilyAPIError) as error:
            await client.search("tea")
    assert error.value.error_type is ErrorType.NETWORK_ERROR
    assert error.value.message.startswith("APIに接続できませんでした（")


@pytest.mark.parametrize("wait", [7, 2.5, 0])
async def test_retry_after_is_kept_in_seconds(wait: float) -> None:
    error = await failure(tavily_fault.rate_limited(retry_after=wait))
    assert (error.status_code, error.retry_after) == (429, wait)
    assert f"Try again in {wait:g} seconds." in error.message


async def test_retry_after_may_be_a_date_and_come_with_any_status() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=120), usegmt=True)
    limited = await failure(tavily_fault.Raw(503, b"", {"retry-after": date}))
    assert limited.error_type is ErrorType.SERVICE_UNAVAILABLE
    assert 100 < (limited.retry_after or 0) <= 120


async def test_the_limit_of_the_keyless_mode_says_when_to_come_back() -> None:
    body = b'{"error": {"code": "limit", "message": "Keyless limit reached.", "retry_after_seconds": 90}}'
    error = await failure(tavily_fault.Raw(429, body, {"content-type": "application/json"}))
    assert (error.error_type, error.retry_after) == (ErrorType.RATE_LIMIT_ERROR, 90)
    assert error.message.endswith("The API says: Keyless limit reached.")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (tavily_fault.bad_request("Query is missing."), "Query is missing."),
        (tavily_fault.raw(400, '{"detail": "plain"}'), "plain"),
        (tavily_fault.raw(422, '{"detail": [{"loc": ["body", "query"], "msg": "Field required"}]}'), "Field required"),
        (tavily_fault.raw(400, '{"error": "short"}'), "short"),
        (tavily_fault.raw(400, '{"message": "gateway"}'), "gateway"),
        (tavily_fault.raw(400, '"text"'), "text"),
        (tavily_fault.raw(400, "in the open", content_type="text/plain"), "in the open"),
        (tavily_fault.bad_request("line\nbreak\x00\u2028 and  more"), "line break and more"),
    ],
)
async def test_the_servers_words_are_passed_on_in_one_line(fault: Any, said: str) -> None:
    error = await failure(fault)
    assert error.message == f"The API refused the request (HTTP {fault.status}). The API says: {said}"


@pytest.mark.parametrize("body", ["", "<html>Denied</html>", "{}", '{"detail": {}}', '{"detail": []}', "[]", "5"])
async def test_an_answer_without_words_is_told_by_its_status_alone(body: str) -> None:
    error = await failure(tavily_fault.raw(400, body, content_type="text/html"))
    assert error.message == "The API refused the request (HTTP 400)."


async def test_a_long_story_is_cut() -> None:
    error = await failure(tavily_fault.bad_request("x" * 10_000))
    assert len(error.message) < 400


async def test_messages_are_japanese_unless_told_otherwise() -> None:
    assert (await failure(tavily_fault.out_of_credits(), language="ja")).message == (
        "契約プランの利用上限に達しました（HTTP 432）。Tavily のプランと利用上限を確認してください。"
        "APIの説明: This request exceeds your plan's set usage limit. Please upgrade your plan."
    )
    assert (await failure(tavily_fault.rate_limited(retry_after=3), language="ja")).message.startswith(
        "レート制限を超過しました（HTTP 429）。3秒後に再試行できます。APIの説明: "
    )


async def test_a_server_that_repeats_the_key_does_not_get_it_into_an_error_or_a_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG):
        error = await failure(tavily_fault.bad_request("Unknown key tvly-test!"))
    assert "Unknown key ***!" in error.message
    ours = [record.getMessage() for record in caplog.records if record.name == "hikidashi"]
    assert "tvly-test" not in "".join([repr(error), *ours])


# Retries.


class Waits:
    """Notes how long it was to sleep."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


async def test_faults_that_pass_are_tried_again_until_the_answer_comes() -> None:
    waits = Waits()
    faults = [tavily_fault.rate_limited(retry_after=4), tavily_fault.cut(), tavily_fault.unavailable(), None]
    with TavilyServer([PAGE], faults=faults) as server:
        policy = RetryPolicy(sleep=waits, jitter=lambda: 0.0)
        async with TavilyAPIClient("tvly-test", base_url=server.url, retry=policy) as client:
            assert [hit.title for hit in (await client.search("tea")).results] == ["Tea"]
            assert client.credits_used == 1
    assert waits.seconds == [4.0, 1.0, 2.0]
    assert server.searches == ["tea"] * 4


async def test_after_the_last_try_the_original_type_is_reported() -> None:
    with TavilyServer([PAGE], faults=[tavily_fault.rate_limited(retry_after=0)] * 9) as server:
        async with TavilyAPIClient("tvly-test", base_url=server.url, max_retries=2) as client:
            with pytest.raises(TavilyAPIError) as error:
                await client.search("tea")
            assert client.credits_used == 0
    assert (error.value.error_type, error.value.status_code) == (ErrorType.RATE_LIMIT_ERROR, 429)
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "fault", [tavily_fault.unauthorized(), tavily_fault.bad_request(), tavily_fault.out_of_credits()]
)
async def test_what_cannot_pass_is_sent_once(fault: Any) -> None:
    with TavilyServer([PAGE], faults=[fault] * 9) as server:
        async with TavilyAPIClient("tvly-test", base_url=server.url, retry=RetryPolicy(sleep=Waits())) as client:
            with pytest.raises(TavilyAPIError):
                await client.search("tea")
    assert len(server.requests) == 1


@given(
    st.sampled_from([ValueError, KeyError, RuntimeError, TypeError, OSError, ConnectionResetError]),
    st.text(),
    st.sampled_from(["tvly-test", None]),
)
def test_any_exception_at_all_becomes_an_error_with_a_message(
    kind: type[Exception], text: str, secret: str | None
) -> None:
    error = translate(kind(text), None, timeout=1, secret=secret)
    assert error.message
    assert error.error_type in {ErrorType.NETWORK_ERROR, ErrorType.API_ERROR}


@pytest.mark.parametrize(
    "fault",
    [
        tavily_fault.status(401, "the key tvly-test is wrong"),
        tavily_fault.status(500, "x" * 292 + " tvly-test"),
        tavily_fault.raw(200, '["tvly-test"]'),
        tavily_fault.raw(200, '["' + "x" * 30 + 'tvly-test"]'),
    ],
)
async def test_a_server_that_repeats_the_key_brings_it_into_no_message(fault: Any) -> None:
    error = await failure(fault)
    assert "tvly-t" not in str(error)


async def test_a_reason_for_a_page_that_repeats_the_key_is_told_without_it() -> None:
    body = json.dumps({"results": [], "failed_results": [{"url": PAGE.url, "error": "key tvly-test refused"}]})
    with TavilyServer([PAGE], faults=[tavily_fault.raw(200, body)]) as server:
        async with TavilyAPIClient("tvly-test", base_url=server.url) as client:
            (failed,) = (await client.extract([PAGE.url])).failed_results
    assert failed.error == "key *** refused"


async def test_a_wait_of_decades_is_not_repeated() -> None:
    error = await failure(tavily_fault.rate_limited(retry_after=2_301_440_000))
    assert error.retry_after == 2_301_440_000
    assert "Try again" not in error.message


async def test_a_reason_for_a_page_of_a_crawl_that_repeats_the_key_is_told_without_it() -> None:
    body = {"results": [], "failed_results": [{"url": PAGE.url, "error": "denied for tvly-test"}]}
    with TavilyServer([PAGE], faults=[tavily_fault.raw(200, json.dumps(body))]) as server:
        async with TavilyAPIClient("tvly-test", base_url=server.url, retry=NO_RETRY) as client:
            (failed,) = (await client.crawl("https://example.com/")).failed_results
    assert failed.error == "denied for ***"
