"""What is known to be missing before anything is imported."""

from __future__ import annotations

import sys

import pytest

from hikidashi.cli.chat.missing import lacks_something
from hikidashi.config import AgentConfig, Config, ToolsConfig, WebSearchConfig

KEYLESS = AgentConfig(engine="claude-code")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def searching(search: WebSearchConfig) -> Config:
    return Config(tools=ToolsConfig(web_search=search), agent=KEYLESS)


@pytest.mark.parametrize(
    "config",
    [
        Config(agent=KEYLESS),
        Config(agent=AgentConfig(api_key="sk-test")),
        Config(agent=AgentConfig(provider="bedrock")),
        Config(agent=AgentConfig(provider="openai", base_url="http://127.0.0.1:8080")),
        searching(WebSearchConfig(enabled=True, api_key="tvly-test")),
        searching(WebSearchConfig(enabled=True, provider="local")),
        searching(WebSearchConfig(enabled=False)),
    ],
)
def test_nothing_is_missing_where_packages_and_keys_are_there(config: Config) -> None:
    assert not lacks_something(config)


@pytest.mark.parametrize(
    "config",
    [
        Config(agent=AgentConfig()),
        Config(agent=AgentConfig(provider="openai")),
        searching(WebSearchConfig(enabled=True)),
    ],
)
def test_a_key_is_missing_where_neither_config_nor_environment_has_it(config: Config) -> None:
    assert lacks_something(config)


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
def test_a_key_of_the_environment_is_a_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "sk-test")
    assert not lacks_something(Config(agent=AgentConfig()))


@pytest.mark.parametrize(
    ("package", "config"),
    [
        ("claude_agent_sdk", Config(agent=KEYLESS)),
        ("strands", Config(agent=AgentConfig(api_key="sk-test"))),
        ("anthropic", Config(agent=AgentConfig(api_key="sk-test"))),
        ("ollama", Config(agent=AgentConfig(provider="ollama"))),
        ("tavily", searching(WebSearchConfig(enabled=True, api_key="tvly-test"))),
        ("httpx", searching(WebSearchConfig(enabled=True, provider="searxng", base_url="http://127.0.0.1:8080"))),
    ],
)
def test_a_package_that_is_not_installed_is_missing(
    package: str, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert lacks_something(config)
