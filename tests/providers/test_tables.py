"""The tables of providers: a made-up row is known everywhere, and every real row is right."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable, Generator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from hikidashi.agents import Message, make_responder
from hikidashi.apps.factory import startup_problems
from hikidashi.cli.doctor import check_keys, check_providers, needs_by_extra
from hikidashi.config import AgentConfig, Config, ToolsConfig, WebSearchConfig, check_config, load_config
from hikidashi.errors import ConfigError, MissingExtra, TavilyAPIError
from hikidashi.providers import (
    CHAT_MODELS,
    DEFAULT_SEARCH_PROVIDER,
    SEARCH_PROVIDERS,
    ChatModel,
    SearchProviderInfo,
    api_models,
    load,
    names_taking,
    preferred_search_provider,
)
from hikidashi.testing import MessagesServer, say
from hikidashi.web import CrawlOptions, SearchFilters, SearchProvider, choose_provider
from hikidashi.web.request import refuse_crawl_options, refuse_filters

# A provider as another package has it: one module and its rows. `nebula_sdk` is a package that nobody has.
NEBULA = """
from hikidashi.errors import MissingExtra
from hikidashi.providers import CHAT_MODELS, SEARCH_PROVIDERS, ChatModel, Package, SearchProviderInfo
from hikidashi.web import SearchHit, SearchProvider, SearchResults


class NebulaProvider(SearchProvider):
    name = "nebula"

    def __init__(self, token, *, host, language="ja"):
        self.token, self.host = token, host

    async def _search(self, request):
        hit = SearchHit(title="Found", url=self.host, content=request.query, score=1.0)
        return SearchResults(query=request.query, results=(hit,), provider=self.name)


def nebula_model(config, model):
    from strands.models.anthropic import AnthropicModel

    args = {"api_key": config.api_key, "base_url": config.base_url}
    return AnthropicModel(client_args=args, model_id=model, max_tokens=config.max_tokens)


def unmade_model(config, model):
    raise MissingExtra("nebula-sdk", "nebula")


SEARCH = SearchProviderInfo(
    name="nebula",
    title="Nebula",
    provider="nebula:NebulaProvider",
    options={"api_key": "token", "base_url": "host"},
    key_variable="NEBULA_API_KEY",
    address_variable="NEBULA_URL",
)
CHAT = ChatModel(
    name="nebula",
    title="Nebula",
    default_model="nebula-1",
    make="nebula:nebula_model",
    packages=(),
    key_variables=("NEBULA_CHAT_KEY",),
)
LOCAL = SearchProviderInfo(name="local", title="Nebula here", provider="nebula:NebulaProvider", options={})
SDK = Package(module="nebula_sdk", name="nebula-sdk")
SDK_OF_AN_EXTRA = Package(module="nebula_sdk", name="nebula-sdk", extra="nebula")
"""
PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "nebula"
version = "1"

[project.entry-points."hikidashi.search_providers"]
nebula = "nebula:SEARCH"
local = "nebula:LOCAL"

[project.entry-points."hikidashi.chat_models"]
nebula = "nebula:CHAT"
broken = "nebula:NOWHERE"
odd = "nebula:SDK"
"""
VARIABLES = ("TAVILY_API_KEY", "NEBULA_API_KEY", "NEBULA_URL", "NEBULA_CHAT_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY")


@pytest.fixture
def nebula(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Any]:
    """The module of the made-up provider; its rows are in both tables."""
    (tmp_path / "nebula.py").write_text(NEBULA)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    module = load("nebula:SEARCH") and sys.modules["nebula"]
    monkeypatch.setitem(SEARCH_PROVIDERS, "nebula", module.SEARCH)
    monkeypatch.setitem(CHAT_MODELS, "nebula", module.CHAT)
    yield module
    del sys.modules["nebula"]


def searching(**options: Any) -> Config:
    search = WebSearchConfig(enabled=True, provider="nebula", **options)
    agent = AgentConfig(api_key="sk-test")
    return Config(tools=ToolsConfig(web_search=search), agent=agent)


