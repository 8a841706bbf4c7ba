"""Config files: sections, variables, problems with their lines."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hikidashi.config import (
    AgentConfig,
    Config,
    GatewayConfig,
    ServerConfig,
    SlackConfig,
    ToolsConfig,
    WebSearchConfig,
    check_config,
    load_config,
)
from hikidashi.config.load import BrokenVariableError, Filled, filled, find_config
from hikidashi.config.section import rules_of
from hikidashi.errors import ConfigError

Load = Callable[..., Config]

EXAMPLE = Path(__file__).parents[2] / "config.yaml.example"
SEARCH = "tools:\n  web_search:\n    enabled: true\n    api_key: ${TAVILY_API_KEY}\n"
SEARCH_IN_TOML = '[tools.web_search]\nenabled = true\napi_key = "${TAVILY_API_KEY}"\n'


def problems(
    text: str | bytes, folder: Path, name: str = "config.yaml", **environment: str
) -> list[tuple[int | None, str, str]]:
    """Line, key and reason of each problem."""
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    checked = check_config(file, environment=environment)
    assert (checked.config is None) == bool(checked.problems)
    assert all(problem.path == str(file) for problem in checked.problems)
    return [(problem.line, problem.key, problem.reason) for problem in checked.problems]


def test_the_example_is_complete_and_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config(EXAMPLE, environment={"TAVILY_API_KEY": "tvly-test", "SLACK_BOT_TOKEN": "xoxb-test"})
    assert config == Config(
        tools=ToolsConfig(web_search=WebSearchConfig(enabled=True, api_key="tvly-test")),
        agent=AgentConfig(),
        slack=SlackConfig(bot_token="xoxb-test"),
        path=str(EXAMPLE),
    )
    text = EXAMPLE.read_text(encoding="utf-8")
    for section in (WebSearchConfig, AgentConfig, SlackConfig, ServerConfig, GatewayConfig):
        assert [key for key in rules_of(section) if f" {key}: " not in text] == []


def test_every_key_that_the_example_only_shows_loads_too(load: Load) -> None:
    keys = "provider|base_url|index|model|system_prompt"
    text = re.sub(rf"^( +)# ((?:{keys}): .*)$", r"\1\2", EXAMPLE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    text = re.sub(r"^  #   (\S)", r"    \1", text, flags=re.MULTILINE)
    text = re.sub(r"^#(servers:|gateway:| {2,4}[a-z_]+:)", r"\1", text, flags=re.MULTILINE)
    config = load(text)
    assert config.tools.web_search is not None
    assert config.slack is not None
    assert config.tools.web_search.base_url == "https://searxng.example.com"
    assert config.agent.model == "claude-sonnet-5"
    assert config.agent.system_prompt == "あなたは社内のアシスタントです。簡潔に答えてください。\n"
    assert config.slack.base_url == "https://slack-proxy.example.com/api/"
    assert config.servers is not None
    assert config.servers["files"] == ServerConfig(
        command="npx",
        args=("-y", "@modelcontextprotocol/server-filesystem", "${HOME}"),
        env={"LOG_LEVEL": "info"},
        cwd="notes",
        lazy=True,
        memory_mb=500,
        read_only=("list_*",),
        confirm="destructive",
    )
    assert config.servers["issues"].headers == {"Authorization": "Bearer ${ISSUES_TOKEN}"}
    assert config.gateway == GatewayConfig(pin=("files__*",), record="searches.db")


@pytest.mark.parametrize(("text", "name"), [(SEARCH, "config.yaml"), (SEARCH_IN_TOML, "config.toml")])
def test_yaml_and_toml_say_the_same(load: Load, text: str, name: str) -> None:
    search = load(text, name, TAVILY_API_KEY="tvly-test").tools.web_search
    assert search is not None
    assert search == WebSearchConfig(enabled=True, api_key="tvly-test")
    assert search.usable


@pytest.mark.parametrize(
    "text", ["# nothing yet\n", "tools:\n", "tools: {}\n", "tools:\n  web_search:\n", "{}", "null"]
)
def test_a_section_that_is_not_there_is_off(load: Load, text: str) -> None:
    config = load(text)
    assert config.tools.web_search is None
    assert config.slack is None
    assert config.agent == AgentConfig()


def test_a_section_without_enabled_is_off(load: Load) -> None:
    search = load("tools: {web_search: {api_key: tvly-test}}").tools.web_search
    assert search is not None
    assert search == WebSearchConfig(api_key="tvly-test")
    assert not search.usable


@pytest.mark.parametrize("word", ["no", "off", "false", "False"])
def test_what_yaml_calls_false_is_off(load: Load, word: str) -> None:
    search = load(f"tools: {{web_search: {{enabled: {word}}}}}").tools.web_search
    assert search == WebSearchConfig(enabled=False)


def test_a_variable_that_is_not_set_does_not_matter_where_the_section_is_off(load: Load) -> None:
    text = "tools:\n  web_search:\n    enabled: false\n    api_key: ${KEY}\n    max_results: ${COUNT}\n"
    assert load(text).tools.web_search == WebSearchConfig()


def test_a_key_whose_variable_is_not_set_is_a_missing_key(load: Load) -> None:
    search = load(SEARCH).tools.web_search
    assert search is not None
    assert search == WebSearchConfig(enabled=True)
    assert (search.needs_key, search.usable) == (True, False)


@pytest.mark.parametrize("value", ["", "  "])
def test_a_key_whose_variable_is_empty_is_a_missing_key(load: Load, value: str) -> None:
    search = load(SEARCH, TAVILY_API_KEY=value).tools.web_search
    assert search is not None
    assert search.needs_key


def test_any_other_variable_that_is_not_set_is_a_problem_where_the_section_is_on(tmp_path: Path) -> None:
    text = SEARCH + "    max_results: ${COUNT}\n"
    (problem,) = problems(text, tmp_path)
    assert problem == (
        5,
        "tools.web_search.max_results",
        "COUNT is not set in the environment. Set it, or write ${COUNT:-default}.",
    )


@pytest.mark.parametrize("provider", ["local", "searxng"])
def test_a_provider_without_keys_needs_none(load: Load, provider: str) -> None:
    text = f"tools: {{web_search: {{enabled: true, provider: {provider}, base_url: 'http://127.0.0.1:8888'}}}}"
    search = load(text).tools.web_search
    assert search is not None
    assert search.usable


def test_variables_become_booleans_and_numbers_too(load: Load) -> None:
    text = SEARCH.replace("enabled: true", "enabled: ${SEARCH:-true}") + "    max_results: ${COUNT:-7}\n"
    search = load(text, TAVILY_API_KEY="tvly-test").tools.web_search
    assert search == WebSearchConfig(enabled=True, api_key="tvly-test", max_results=7)
    off = load(text, SEARCH="no", COUNT="9").tools.web_search
    assert off == WebSearchConfig(enabled=False, max_results=9)


def test_variables_stand_inside_texts_and_two_dollars_are_one(load: Load) -> None:
    agent = load(
        "agent: {model: 'a-${SIZE}-${DATE:-2026}', system_prompt: 'costs $$5, or $5, $${SIZE}'}", SIZE="xl"
    ).agent
    assert (agent.model, agent.system_prompt) == ("a-xl-2026", "costs $5, or $5, ${SIZE}")


def test_a_value_from_the_environment_is_not_looked_into_again(load: Load) -> None:
    assert load("agent: {model: '${MODEL}'}", MODEL="${HOME} $$").agent.model == "${HOME} $$"


def test_an_empty_variable_is_as_if_nothing_were_written(load: Load) -> None:
    assert load("agent: {model: '${MODEL:-}', base_url: '${URL}'}", URL="").agent == AgentConfig()


def test_a_relative_index_is_beside_the_config_file(load: Load, tmp_path: Path) -> None:
    search = load("tools: {web_search: {enabled: true, provider: local, index: data/web.db}}").tools.web_search
    assert search is not None
    assert search.index == str(tmp_path / "data/web.db")


@pytest.mark.parametrize(
    ("line", "key", "reason"),
    [
        ("enabled: 'no'", "enabled", "'no' is text, not a boolean. Write true or false, without quotes."),
        ("enabled: 1", "enabled", "1 is not a boolean. Write true or false, without quotes."),
        ("search_depth: bogus", "search_depth", "'bogus' is not allowed. Allowed: basic, advanced."),
        ("search_depth: [basic]", "search_depth", "a list is not allowed. Allowed: basic, advanced."),
        ("max_results: many", "max_results", "'many' is not a whole number. Write a whole number from 1 to 20."),
        ("max_results: 0", "max_results", "0 is out of range. Write a whole number from 1 to 20."),
        ("max_results: 21", "max_results", "21 is out of range. Write a whole number from 1 to 20."),
        ("max_results: true", "max_results", "true is not a whole number. Write a whole number from 1 to 20."),
        ("max_results: 2.5", "max_results", "2.5 is not a whole number. Write a whole number from 1 to 20."),
        (
            "max_content_length: -1",
            "max_content_length",
            "-1 is out of range. Write a whole number of 0 or more (0 is unlimited).",
        ),
        (
            "max_results: 0x" + "f" * 5000,
            "max_results",
            "a huge number is out of range. Write a whole number from 1 to 20.",
        ),
        ("max_results: " + "9" * 5000, "max_results", "cannot be read as !!int. Write it without a tag, or in quotes."),
        (
            "max_content_length: 0x" + "f" * 5000,
            "max_content_length",
            "a huge number is out of range. Write a whole number of 0 or more (0 is unlimited).",
        ),
        ("search_depth: tvly-test", "search_depth", "a key or token is not allowed. Allowed: basic, advanced."),
        ("provider: google", "provider", "'google' is not allowed. Allowed: tavily, local, searxng."),
        (
            "index: 2026-01-01",
            "index",
            "the date 2026-01-01 is not text. "
            "Write the file of the local index; in quotes where it looks like something else.",
        ),
        ("index: 2026-99-99", "index", "cannot be read as !!timestamp. Write it without a tag, or in quotes."),
        ("index: !secret x", "index", "cannot be read as !secret. Write it without a tag, or in quotes."),
        (
            "index: ${A B}",
            "index",
            "'${A B}' names no variable. Write ${NAME} or ${NAME:-default}, and $$ for a dollar sign.",
        ),
        (
            "index: ' '",
            "index",
            "' ' is empty. Write the file of the local index; in quotes where it looks like something else.",
        ),
        (
            "max_result: 5",
            "max_result",
            "is not a key here. Did you mean `max_results`? Known: enabled, api_key, search_depth, max_results, "
            "max_content_length, provider, base_url, index, ranker.",
        ),
        (
            "API-KEY: x",
            "API-KEY",
            "is not a key here. Did you mean `api_key`? Known: enabled, api_key, search_depth, max_results, "
            "max_content_length, provider, base_url, index, ranker.",
        ),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_with_its_line_and_what_is_allowed(
    tmp_path: Path, line: str, key: str, reason: str
) -> None:
    found = problems(f"# search\ntools:\n  web_search:\n    {line}\n", tmp_path)
    assert found == [(4, f"tools.web_search.{key}", reason)]


def test_searxng_needs_an_address_where_it_is_on(load: Load, tmp_path: Path) -> None:
    text = "tools:\n  web_search:\n    enabled: ${ON}\n    provider: searxng\n    base_url: ${URL:-}\n"
    assert load(text, ON="false").tools.web_search == WebSearchConfig(provider="searxng")
    assert problems(text, tmp_path, ON="true") == [
        (
            5,
            "tools.web_search.base_url",
            "is missing. Write the address of your SearXNG, such as http://127.0.0.1:8080.",
        )
    ]


def test_all_problems_are_reported_at_once_in_the_order_of_the_file(load: Load, tmp_path: Path) -> None:
    text = "agents: {}\ntools:\n  web_search:\n    enabled: maybe\n    max_results: many\nslack: on\n"
    with pytest.raises(ConfigError) as raised:
        load(text)
    file = tmp_path / "config.yaml"
    assert str(raised.value).splitlines() == [
        f"{file}, line 1: `agents`: is not a key here. Did you mean `agent`? "
        "Known: tools, agent, slack, servers, gateway.",
        f"{file}, line 4: `tools.web_search.enabled`: 'maybe' is text, not a boolean. "
        "Write true or false, without quotes.",
        f"{file}, line 5: `tools.web_search.max_results`: 'many' is not a whole number. "
        "Write a whole number from 1 to 20.",
        f"{file}, line 6: `slack`: true is not a section. Write keys and values: bot_token, app_token, base_url.",
    ]
    assert (raised.value.key, raised.value.line) == ("agents", 1)


def test_toml_problems_have_lines_too(tmp_path: Path) -> None:
    text = '[tools.web_search]\nenabled = "no"\nmax_results = 50\n\n[agent]\nmodle = "x"\n'
    assert [(line, key) for line, key, _ in problems(text, tmp_path, "config.toml")] == [
        (2, "tools.web_search.enabled"),
        (3, "tools.web_search.max_results"),
        (6, "agent.modle"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (b"", None, "is empty."),
        (b"\xef\xbb\xbf \n", None, "is empty."),
        (b"agent:\n  model: \x82\xa0\n", 2, "is not UTF-8."),
        ("agent: {}".encode("utf-16"), 1, "is not UTF-8."),
        (b"agent:\n  model: 'open\n", 3, "is not YAML: found unexpected end of stream."),
        (b"agent:\n\tmodel: x\n", 2, "is not YAML: found character '\\t' that cannot start any token."),
        (b"a: 1\n---\nb: 2\n", 2, "is not YAML: but found another document."),
        (b"agent: *nobody\n", 1, "is not YAML: found undefined alias 'nobody'."),
        (b"agent:\n  model: \x07\n", 2, "has a character that YAML does not allow (U+0007)."),
        (b"agent: {model: ${M}}\n", 1, "is not YAML: expected ',' or '}', but got '{'. Inside braces, put ${NAME} in"),
        (b"agent: " + b"[" * 1_000, None, "is nested too deeply"),
        (b"- agent\n- tools\n", 1, "The file is not a section."),
        (b"just words\n", 1, "The file is not a section."),
        (b"agent: {}\n" + b"#" * 1_000_001, None, "is larger than 1,000,000 bytes"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_config_says_so(tmp_path: Path, text: bytes, line: int | None, says: str) -> None:
    ((found, key, reason),) = problems(text, tmp_path)
    assert (found, key) == (line, "")
    assert reason.startswith(says)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("agent = ", 1, "is not TOML: invalid value."),
        ("[agent]\nmodel = 'open\n", 2, "is not TOML: "),
        ("[agent]\nmodel = [\n", 2, "is not TOML: "),
        ("a = " + "[" * 2_000, None, "is nested too deeply"),
        ("[agent]\nmax_tokens = " + "9" * 5_000, None, "has a number that is far too long."),
    ],
)
def test_a_file_that_is_no_toml_says_so(tmp_path: Path, text: str, line: int | None, says: str) -> None:
    ((found, _, reason),) = problems(text, tmp_path, "config.toml")
    assert found == line
    assert reason.startswith(says)


def test_a_file_that_is_not_there_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"does not exist[.] Make one: hikidashi config example > config[.]yaml"):
        load_config(tmp_path / "config.yaml")
    with pytest.raises(ConfigError, match="is not a file"):
        load_config(tmp_path)
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    with pytest.raises(ConfigError, match="does not exist"):
        load_config(tmp_path / "loop.yaml")
    with pytest.raises(ConfigError, match="cannot be read: file name too long"):
        load_config(tmp_path / ("x" * 300))


def test_keys_that_are_there_twice_or_merged_or_no_text_are_problems(tmp_path: Path) -> None:
    text = "agent: &a\n  model: x\n  model: y\nslack:\n  <<: *a\n5: x\n[1]: y\n"
    assert problems(text, tmp_path) == [
        (3, "agent.model", "is there twice, first in line 2. Keep one of them."),
        (5, "slack", "Merge keys (`<<`) are not read here. Write the values out."),
        (6, "", "A key must be text. Put it in quotes, or check the indentation."),
        (7, "", "A key must be text. Put it in quotes, or check the indentation."),
    ]


def test_an_alias_is_the_value_it_names(load: Load) -> None:
    config = load("agent: {api_key: &key sk-test}\ntools: {web_search: {api_key: *key}}\n")
    assert config.tools.web_search == WebSearchConfig(api_key="sk-test")


def test_a_bomb_of_aliases_costs_nothing(tmp_path: Path) -> None:
    levels = "\n".join(f"  k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 9)}]" for n in range(1, 40))
    maps = "\n".join(f"  m{n}: &m{n} {{{', '.join(f'x{i}: *m{n - 1}' for i in range(9))}}}" for n in range(1, 30))
    assert len(problems(f"agent:\n  k0: &k0 boom\n{levels}\n  m0: &m0 boom\n{maps}\n  model: *k39\n", tmp_path)) == 71


def test_a_section_that_holds_itself_ends(tmp_path: Path) -> None:
    assert [key for _, key, _ in problems("agent: &a\n  model: *a\n", tmp_path)] == ["agent.model"]


SECRET = "tvly-never-show-this"


@pytest.mark.parametrize(
    "text",
    [
        "tools: {web_search: {enabled: true, api_key: 'SECRET x'}}",
        "tools: {web_search: {enabled: true, api_key: [SECRET]}}",
        "tools: {web_search: {enabled: true, api_key: '${SECRET ${'}}",
        "tools: {web_search: {enabled: true, api_kye: SECRET}}",
        "tools: {web_search: {enabled: true, search_depth: '${KEY}'}}",
        "tools: {web_search: {enabled: true, max_results: '${KEY}'}}",
        "tools: {web_search: {enabled: true, base_url: 'https://me:SECRET@host'}}",
        "tools: {web_search: {enabled: true, base_url: 'SECRET'}}",
        "tools:\n  web_search: {api_key: SECRET\n  enabled: 'SECRET",
        "slack: {app_token: 'xoxb-SECRET'}",
        "slack: {bot_token: 'xapp-SECRET'}",
        "slack: {bot_token: 'SECRETあ'}",
    ],
)
def test_a_secret_is_in_no_error(tmp_path: Path, text: str) -> None:
    found = problems(text.replace("SECRET", SECRET), tmp_path, KEY=SECRET)
    assert found
    assert SECRET not in str(found)


def test_a_secret_is_in_no_repr(load: Load) -> None:
    text = f"agent: {{api_key: {SECRET}}}\nslack: {{bot_token: {SECRET}, app_token: {SECRET}}}\n"
    config = load(text + f"tools: {{web_search: {{api_key: {SECRET}}}}}\n")
    assert config.agent.api_key == SECRET
    assert SECRET not in repr(config)


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ("agent: {engine: claude-code, provider: openai}", "agent.provider", "'openai' does not go with `engine"),
        ("agent: {region: us-east-1}", "agent.region", "does not go with `provider: anthropic`"),
        ("agent: {language: fr}", "agent.language", "'fr' is not allowed. Allowed: ja, en."),
        ("agent: {base_url: 'ftp://x'}", "agent.base_url", "the value is not an address."),
        ("agent: {base_url: 'http://x:port'}", "agent.base_url", "the value is not an address."),
        ("agent: {base_url: 'http://a b'}", "agent.base_url", "the value is not an address."),
        ("agent: {max_tokens: 0}", "agent.max_tokens", "0 is out of range. Write a whole number of 1 or more."),
    ],
)
def test_the_other_sections_are_checked_too(tmp_path: Path, text: str, key: str, says: str) -> None:
    ((line, found, reason),) = problems(text, tmp_path)
    assert (line, found) == (1, key)
    assert reason.startswith(says)


def test_the_config_to_use_is_named_by_the_environment_or_lies_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HIKIDASHI_CONFIG", raising=False)
    assert find_config(tmp_path) is None
    (tmp_path / "config.toml").touch()
    assert find_config(tmp_path) == tmp_path / "config.toml"
    (tmp_path / "config.yaml").touch()
    assert find_config(tmp_path) == tmp_path / "config.yaml"
    monkeypatch.setenv("HIKIDASHI_CONFIG", "elsewhere.yaml")
    assert find_config(tmp_path) == Path("elsewhere.yaml")


@given(st.text(alphabet=st.sampled_from("abceglnortwy_: {}[]'\"#&*!|>-\n${}$?,%@\t0129tools.web_search"), max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("name", ["config.yaml", "config.toml"])
def test_any_text_is_a_config_or_has_problems(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8", newline="")
    checked = check_config(file, environment={})
    assert (checked.config is None) == bool(checked.problems)


VALUES = st.one_of(
    st.none(),
    st.builds(object),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.lists(st.integers()),
)


@given(
    key=st.sampled_from(list(WebSearchConfig.__dataclass_fields__)),
    value=VALUES,
)
def test_direct_construction_takes_a_good_value_or_names_the_wrong_one(key: str, value: object) -> None:
    faults: list[ConfigError] = []
    try:
        config = WebSearchConfig(**{key: value})  # pyright: ignore[reportArgumentType]
        assert getattr(config, key) is value
    except ConfigError as error:
        faults.append(error)
    assert [(fault.path, fault.key) for fault in faults] in ([], [("WebSearchConfig", key)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", Filled("plain", False, ())),
        ("${A}", Filled("x", True, ())),
        ("<${A}|${A}>", Filled("<x|x>", True, ())),
        ("${NO}", Filled("", True, ("NO",))),
        ("${NO}${NO}${NEITHER}", Filled("", True, ("NO", "NEITHER"))),
        ("${NO:-d e:f}", Filled("d e:f", True, ())),
        ("${EMPTY:-d}", Filled("d", True, ())),
        ("${EMPTY}", Filled("", True, ())),
        ("${NO:-}", Filled("", True, ())),
        ("$$${A}$$", Filled("$x$", True, ())),
        ("$A $5 $", Filled("$A $5 $", False, ())),
    ],
)
def test_variables_are_filled_in(text: str, expected: Filled) -> None:
    assert filled(text, {"A": "x", "EMPTY": ""}) == expected


@pytest.mark.parametrize("text", ["${", "${}", "${A", "${A-b}", "${1A}", "${A B}", "${あ}", "x ${A:b}"])
def test_what_names_no_variable_is_refused(text: str) -> None:
    with pytest.raises(BrokenVariableError, match="names no variable"):
        filled(text, {"A": "x"})


@given(st.text())
def test_doubling_the_dollars_gives_any_text_back(text: str) -> None:
    assert filled(text.replace("$", "$$"), {}) == Filled(text, False, ())


@given(
    st.lists(
        st.one_of(
            st.sampled_from(["${A}", "${B:-two}", "${C:-}", "${E:-empty}"]), st.text(alphabet="ab :-}/あ", max_size=4)
        )
    )
)
@settings(max_examples=25)
def test_the_shell_reads_it_the_same_way(pieces: list[str]) -> None:
    text = "".join(pieces)
    environment = {"A": "one", "E": "", "PATH": os.environ["PATH"]}
    script = f'printf %s "{text}"'
    by_shell = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=True).stdout
    assert filled(text, environment).text == by_shell
