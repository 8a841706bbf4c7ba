"""Section 3: `tavily_extract`."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable

import pytest
from pydantic_ai import RunContext

from hikidashi.testing.tavily import TavilyPage, TavilyServer
from hikidashi.web import TavilySearchDeps, tavily_extract

Start = Callable[..., tuple[TavilyServer, RunContext[TavilySearchDeps]]]

SAKURA, UME = "https://example.com/sakura", "https://example.com/ume"
PAGES = [
    TavilyPage(title="桜", url=SAKURA, content="桜", raw_content="桜は春の花です。\n\n四月に咲きます。"),
    TavilyPage(title="梅", url=UME, content="梅", raw_content="梅は二月の花です。"),
]
HEAD = "## コンテンツ抽出結果\n\n"
SAKURA_TEXT = f"### URL: {SAKURA}\n桜は春の花です。\n\n四月に咲きます。"
UME_TEXT = f"### URL: {UME}\n梅は二月の花です。"


def refused(text: str, error_type: str) -> bool:
    first, second = text.split("\n")
    return first.startswith("Tavily API エラー: ") and second == f"エラータイプ: {error_type}"


def failures(text: str) -> list[str]:
    """The addresses in the failed section."""
    lines = text.partition("## 失敗したURL\n")[2].split("\n")
    assert all(line.startswith("- ") and ": " in line for line in lines if line)
    return [line.removeprefix("- ").partition(": ")[0] for line in lines if line]


def test_extract_1_takes_a_context_and_addresses() -> None:
    assert list(inspect.signature(tavily_extract).parameters) == ["ctx", "urls"]
    assert (tavily_extract.__doc__ or "").startswith("URL群からコンテンツを抽出する。")


async def test_extract_2_an_empty_list_is_an_error_at_once(tavily: Start) -> None:
    server, ctx = tavily(PAGES)

    assert refused(await tavily_extract(ctx, []), "VALIDATION_ERROR")
    assert server.requests == []


@pytest.mark.parametrize("url", ["example.com", "ftp://example.com/", "//example.com"])
async def test_extract_3_an_address_needs_a_scheme(tavily: Start, url: str) -> None:
    server, ctx = tavily(PAGES)

    assert failures(await tavily_extract(ctx, [url])) == [url]
    assert server.requests == []


async def test_extract_4_http_is_taken_with_a_warning(tavily: Start, caplog: pytest.LogCaptureFixture) -> None:
    page = TavilyPage(title="t", url="http://example.com/", content="plain")
    _, ctx = tavily([page])

    text = await tavily_extract(ctx, ["http://example.com/"])

    assert text == f"{HEAD}### URL: http://example.com/\nplain"
    assert [record.levelname for record in caplog.records if "http://" in record.getMessage()] == ["WARNING"]


async def test_extract_5_an_address_needs_a_host(tavily: Start) -> None:
    server, ctx = tavily(PAGES)

    assert failures(await tavily_extract(ctx, ["https:///path"])) == ["https:///path"]
    assert server.requests == []


async def test_extract_6_at_most_20_addresses_are_asked_for(tavily: Start) -> None:
    urls = [f"https://example.com/{number}" for number in range(23)]
    server, ctx = tavily([TavilyPage(title="t", url=url, content="c") for url in urls])

    text = await tavily_extract(ctx, urls)

    assert text.count("### URL: ") == 20
    assert failures(text) == urls[20:]
    assert server.requests[0].urls == urls[:20]


async def test_extract_7_an_address_given_twice_counts_once(tavily: Start) -> None:
    server, ctx = tavily(PAGES)

    assert await tavily_extract(ctx, [SAKURA] * 21) == HEAD + SAKURA_TEXT
    assert server.requests[0].urls == [SAKURA]


async def test_extract_8_an_invalid_address_does_not_stop_the_others(tavily: Start) -> None:
    server, ctx = tavily(PAGES)

    text = await tavily_extract(ctx, ["example.com", SAKURA, "https:///path"])

    assert text.startswith(f"{HEAD}{SAKURA_TEXT}\n\n---\n\n## 失敗したURL\n")
    assert failures(text) == ["example.com", "https:///path"]
    assert server.requests[0].urls == [SAKURA]


async def test_extract_9_only_invalid_addresses_are_all_listed(tavily: Start) -> None:
    server, ctx = tavily(PAGES)

    assert failures(await tavily_extract(ctx, ["example.com", "https:///path"])) == ["example.com", "https:///path"]
    assert server.requests == []


async def test_extract_10_the_output_byte_for_byte(tavily: Start) -> None:
    _, ctx = tavily(PAGES)

    assert await tavily_extract(ctx, [SAKURA, "https://example.com/gone", UME]) == (
        f"{HEAD}{SAKURA_TEXT}\n\n---\n\n{UME_TEXT}\n\n---\n\n"
        "## 失敗したURL\n- https://example.com/gone: Failed to fetch url"
    )


async def test_extract_11_the_output_where_all_succeeded(tavily: Start) -> None:
    _, ctx = tavily(PAGES)

    assert await tavily_extract(ctx, [SAKURA]) == HEAD + SAKURA_TEXT
    assert await tavily_extract(ctx, [SAKURA, UME]) == f"{HEAD}{SAKURA_TEXT}\n\n---\n\n{UME_TEXT}"


async def test_extract_12_the_output_where_all_failed(tavily: Start) -> None:
    _, ctx = tavily(PAGES)

    assert await tavily_extract(ctx, ["https://example.com/gone"]) == (
        "## コンテンツ抽出結果\n\nすべてのURLからコンテンツを抽出できませんでした。\n\n"
        "## 失敗したURL\n- https://example.com/gone: Failed to fetch url"
    )


async def test_extract_13_a_page_that_fails_does_not_stop_the_others(tavily: Start) -> None:
    _, ctx = tavily(PAGES)

    text = await tavily_extract(ctx, ["https://example.com/gone", UME])

    assert UME_TEXT in text
    assert failures(text) == ["https://example.com/gone"]


async def test_extract_14_an_invalid_key_is_told(tavily: Start) -> None:
    _, ctx = tavily(PAGES, api_keys={"tvly-other"})

    assert refused(await tavily_extract(ctx, [SAKURA]), "AUTH_ERROR")


async def test_extract_15_bad_input_is_told(tavily: Start, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    _, ctx = tavily(PAGES)
    nothing: list[str] = []

    assert refused(await tavily_extract(ctx, nothing), "VALIDATION_ERROR")
    assert "tavily_extract failed: " in caplog.text
