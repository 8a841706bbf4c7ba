"""pydantic-ai's `ToolSearch` with our engine: on every kind of model, in step with the tools, across histories."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.messages import CompactionPart, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RunUsage
from tests.support import Heard

from hikidashi import ClaudeCodeModel, ToolResult, from_function, to_pydantic_ai
from hikidashi.loopback import Exchange, LoopbackServer
from hikidashi.search import ToolCatalog
from hikidashi.search.pydantic_ai import deferred, tool_search
from hikidashi.testing import MessagesServer, call, say

Server = Callable[..., MessagesServer]
Messages = list[ModelMessage]


def send_mail(to: str) -> str:
    """Send a mail to somebody."""
    return f"sent to {to}"


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


def list_events(day: str) -> str:
    """The events in the calendar on a day."""
    return "none"


TOOLS = FunctionToolset[Any]([send_mail, get_weather, list_events])
FOUND_AND_CALLED = [call("search_tools", {"queries": ["メールを送る"]}), call("send_mail", {"to": "Ada"}), say("done")]


@asynccontextmanager
async def anthropic_model(server: MessagesServer, **options: Any) -> AsyncGenerator[AnthropicModel]:
    async with AsyncAnthropic(api_key="sk-test", base_url=server.url) as client:
        yield AnthropicModel("claude-sonnet-4-6", provider=AnthropicProvider(anthropic_client=client), **options)


def scripted(*answers: ToolCallPart | str, seen: list[AgentInfo] | None = None) -> FunctionModel:
    """A model that gives these answers, one per request."""
    rest = list(answers)

    def answer(_: Messages, info: AgentInfo) -> ModelResponse:
        if seen is not None:
            seen.append(info)
        answer = rest.pop(0)
        return ModelResponse(parts=[TextPart(answer) if isinstance(answer, str) else answer])

    return FunctionModel(answer)


def searches(*queries: str) -> ToolCallPart:
    return ToolCallPart("search_tools", {"queries": list(queries)})


def returned(messages: Messages, name: str) -> list[ToolReturnPart]:
    parts = [part for message in messages for part in message.parts]
    return [part for part in parts if isinstance(part, ToolReturnPart) and part.tool_name == name]


async def test_anthropic_gets_deferred_tools_and_references_and_an_unchanging_tool_list(
    messages_server: Server,
) -> None:
    server = messages_server(FOUND_AND_CALLED)
    heard = Heard()
    async with anthropic_model(server) as model:
        agent = Agent(model, toolsets=[deferred(TOOLS)], capabilities=[tool_search(record=heard)])
        assert (await agent.run("Write to Ada.")).output == "done"

    first, second, third = server.requests
    assert {tool["name"]: tool.get("defer_loading", False) for tool in first.tools} == {
        "send_mail": True,
        "get_weather": True,
        "list_events": True,
        "search_tools": False,
    }
    assert first.tools == second.tools == third.tools
    assert second.tool_results[0]["content"] == [{"type": "tool_reference", "tool_name": "send_mail"}]
    assert third.tool_result_texts == ["sent to Ada"]
    assert (heard.searches, heard.calls) == ([("メールを送る", "words", ["send_mail"])], ["send_mail"])
    assert server.refusals == []


async def test_a_claude_without_tool_search_is_offered_what_was_found(messages_server: Server) -> None:
    server = messages_server(FOUND_AND_CALLED)
    profile: ModelProfile = {"supported_native_tools": frozenset(), "tool_deferral_mode": None}
    async with anthropic_model(server, profile=profile) as model:
        agent = Agent(model, toolsets=[deferred(TOOLS)], capabilities=[tool_search()])
        assert (await agent.run("Write to Ada.")).output == "done"

    assert [sorted(request.tool_names) for request in server.requests] == [
        ["search_tools"],
        ["search_tools", "send_mail"],
        ["search_tools", "send_mail"],
    ]


class ChatCompletions(LoopbackServer):
    """OpenAI's chat completions, from a script of messages."""

    def __init__(self, *script: dict[str, Any]) -> None:
        super().__init__()
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []

    def handle(self, exchange: Exchange) -> None:
        assert (exchange.method, exchange.path) == ("POST", "/v1/chat/completions")
        self.requests.append(json.loads(exchange.body))
        message = {"role": "assistant", "content": None, **self.script.pop(0)}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        body = {"id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices": [choice]}
        exchange.answer(200, json.dumps(body).encode(), {"content-type": "application/json"})


