"""Values of the wrong type, at every function of `hikidashi.web`: an error that names the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import hikidashi.web
from hikidashi.errors import FetchRefused, TavilyAPIError
from hikidashi.web import Fetcher, LocalSearchProvider, SearxngProvider, TavilyAPIClient, choose_provider, web_tools
from hikidashi.web.local import LocalIndex, ingest
from hikidashi.web.local.sources import snapshot

tavily: Callable[..., Any] = partial(TavilyAPIClient, "tvly-test")
searxng: Callable[..., Any] = partial(SearxngProvider, "http://127.0.0.1:9")
local: Callable[..., Any] = partial(choose_provider, provider="local")


def local_tools(**options: Any) -> object:
    return web_tools(LocalSearchProvider(), **options)


@pytest.fixture
def index(tmp_path: Path) -> LocalIndex:
    return LocalIndex(tmp_path / "web.db")


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "fox.md").write_text("# Fox\n\nThe quick brown fox.")
    return folder


async def ingested(index: LocalIndex, sources: Any, **options: Any) -> list[str]:
    return [event.kind async for event in ingest(index, sources, **options)]


async def test_one_source_counts_as_a_list_of_one(index: LocalIndex, documents: Path) -> None:
    assert await ingested(index, str(documents)) == ["added"]
    assert await ingested(index, documents) == ["unchanged"]
    assert snapshot(str(documents)) == snapshot([documents])  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("sources", [None, 5, [None], [5], "", [" "], [b"docs"], {"docs": 1}])
async def test_sources_that_are_not_paths_or_addresses_are_refused(index: LocalIndex, sources: object) -> None:
    with pytest.raises(TavilyAPIError, match=r"`sources` is .* It must be a list of strings"):
        await ingested(index, sources)
    assert not index.path.exists()


async def test_a_path_that_no_system_allows_fails_alone(index: LocalIndex, documents: Path) -> None:
    assert sorted(await ingested(index, ["a\0b", documents])) == ["added", "failed"]


@pytest.mark.parametrize("max_bytes", [0, -1, "5", float("nan")])
async def test_a_limit_of_a_file_is_a_positive_number(index: LocalIndex, documents: Path, max_bytes: object) -> None:
    with pytest.raises(TavilyAPIError, match=r"`max_bytes` is .* It must be a number above 0"):
        await ingested(index, [documents], max_bytes=max_bytes)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"question": None}, "`question` is None: it must be text"),
        ({"question": "fox", "limit": 0}, "`limit` is 0: use a whole number from 1 on"),
        ({"question": "fox", "limit": -1}, "`limit` is -1"),
        ({"question": "fox", "limit": float("nan")}, "`limit` is nan"),
        ({"question": "fox", "limit": "5"}, "`limit` is '5'"),
    ],
)
async def test_an_odd_search_of_the_index_is_refused(
    index: LocalIndex, documents: Path, given: dict[str, Any], error: str
) -> None:
    await ingested(index, documents)
    with pytest.raises(ValueError, match=error):
        index.search(**given)


ADDRESS = "https://example.com/"


@pytest.mark.parametrize(
    ("method", "first", "options", "error"),
    [
        ("search", "fox", {"filters": 5}, "`filters` is 5. It must be a `SearchFilters`."),
        ("extract", [ADDRESS], {"options": 5}, "`options` is 5. It must be a `ExtractOptions`."),
        ("crawl", ADDRESS, {"options": 5}, "`options` is 5. It must be a `CrawlOptions`."),
        ("crawl", None, {}, "`url` is None: a URL must be a string."),
        ("map", 5, {}, "`url` is 5: a URL must be a string."),
    ],
)
@pytest.mark.parametrize("make", [local, tavily])
async def test_an_odd_argument_of_a_provider_is_refused(
    make: Callable[..., Any], method: str, first: object, options: dict[str, Any], error: str
) -> None:
    async with make(language="en") as provider:
        with pytest.raises(TavilyAPIError) as caught:
            await getattr(provider, method)(first, **options)
    assert str(caught.value).endswith(error)


@pytest.mark.parametrize("language", ["de", None, []])
@pytest.mark.parametrize("make", [local, tavily, searxng, local_tools])
def test_an_unknown_language_is_refused(make: Callable[..., object], language: object) -> None:
    with pytest.raises(ValueError, match=r"`language` is .*: use 'en' or 'ja'"):
        make(language=language)


@pytest.mark.parametrize(
    ("make", "options", "error"),
    [
        (choose_provider, {"provider": []}, r"There is no provider \[\]"),
        (SearxngProvider, {"base_url": 5}, "`base_url` is 5. It must be an http"),
        (searxng, {"timeout": "x"}, "`timeout` is 'x'. It must be a number above 0"),
        (searxng, {"engines": [5]}, r"`engines` is \[5\]"),
        (tavily, {"timeout": None}, "`timeout` is None. It must be a number above 0"),
        (tavily, {"max_in_flight": "x"}, "`max_in_flight` is x"),
        (tavily, {"credit_limit": float("nan")}, "`credit_limit` is nan"),
        (tavily, {"credit_limit": -1}, "`credit_limit` is -1"),
        (tavily, {"base_url": 5}, "`base_url` is 5"),
    ],
)
def test_an_odd_option_of_a_provider_is_refused(
    make: Callable[..., object], options: dict[str, Any], error: str
) -> None:
    with pytest.raises(TavilyAPIError, match=error):
        make(language="en", **options)


def test_the_name_of_one_engine_is_not_split_into_letters() -> None:
    provider: Any = SearxngProvider("http://127.0.0.1:9", engines="google")
    assert provider._options == {"engines": "google"}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"timeout": -1}, "`timeout` is -1: it must be a number above 0"),
        ({"timeout": float("nan")}, "`timeout` is nan"),
        ({"timeout": "5"}, "`timeout` is '5'"),
        ({"max_bytes": 0}, "`max_bytes` is 0"),
        ({"allowed_hosts": "wiki.lan"}, r"`allowed_hosts` is 'wiki.lan': use a list of hosts, such as \['wiki.lan'\]"),
    ],
)
def test_an_odd_option_of_a_fetcher_is_refused(given: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        Fetcher(**given)


@pytest.mark.parametrize("url", [None, 5, b"https://example.com/"])
async def test_an_address_that_is_not_text_is_not_fetched(url: Any) -> None:
    with pytest.raises(FetchRefused, match="is not fetched: a URL must be a string"):
        await Fetcher().fetch(url)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"provider": None}, "`provider` is None: pass a search provider"),
        ({"provider": "tavily"}, "`provider` is 'tavily': pass a search provider"),
        ({"untrusted": "fenced"}, "`untrusted` is 'fenced': use 'fence' or None"),
    ],
)
@pytest.mark.parametrize("offer", [web_tools, hikidashi.web.web_mcp_server])
def test_an_odd_option_of_the_tools_is_refused(offer: Callable[..., object], given: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        offer(**{"provider": LocalSearchProvider(), **given})


@pytest.mark.parametrize("max_tokens", [-1, "100", 0])
def test_the_token_limit_of_the_tools_is_a_positive_number(max_tokens: Any) -> None:
    with pytest.raises(TavilyAPIError, match=r"`max_tokens` is .* It must be an integer of 1 or more"):
        web_tools(LocalSearchProvider(), language="en", max_tokens=max_tokens)