async def test_a_row_makes_a_search_provider_that_can_be_chosen(nebula: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        TavilyAPIError, match=re.escape("There is no Nebula API key. Set NEBULA_API_KEY, or pass `api_key`.")
    ):
        choose_provider("nebula", base_url="http://127.0.0.1:1", language="en")
    with pytest.raises(
        TavilyAPIError, match=re.escape("Pass `base_url`, such as http://127.0.0.1:8080, or set NEBULA_URL.")
    ):
        choose_provider("nebula", api_key="sk-test", language="en")
    with pytest.raises(TavilyAPIError, match=re.escape("Choose one of 'tavily', 'local', 'searxng', 'nebula'.")):
        choose_provider("nimbus", language="en")
    monkeypatch.setenv("NEBULA_API_KEY", " sk-test\n")
    monkeypatch.setenv("NEBULA_URL", "http://127.0.0.1:1")
    for provider in (choose_provider("nebula", index="ignored.db", timeout=3), choose_provider()):
        assert isinstance(provider, nebula.NebulaProvider)
        assert isinstance(provider, SearchProvider)
        assert vars(provider) == {"token": "sk-test", "host": "http://127.0.0.1:1"}


@pytest.mark.usefixtures("nebula")
def test_a_row_is_a_name_that_a_config_may_have(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    nebula: dict[str, object] = {"enabled": True, "provider": "nebula", "api_key": "sk-test"}
    file.write_text(yaml.safe_dump({"tools": {"web_search": nebula}, "agent": {"provider": "nebula"}}))
    (problem,) = check_config(file).problems
    assert (problem.key, problem.reason) == (
        "tools.web_search.base_url",
        "is missing. Write the address of your Nebula, such as http://127.0.0.1:8080.",
    )
    file.write_text(yaml.safe_dump({"tools": {"web_search": nebula | {"base_url": "http://h"}}}))
    search = load_config(file).tools.web_search
    assert search is not None
    assert (search.provider, search.usable) == ("nebula", True)
    assert WebSearchConfig(enabled=True, provider="nebula", base_url="http://h").needs_key
    with pytest.raises(ConfigError, match=re.escape("Allowed: tavily, local, searxng, nebula.")):
        WebSearchConfig(provider="nimbus")
    with pytest.raises(ConfigError, match=re.escape("Allowed: anthropic, openai, bedrock, ollama, nebula.")):
        AgentConfig(provider="nimbus")
    with pytest.raises(ConfigError, match=re.escape("does not go with `provider: nebula`. It goes with: bedrock.")):
        AgentConfig(provider="nebula", region="mars")


def test_what_a_row_needs_is_missing_in_the_chat(nebula: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    address = {"base_url": "http://127.0.0.1:1"}
    assert startup_problems(searching(api_key="sk-test", **address)) == []
    for package, expected in (
        (nebula.SDK_OF_AN_EXTRA, str(MissingExtra("nebula-sdk", "nebula"))),
        (nebula.SDK, "needs the package `nebula-sdk`. Run: pip install nebula-sdk"),
    ):
        monkeypatch.setitem(SEARCH_PROVIDERS, "nebula", replace(nebula.SEARCH, packages=(package,)))
        (problem,) = startup_problems(searching(api_key="sk-test", **address))
        assert expected in str(problem)
    chat = Config(agent=AgentConfig(provider="nebula"))
    (problem,) = startup_problems(chat)
    assert str(problem).endswith("`agent.api_key`: is missing. Set NEBULA_CHAT_KEY.")
    monkeypatch.setenv("NEBULA_CHAT_KEY", "sk-test")
    assert startup_problems(chat) == []


def test_a_row_is_seen_by_the_doctor(nebula: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def seen(environment: dict[str, str]) -> dict[str, str]:
        checks = [*check_providers(environment), *check_keys(environment)]
        return {check.name: f"{check.status}: {check.found}" for check in checks if "nebula" in check.name.lower()}

    assert seen({}) == {
        "search: nebula": "absent: NEBULA_API_KEY, NEBULA_URL not set",
        "chat: nebula": "absent: NEBULA_CHAT_KEY not set",
        "NEBULA_API_KEY": "absent: not set",
        "NEBULA_CHAT_KEY": "absent: not set",
        "NEBULA_URL": "absent: not set",
    }
    keys = {"NEBULA_API_KEY": "sk-test", "NEBULA_URL": "nowhere", "NEBULA_CHAT_KEY": "sk-test"}
    assert seen(keys) == {
        "search: nebula": "ok: has NEBULA_API_KEY, NEBULA_URL",
        "chat: nebula": "ok: has NEBULA_CHAT_KEY",
        "NEBULA_API_KEY": "ok: set, for web search with Nebula",
        "NEBULA_CHAT_KEY": "ok: set, for Nebula",
        "NEBULA_URL": "problem: set, but no http(s) address",
    }
    monkeypatch.setitem(SEARCH_PROVIDERS, "nebula", replace(nebula.SEARCH, packages=(nebula.SDK_OF_AN_EXTRA,)))
    assert seen(keys)["search: nebula"] == "absent: not installed: nebula-sdk"
    assert seen(keys)["NEBULA_API_KEY"] == "problem: set, but nebula-sdk is not installed"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed a package whose entry points are rows; some cannot be used."""
    source, site = tmp_path_factory.mktemp("nebula"), tmp_path_factory.mktemp("site")
    (source / "nebula.py").write_text(NEBULA)
    (source / "pyproject.toml").write_text(PYPROJECT)
    install = ["install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--target", str(site)]
    subprocess.run([sys.executable, "-m", "pip", *install, str(source)], check=True)
    return site


def test_the_rows_of_an_installed_package_are_those_of_every_command(installed: Path, tmp_path: Path) -> None:
    plain = {name: value for name, value in os.environ.items() if name not in VARIABLES}

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        places = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            [sys.executable, "-m", "hikidashi", *arguments],
            env={**plain, "PYTHONPATH": places, "COLUMNS": "200", "LANG": "C.UTF-8", **environment},
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )

    shown = run("web", "search", "--help").stdout
    assert "--provider <tavily|local|searxng|nebula>" in shown
    assert "The address of Tavily or SearXNG or Nebula." in shown
    unaddressed = run("web", "search", "bread", "--provider", "nebula", NEBULA_API_KEY="sk-test")
    assert "--provider nebula needs --base-url URL, or NEBULA_URL." in unaddressed.stderr
    found = run("web", "search", "bread", "--provider", "nebula", "--base-url", "http://h/", NEBULA_API_KEY="sk-test")
    assert (found.returncode, "http://h/" in found.stdout) == (0, True), found.stderr
    (tmp_path / "config.yaml").write_text("agent: {provider: nebula, api_key: sk-test}\n")
    checked = run("config", "check")
    assert "agent is on: answers with nebula, through strands" in checked.stdout
    broken = "The entry point broken = nebula:NOWHERE of hikidashi.chat_models is left out: AttributeError: "
    taken = (
        "The entry point local = nebula:LOCAL of hikidashi.search_providers is left out: there is a row 'local' already"
    )
    odd = "The entry point odd = nebula:SDK of hikidashi.chat_models is left out: it is not a ChatModel"
    assert [line for line in (broken, taken, odd) if line not in found.stderr + checked.stderr] == []


async def test_a_row_makes_a_chat_model_that_answers(
    nebula: Any, messages_server: Callable[..., MessagesServer]
) -> None:
    server = messages_server([say("Hello from far away.")])
    config = Config(agent=AgentConfig(provider="nebula", api_key="sk-test", base_url=server.url))
    responder = make_responder(config)
    assert await responder.respond([Message(role="user", text="Hello?")]) == "Hello from far away."
    await responder.aclose()
    assert server.requests[0].body["model"] == nebula.CHAT.default_model


def test_a_chat_model_that_names_its_own_missing_extra_is_believed(
    nebula: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CHAT_MODELS, "nebula", replace(nebula.CHAT, make="nebula:unmade_model"))
    config = Config(agent=AgentConfig(provider="nebula", api_key="sk-test"))
    with pytest.raises(MissingExtra, match="nebula-sdk"):
        make_responder(config)
    monkeypatch.setitem(CHAT_MODELS, "nebula", replace(nebula.CHAT, make="nebula_that_is_nowhere:model"))
    with pytest.raises(ConfigError, match="'nebula_that_is_nowhere'"):
        make_responder(config)


@pytest.mark.parametrize("row", SEARCH_PROVIDERS.values(), ids=list(SEARCH_PROVIDERS))
def test_each_search_provider_takes_the_options_of_its_row(row: SearchProviderInfo) -> None:
    parameters = inspect.signature(load(row.provider)).parameters
    assert set(row.options.values()) <= set(parameters)
    assert set(row.options) <= set(inspect.signature(choose_provider).parameters)
    assert not row.ranker_packages or "ranker" in row.options


@pytest.mark.parametrize("row", SEARCH_PROVIDERS.values(), ids=list(SEARCH_PROVIDERS))
def test_each_search_provider_has_the_abilities_of_its_row(row: SearchProviderInfo) -> None:
    provider = load(row.provider)
    has = {one for one in ("crawl", "map") if getattr(provider, f"_{one}") is not getattr(SearchProvider, f"_{one}")}
    if provider.supported_filters == {item.name for item in fields(SearchFilters)}:
        has.add("all_filters")
    if "crawl" in has and not provider.unsupported_crawl_options:
        has.add("all_crawl_options")
    assert row.abilities == has


def test_a_refusal_names_the_providers_that_can(nebula: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    able = replace(nebula.SEARCH, abilities=frozenset({"all_filters", "all_crawl_options"}))
    monkeypatch.setitem(SEARCH_PROVIDERS, "nebula", able)
    with pytest.raises(TavilyAPIError, match="tavily, nebula"):
        refuse_filters(["country"], SearchFilters(country="japan"), provider="It")
    with pytest.raises(TavilyAPIError, match="tavily, nebula"):
        refuse_crawl_options(CrawlOptions(instructions="x"), ("instructions",), provider="It")


def test_a_ranker_is_an_option_of_a_row_with_packages_of_its_own(nebula: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ranked = replace(
        nebula.SEARCH,
        options={**nebula.SEARCH.options, "ranker": "ranker"},
        ranker_packages={"hybrid": (nebula.SDK_OF_AN_EXTRA,)},
    )
    config = searching(api_key="sk-test", base_url="http://127.0.0.1:1", ranker="hybrid")
    assert startup_problems(config) == []
    monkeypatch.setitem(SEARCH_PROVIDERS, "nebula", ranked)
    assert names_taking("ranker") == ["local", "nebula"]
    (problem,) = startup_problems(config)
    assert str(problem) == str(MissingExtra("nebula-sdk", "nebula"))


@pytest.mark.parametrize("row", CHAT_MODELS.values(), ids=list(CHAT_MODELS))
def test_each_chat_model_is_made_from_a_config_and_a_name(row: ChatModel) -> None:
    assert list(inspect.signature(load(row.make)).parameters) == ["config", "model"]


def test_each_package_of_a_row_is_in_the_extra_that_it_names() -> None:
    needs = {extra: {need.package for need in packages} for extra, packages in needs_by_extra().items()}
    rows = [*SEARCH_PROVIDERS.values(), *CHAT_MODELS.values()]
    packages = {package for row in rows for package in row.packages if package.extra}
    for row in SEARCH_PROVIDERS.values():
        packages.update(*row.ranker_packages.values())
    wrong = [package for package in packages if package.extra and package.name not in needs[package.extra]]
    assert wrong == []


def test_the_tables_agree_with_what_others_rely_on() -> None:
    assert {name: row.name for name, row in SEARCH_PROVIDERS.items()} == {name: name for name in SEARCH_PROVIDERS}
    assert {name: row.name for name, row in CHAT_MODELS.items()} == {name: name for name in CHAT_MODELS}
    assert DEFAULT_SEARCH_PROVIDER in SEARCH_PROVIDERS
    assert AgentConfig().provider in api_models()
    assert preferred_search_provider({}).name == "local"


def test_the_sentence_about_a_missing_key_is_in_the_table_alone() -> None:
    import hikidashi

    source = Path(hikidashi.__file__).parent
    sentence = re.compile(r"There is no [\w{}]+ API key|Set (?:TAVILY|ANTHROPIC|OPENAI)_API_KEY")
    found = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if sentence.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"texts/en.py"}