def openai_call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"id": f"call_{name}", "type": "function", "function": function}]}


async def test_openai_is_offered_what_was_found() -> None:
    script = (
        openai_call("search_tools", {"queries": ["send a mail"]}),
        openai_call("send_mail", {"to": "Ada"}),
        {"content": "done"},
    )
    server = ChatCompletions(*script)
    async with server, AsyncOpenAI(base_url=f"{server.start().url}/v1", api_key="sk-test") as client:
        model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=client))
        agent = Agent(model, toolsets=[deferred(TOOLS)], capabilities=[tool_search()])
        result = await agent.run("Write to Ada.")

    assert result.output == "done"
    offered = [sorted(tool["function"]["name"] for tool in request["tools"]) for request in server.requests]
    assert offered == [["search_tools"], ["search_tools", "send_mail"], ["search_tools", "send_mail"]]
    assert server.requests[2]["messages"][-1]["content"] == "sent to Ada"


@pytest.mark.cli
async def test_claude_code_is_offered_what_was_found(
    messages_server: Server, claude_code_env: Callable[[MessagesServer], dict[str, str]], tmp_path: Path
) -> None:
    server = messages_server(FOUND_AND_CALLED)
    model = ClaudeCodeModel(
        tool_execution="agent", env=claude_code_env(server), working_directory=tmp_path, max_retries=0, timeout=60.0
    )
    agent = Agent(model, toolsets=[deferred(TOOLS)], capabilities=[tool_search()])

    assert (await agent.run("Write to Ada.")).output == "done"
    assert [sorted(name.rpartition("__")[2] for name in request.tool_names) for request in server.requests] == [
        ["search_tools"],
        ["search_tools", "send_mail"],
        ["search_tools", "send_mail"],
    ]
    assert server.requests[2].tool_result_texts == ["sent to Ada"]


async def test_the_model_reads_how_to_search_in_the_language_asked_for() -> None:
    seen: list[AgentInfo] = []
    search = tool_search(about="メールと予定", language="ja")
    await Agent(scripted("hi", seen=seen), toolsets=[deferred(TOOLS)], capabilities=[search]).run("?")
    (tool,) = (tool for tool in seen[0].function_tools if tool.name == "search_tools")
    assert "対象分野: メールと予定。" in (tool.description or "")
    assert "/mail_.*/" in tool.parameters_json_schema["properties"]["queries"]["description"]


def test_a_language_we_do_not_write_is_refused() -> None:
    with pytest.raises(ValueError, match="use 'en' or 'ja'"):
        tool_search(language="de")  # pyright: ignore[reportArgumentType]


async def found_by(search: ToolSearch[Any], *queries: str) -> list[str]:
    agent = Agent(scripted(searches(*queries), "done"), toolsets=[deferred(TOOLS)], capabilities=[search])
    content: Any = returned((await agent.run("?")).all_messages(), "search_tools")[0].content
    return [match["name"] for match in content["discovered_tools"]]


