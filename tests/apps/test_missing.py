"""What is known to be missing before anything is imported."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hikidashi.apps.factory import anything_missing, first_problem, startup_problems
from hikidashi.cli.output import Language
from hikidashi.config import AgentConfig, Config, ToolsConfig, WebSearchConfig
from hikidashi.errors import MissingExtra

KEYLESS = AgentConfig(engine="claude-code")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "sk-test")


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
    assert not anything_missing(config)


@pytest.mark.parametrize(
    "config",
    [
        Config(agent=AgentConfig()),
        Config(agent=AgentConfig(provider="openai")),
        searching(WebSearchConfig(enabled=True)),
    ],
)
def test_a_key_is_missing_where_neither_config_nor_environment_has_it(config: Config) -> None:
    assert anything_missing(config)


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
def test_a_key_of_the_environment_is_a_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "sk-test")
    assert not anything_missing(Config(agent=AgentConfig()))


@pytest.mark.parametrize(
    ("package", "config"),
    [
        ("claude_agent_sdk", Config(agent=KEYLESS)),
        ("strands", Config(agent=AgentConfig(api_key="sk-test"))),
        ("anthropic", Config(agent=AgentConfig(api_key="sk-test"))),
        ("ollama", Config(agent=AgentConfig(provider="ollama"))),
        ("tavily", searching(WebSearchConfig(enabled=True, api_key="tvly-test"))),
        ("httpx", searching(WebSearchConfig(enabled=True, provider="searxng", base_url="http://127.0.0.1:8080"))),
        ("hikidashi_encoder", searching(WebSearchConfig(enabled=True, provider="local", ranker="hybrid"))),
    ],
)
def test_a_package_that_is_not_installed_is_missing(
    package: str, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert anything_missing(config)


@pytest.fixture
def nobody_logged_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("CLAUDE_CODE_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")


@pytest.mark.usefixtures("nobody_logged_in")
@pytest.mark.parametrize(("language", "words"), [("en", "Claude Code is not logged in"), ("ja", "ログインしておらず")])
def test_without_key_login_and_config_each_way_out_is_named(language: Language, words: str) -> None:
    told = str(first_problem(Config(agent=KEYLESS), language=language))
    assert told.startswith("no config file: ")
    for way_out in (words, "`claude`", "ANTHROPIC_API_KEY", "config.yaml", "`hikidashi doctor`"):
        assert way_out in told


@pytest.mark.usefixtures("nobody_logged_in")
@pytest.mark.parametrize(
    "name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK"]
)
def test_each_other_way_to_log_in_is_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert first_problem(Config(agent=KEYLESS)) is not None
    monkeypatch.setenv(name, "sk-test")
    assert first_problem(Config(agent=KEYLESS)) is None


@pytest.mark.usefixtures("nobody_logged_in")
def test_a_login_file_is_a_login_and_on_macos_nobody_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".credentials.json").write_text("{}")
    assert first_problem(Config(agent=KEYLESS)) is None
    (tmp_path / ".credentials.json").unlink()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert first_problem(Config(agent=KEYLESS)) is None


def test_what_fails_only_when_it_is_made_is_a_problem_too(monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config(agent=AgentConfig(api_key="sk-test"))
    assert startup_problems(config) == []
    monkeypatch.setitem(sys.modules, "strands.models.anthropic", None)
    assert [str(problem) for problem in startup_problems(config)] == [str(MissingExtra("anthropic", "anthropic"))]
