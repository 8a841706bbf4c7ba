"""What happens in a conversation of spec 003: searches, references, errors, usage."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from hikidashi import from_function
from hikidashi.search import ToolRun, run_anthropic_search, to_anthropic_search, tool_searches
from hikidashi.search.anthropic_blocks import search_requests
from hikidashi.testing import MessagesServer, call, say, turn
from hikidashi.testing.tool_search import search_regex, search_words

Start = Callable[..., tuple[MessagesServer, Any]]

MODEL = "claude-opus-5-5"
HEAD: dict[str, Any] = {
    "model": MODEL,
    "max_tokens": 2048,
    "messages": [{"role": "user", "content": "What is the weather in Tokyo?"}],
}
REGEX = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
GET_WEATHER: dict[str, Any] = {
    "name": "get_weather",
    "description": "Get weather at a specific location",
    "input_schema": {
        "type": "object",
        "properties": {
            "location": {"type": "string"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        },
        "required": ["location"],
    },
}


def tool(name: str, description: str = "", **arguments: str) -> dict[str, Any]:
    properties = {argument: {"type": "string", "description": said} for argument, said in arguments.items()}
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": properties}}


LIBRARY = [
    GET_WEATHER,
    tool("get_user_data", "Profile of a member."),
    tool("get_sales_data", "Figures of a quarter."),
    tool("SlackPost", "Write into a channel.", channel="Where to write"),
    tool("create_invoice", "Make an invoice.", due="The day of payment"),
]
MANY = [*(tool(f"archive_{number}", f"Opens archive number {number}.") for number in range(60)), *LIBRARY]


def found(api: Start, search: Any, tools: list[dict[str, Any]], **options: Any) -> list[str]:
    """The names that one search finds."""
    _, client = api(search)
    message = client.beta.messages.create(**HEAD, **to_anthropic_search(tools, model=MODEL, force=True, **options))
    [call] = tool_searches(message)
    assert call.references is not None
    return list(call.references)


def test_goal_2_the_right_tool_is_found_among_many(api: Start) -> None:
    assert found(api, search_words("weather in a town"), MANY, variant="bm25")[0] == "get_weather"
    assert found(api, search_words("invoice"), MANY, variant="bm25") == ["create_invoice"]


def test_goal_3_ten_thousand_tools_are_searched(api: Start) -> None:
    library = [*(tool(f"archive_{number}") for number in range(9_999)), GET_WEATHER]
    assert found(api, search_regex("weather"), library) == ["get_weather"]


def test_var_1_the_regex_variant_takes_a_pattern(api: Start) -> None:
    assert found(api, search_regex("^create_|_user_"), LIBRARY) == ["get_user_data", "create_invoice"]


def test_var_2_the_bm25_variant_takes_natural_language(api: Start) -> None:
    assert found(api, search_words("please write into our channel"), LIBRARY, variant="bm25") == ["SlackPost"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("weather", ["get_weather"]),
        ("get_.*_data", ["get_user_data", "get_sales_data"]),
        ("(?i)slack", ["SlackPost"]),
    ],
)
def test_var_3_the_example_patterns_find_what_they_say(api: Start, pattern: str, names: list[str]) -> None:
    assert found(api, search_regex(pattern), LIBRARY) == names


def test_use_1_the_python_example_runs(api: Start) -> None:
    server, client = api(turn(search_regex("weather"), call("get_weather", {"location": "Tokyo"})))
    response = client.beta.messages.create(
        **HEAD, betas=["advanced-tool-use-2025-11-20"], tools=[REGEX, {**GET_WEATHER, "defer_loading": True}]
    )
    assert [block.type for block in response.content] == ["server_tool_use", "tool_search_tool_result", "tool_use"]
    built = to_anthropic_search([GET_WEATHER], model="claude-sonnet-4-5-20250929", force=True)
    assert (server.requests[0].tools, [server.requests[0].headers["anthropic-beta"]]) == (
        built["tools"],
        built["betas"],
    )


def test_use_2_the_curl_example_runs(api: Start) -> None:
    server, _ = api(turn(search_regex("weather"), "晴れです。"))
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc)
    headers = {
        "x-api-key": "sk-test",
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "advanced-tool-use-2025-11-20",
        "content-type": "application/json",
    }
    body = {**HEAD, "tools": [REGEX, {**GET_WEATHER, "defer_loading": True}]}
    connection.request("POST", "/v1/messages", json.dumps(body), headers)
    answer = json.loads(connection.getresponse().read())
    connection.close()
    assert answer["content"][1]["content"] == {
        "type": "tool_search_tool_search_result",
        "tool_references": [{"type": "tool_reference", "tool_name": "get_weather"}],
    }


def test_defer_1_a_deferred_tool_is_loaded_when_it_is_found(api: Start) -> None:
    server, client = api(turn(search_regex("weather"), "One moment."), "Done.")
    request = to_anthropic_search(LIBRARY, model=MODEL, force=True)
    first = client.beta.messages.create(**HEAD, **request)
    said = [*HEAD["messages"], {"role": "assistant", "content": first.content}, {"role": "user", "content": "And?"}]
    client.beta.messages.create(**{**HEAD, "messages": said}, **request)
    search = "tool_search_tool_regex"
    assert [request.loaded_tools for request in server.requests] == [[search], [search, "get_weather"]]


def test_flow_1_to_6_from_the_question_to_the_answer(api: Start) -> None:
    weather = [
        tool(f"weather_{place}", f"Weather at {place}.") for place in ("sea", "hill", "lake", "city", "field", "wood")
    ]
    request = to_anthropic_search([*LIBRARY, *weather], variant="bm25", model=MODEL, force=True)
    server, client = api(turn(search_words("weather"), call("weather_city", id="toolu_1")), say("It rains."))
    first = client.beta.messages.create(**HEAD, **request)
    [search] = tool_searches(first)
    assert search.references is not None
    assert 3 <= len(search.references) <= 5
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "rain"}
    said = [{"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    last = client.beta.messages.create(**{**HEAD, "messages": [*HEAD["messages"], *said]}, **request)
    assert set(search.references) < set(server.requests[1].loaded_tools)
    assert last.content[0].text == "It rains."


def test_limit_2_a_search_gives_five_at_most(api: Start) -> None:
    assert len(found(api, search_regex("archive"), MANY)) == 5
    assert len(found(api, search_words("archive"), MANY, variant="bm25")) == 5
    assert len(found(api, search_regex("archive", limit=3), MANY)) == 3


def error_code(api: Start, search: Any, dialect: str = "2026") -> str:
    _, client = api(search, dialect=dialect)
    message = client.beta.messages.create(**HEAD, **to_anthropic_search(LIBRARY, model=MODEL, force=True))
    [call] = tool_searches(message)
    assert call.failure is not None
    return call.failure.code


def test_limit_3_a_pattern_has_two_hundred_characters_at_most(api: Start) -> None:
    assert found(api, search_regex("weather|" + "x" * 192), LIBRARY) == ["get_weather"]
    assert error_code(api, search_regex("weather|" + "x" * 193)) == "invalid_tool_input"


@pytest.mark.parametrize("code", ["too_many_requests", "unavailable"])
def test_err_1_and_4_failures_of_the_service_are_read(api: Start, code: str) -> None:
    assert error_code(api, search_regex("weather", fails=code)) == code


def test_err_2_an_invalid_pattern_in_both_dialects(api: Start) -> None:
    assert error_code(api, search_regex("get_("), "2025") == "invalid_pattern"
    assert error_code(api, search_regex("get_(")) == "invalid_tool_input"


def test_err_3_a_pattern_too_long_in_both_dialects(api: Start) -> None:
    assert error_code(api, search_regex("x" * 201), "2025") == "pattern_too_long"
    assert error_code(api, search_regex("x" * 201)) == "invalid_tool_input"


def get_weather(city: str) -> str:
    """Current weather in a city."""
    return f"Rain in {city}"


def send_mail(to: str) -> str:
    """Send a mail."""
    return f"Sent to {to}"


OWN = [from_function(get_weather), from_function(send_mail)]


def run(client: Any, **options: Any) -> ToolRun:
    start: Any = run_anthropic_search
    return start(client, OWN, **HEAD, force=True, **options)


def test_tip_1_the_loop_keeps_the_most_used_loaded(api: Start) -> None:
    server, client = api(call("get_weather", {"city": "Tokyo"}), "Rain.")
    assert run(client, usage={"get_weather": 12}).text == "Rain."
    assert server.requests[0].loaded_tools == ["search_tools", "get_weather"]
    assert server.requests[1].tool_result_texts == ["Rain in Tokyo"]


@pytest.mark.parametrize("words", ["create_invoice", "an invoice", "due", "day of payment"])
def test_tip_2_and_3_names_descriptions_and_arguments_are_searched(api: Start, words: str) -> None:
    assert found(api, search_words(words), LIBRARY, variant="bm25")[0] == "create_invoice"


def test_tip_4_a_system_prompt_goes_with_every_request(api: Start) -> None:
    told = "You can search for tools of these kinds: weather, mail."
    server, client = api(call("search_tools", {"query": "weather"}), "Found.")
    run(client, system=told)
    assert [request.system_text for request in server.requests] == [told, told]


def test_tip_5_what_was_looked_for_and_found_can_be_watched(api: Start) -> None:
    _, client = api(call("search_tools", {"query": "weather"}), call("search_tools", {"query": "unicorn"}), "Sorry.")
    assert [(search.query, search.references) for search in run(client).searches] == [
        ("weather", ("get_weather",)),
        ("unicorn", ()),
    ]


def test_usage_1_searches_are_counted(api: Start) -> None:
    _, client = api(
        turn(search_regex("weather"), search_regex("data"), usage={"input_tokens": 1024, "output_tokens": 256})
    )
    message = client.beta.messages.create(**HEAD, **to_anthropic_search(LIBRARY, model=MODEL, force=True))
    assert (message.usage.input_tokens, message.usage.output_tokens) == (1024, 256)
    assert search_requests(message) == 2