@pytest.mark.parametrize(
    ("search", "query", "names"),
    [
        (tool_search("both"), "/_(mail|events)$/", ["send_mail", "list_events"]),
        (tool_search("both"), "weather", ["get_weather"]),
        (tool_search("both"), "select:list_events,send_mail", ["list_events", "send_mail"]),
        (tool_search("regex"), "^get_", ["get_weather"]),
        (tool_search("regex"), "select:send_mail", ["send_mail"]),
        (tool_search("words"), "bake a cake", []),
        (tool_search("regex", max_results=1), "_", ["send_mail"]),
        (tool_search("both", max_results=1), "select:list_events,send_mail", ["list_events", "send_mail"]),
    ],
)
async def test_a_query_is_words_a_pattern_or_names(search: ToolSearch[Any], query: str, names: list[str]) -> None:
    assert await found_by(search, query) == names


async def test_several_queries_each_have_their_best_first() -> None:
    assert await found_by(tool_search(max_results=1), "calendar events", "weather in a city", " ") == [
        "list_events",
        "get_weather",
    ]


async def test_a_broken_pattern_is_explained_and_never_ends_the_run() -> None:
    broken = searches("/mail(/")
    agent = Agent(scripted(broken, broken, broken, "sorry"), toolsets=[deferred(TOOLS)], capabilities=[tool_search()])
    result = await agent.run("?")
    assert result.output == "sorry"
    (first, *_) = answers = returned(result.all_messages(), "search_tools")
    assert [part.outcome for part in answers] == ["failed", "failed", "failed"]
    assert "mail(" in first.model_response_str()


async def test_a_broken_pattern_reaches_anthropic_as_an_error(messages_server: Server) -> None:
    server = messages_server([call("search_tools", {"queries": ["/mail(/"]}), say("sorry")])
    async with anthropic_model(server) as model:
        agent = Agent(model, toolsets=[deferred(TOOLS)], capabilities=[tool_search()])
        assert (await agent.run("?")).output == "sorry"
    assert server.requests[1].tool_results[0]["is_error"]
    assert "mail(" in server.requests[1].tool_result_texts[0]


# The index follows the tools


