"""Which provider answers, and what is said when none can."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from hikidashi.config import WebSearchConfig
from hikidashi.errors import ErrorType, MissingExtra, TavilyAPIError
from hikidashi.testing import TavilyServer
from hikidashi.web.local import LocalIndex, ingest
from hikidashi.web.provider import SearchProvider
from hikidashi.web.providers.choose import choose_provider, configured_provider, provider_name


@pytest.fixture(autouse=True)
def _private_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:  # pyright: ignore[reportUnusedFunction]
    for name in ("TAVILY_API_KEY", "SEARXNG_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def test_without_a_key_the_local_index_answers() -> None:
    provider = choose_provider()
    assert isinstance(provider, SearchProvider)
    assert provider.name == "local"


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_key_is_none(monkeypatch: pytest.MonkeyPatch, blank: str) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", blank)
    assert provider_name() == "local"
    assert provider_name("") == "local"


def test_with_a_key_tavily_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_provider(api_key="tvly-test").name == "tavily"
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-test")
    assert choose_provider().name == "tavily"


def test_what_was_named_is_taken_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-test")
    assert choose_provider("local", index=tmp_path / "web.db").name == "local"
    assert choose_provider("searxng", base_url="http://127.0.0.1:1").name == "searxng"


def test_one_configuration_may_hold_the_options_of_all() -> None:
    options: dict[str, Any] = {"api_key": "tvly-test", "base_url": "http://127.0.0.1:1", "index": "web.db"}
    assert [choose_provider(name, **options).name for name in ("tavily", "local", "searxng")] == [
        "tavily",
        "local",
        "searxng",
    ]


def test_the_address_of_searxng_may_stand_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARXNG_URL", "http://127.0.0.1:1")
    assert repr(choose_provider("searxng")) == "SearxngProvider('http://127.0.0.1:1')"


async def test_tavily_without_a_key_is_used_only_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with TavilyServer(keyless=True) as server:
        with pytest.raises(TavilyAPIError) as raised:
            choose_provider("tavily", base_url=server.url)
        assert raised.value.error_type is ErrorType.AUTH_ERROR
        assert "TAVILY_API_KEY" in str(raised.value)
        assert server.requests == []
        provider = choose_provider("tavily", base_url=server.url, keyless=True)
        await provider.search("anything")
        await provider.aclose()
        assert server.requests[0].headers["x-tavily-access-mode"] == "keyless"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"provider": "google"}, "There is no provider 'google'. Choose one of 'tavily', 'local', 'searxng'."),
        ({"provider": "searxng"}, "SEARXNG_URL"),
        ({"keyless": True}, 'provider="tavily"'),
        ({"provider": "local", "keyless": True}, '`keyless=True` does not go with provider="local"'),
        (
            {"base_url": "http://127.0.0.1:1"},
            "`base_url` 'http://127.0.0.1:1' does not say which provider it belongs to.",
        ),
        ({"provider": "searxng", "base_url": "nowhere"}, "`base_url` is 'nowhere'"),
    ],
)
def test_a_choice_that_cannot_be_made_says_what_to_do(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(TavilyAPIError) as raised:
        choose_provider(**arguments, language="en")
    assert raised.value.error_type is ErrorType.VALIDATION_ERROR
    assert words in str(raised.value)


def test_it_is_said_in_japanese_unless_told_otherwise() -> None:
    with pytest.raises(TavilyAPIError, match="プロバイダー 'google' はありません"):
        choose_provider("google")


def test_the_ranking_by_meaning_is_chosen_here_and_in_a_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = LocalIndex(tmp_path / "web.db")
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(f"# {name}\n\nThe drawer holds a tool.\n")
    asyncio.run(ingested(index, tmp_path))
    named = choose_provider("local", index=index.path, ranker="hybrid")
    configured = configured_provider(WebSearchConfig(provider="local", index=str(index.path), ranker="hybrid"))
    plain = choose_provider("local", index=index.path)

    def score(provider: SearchProvider) -> float:
        return asyncio.run(provider.search("drawer")).results[0].score

    assert score(named) == score(configured) != score(plain)
    with pytest.raises(TavilyAPIError, match="`ranker` is 'best'"):
        choose_provider("local", ranker=cast("Any", "best"), language="en")
    monkeypatch.setitem(sys.modules, "hikidashi_encoder", None)
    with pytest.raises(MissingExtra, match=r"pip install hikidashi"):
        choose_provider("local", ranker="hybrid")


async def ingested(index: LocalIndex, folder: Path) -> None:
    async for _ in ingest(index, [str(folder)]):
        pass