class Counting(ToolCatalog):
    """A catalogue that tells how often it changes."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.changes: list[str] = []

    def add(self, tool: Any) -> None:
        self.changes.append(f"+{tool['name']}")
        super().add(tool)

    def remove(self, name: str) -> None:
        self.changes.append(f"-{name}")
        super().remove(name)


def strategy_of(search: ToolSearch[Any]) -> Callable[..., list[str]]:
    assert callable(search.strategy)
    strategy: Any = search.strategy
    return strategy


CONTEXT = RunContext(deps=None, model=TestModel(), usage=RunUsage())


def definition(name: str, description: str, **fields: Any) -> ToolDefinition:
    return ToolDefinition(name=name, description=description, defer_loading=True, **fields)


def test_the_index_is_built_once_and_only_what_changes_is_touched() -> None:
    catalog = Counting()
    search = strategy_of(tool_search(catalog=catalog))
    mail, weather = definition("mail", "Send a mail"), definition("weather", "The weather")

    assert search(CONTEXT, ["send mail"], [mail, weather]) == ["mail"]
    assert catalog.changes == ["+mail", "+weather"]
    # pydantic-ai makes new definitions in each step
    same = [definition("mail", "Send a mail"), definition("weather", "The weather")]
    assert search(CONTEXT, ["send mail"], same) == ["mail"]
    assert catalog.changes == ["+mail", "+weather"]
    changed = [definition("mail", "Post a letter"), definition("trains", "When trains leave")]
    assert search(CONTEXT, ["train departure"], changed) == ["trains"]
    assert catalog.changes == ["+mail", "+weather", "-weather", "-mail", "+mail", "+trains"]
    assert search(CONTEXT, ["weather"], changed) == []
    assert search(CONTEXT, ["post letter"], changed) == ["mail"]


def test_a_catalogue_given_keeps_its_own_tools_and_never_offers_them_to_another_agent() -> None:
    described: dict[str, Any] = {"name": "mail", "description": "Send a letter by pigeon", "input_schema": {}}
    foreign: list[Any] = [{"name": f"pigeon_{n}", "description": "Feed a pigeon", "input_schema": {}} for n in range(8)]
    catalog = Counting([*foreign, described])
    search = strategy_of(tool_search(catalog=catalog, max_results=3))

    assert search(CONTEXT, ["pigeon"], [definition("mail", "Send a mail"), definition("weather", "Rain")]) == ["mail"]
    assert catalog.changes == ["+weather"]
    assert search(CONTEXT, ["pigeon"], [definition("mail", "Send a mail")]) == ["mail"]
    assert "pigeon_0" in catalog


def test_aliases_of_a_neutral_tool_are_found() -> None:
    tool = from_function(send_mail, aliases=("telegram",))
    (listed,) = to_pydantic_ai([tool.deferred()])._definitions.values()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    assert strategy_of(tool_search())(CONTEXT, ["telegram"], [listed]) == ["send_mail"]


# Deferring


async def offered(toolset: Any, model: Model | None = None) -> list[str]:
    seen: list[AgentInfo] = []
    agent = Agent(model or scripted("hi", seen=seen), toolsets=[toolset], capabilities=[tool_search()])
    await agent.run("?")
    return sorted(tool.name for tool in seen[0].function_tools if not tool.defer_loading)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["search_tools"]),
        ({"always_loaded": ["send_mail"]}, ["search_tools", "send_mail"]),
        (
            {"usage": {"get_weather": 9, "list_events": 2, "send_mail": 5, "gone": 7}, "keep": 3},
            ["get_weather", "search_tools", "send_mail"],
        ),
        ({"usage": {"get_weather": 9}, "keep": 0}, ["search_tools"]),
        ({"usage": {"get_weather": 0}}, ["search_tools"]),
    ],
)
async def test_all_is_deferred_but_what_is_named_or_used_most(options: dict[str, Any], names: list[str]) -> None:
    assert await offered(deferred(TOOLS, **options)) == names


async def test_neutral_tools_are_deferred_and_found_too() -> None:
    def stock(symbol: str) -> ToolResult:
        """The price of a stock."""
        return ToolResult.of(f"{symbol}: 7")

    seen: list[AgentInfo] = []
    model = scripted(searches("stock price"), ToolCallPart("stock", {"symbol": "X"}), "7", seen=seen)
    toolset = deferred(to_pydantic_ai([from_function(stock)]))
    result = await Agent(model, toolsets=[toolset], capabilities=[tool_search()]).run("?")
    assert [part.content for part in returned(result.all_messages(), "stock")] == ["X: 7"]


# Histories


async def discovered_history() -> Messages:
    agent = Agent(scripted(searches("send a mail"), "found"), toolsets=[deferred(TOOLS)], capabilities=[tool_search()])
    return (await agent.run("Look for it.")).all_messages()


CALLS = ToolCallPart("send_mail", {"to": "Ada"})


async def test_what_was_found_is_callable_when_the_history_is_replayed() -> None:
    heard = Heard()
    search = tool_search(record=heard)
    agent = Agent(scripted(CALLS, "done"), toolsets=[deferred(TOOLS)], capabilities=[search])
    result = await agent.run("Now write.", message_history=await discovered_history())
    assert [part.content for part in returned(result.new_messages(), "send_mail")] == ["sent to Ada"]
    assert (heard.searches, heard.calls) == ([], ["send_mail"])


async def test_what_was_compacted_away_must_be_searched_again() -> None:
    history = [*await discovered_history(), ModelResponse(parts=[CompactionPart("They looked for a mail tool.")])]
    agent = Agent(
        scripted(CALLS, searches("send a mail"), CALLS, "done"),
        toolsets=[deferred(TOOLS)],
        capabilities=[tool_search()],
    )
    messages = (await agent.run("Now write.", message_history=history)).new_messages()
    refused, answered = returned(messages, "send_mail")
    assert "search for it first" in refused.model_response_str()
    assert (refused.outcome, answered.content) == ("retried", "sent to Ada")
