"""pydantic-ai's `ToolSearch` with our engine on each kind of model: the real classes, on loopback servers."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai import Tool as PydanticAITool
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.messages import CompactionPart, ModelMessage, ModelRequest, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.toolsets import FunctionToolset
from tests.pydantic_ai_support import anthropic_model, scripted
from tests.support import Heard, Unsure

from hikidashi import ClaudeCodeModel, from_function, from_pydantic_ai
from hikidashi.convert.wire import WireNames
from hikidashi.search import ToolCatalog, deferred, to_pydantic_ai_search
from hikidashi.testing import MessagesServer, call, say, search_regex, search_words, turn
from hikidashi.testing.server import Exchange, LoopbackServer

Server = Callable[..., MessagesServer]
Environment = Callable[[MessagesServer], dict[str, str]]


def send_mail(to: str) -> str:
    """Send a mail to somebody."""
    return f"sent to {to}"


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


TOOLS = FunctionToolset[Any]([send_mail, get_weather])
FOUND_AND_CALLED = [call("search_tools", {"queries": ["メールを送る"]}), call("send_mail", {"to": "Ada"}), say("done")]
WITHOUT_TOOL_SEARCH: ModelProfile = {"supported_native_tools": frozenset(), "tool_deferral_mode": None}
SUMMARY = CompactionPart("They looked for a mail tool.")


def agent_of(model: Model, **options: Any) -> Agent[Any, str]:
    return Agent(model, toolsets=[deferred(TOOLS)], capabilities=[to_pydantic_ai_search(**options)])


# Anthropic


async def test_anthropic_gets_deferred_tools_and_references_and_an_unchanging_tool_list(
    messages_server: Server,
) -> None:
    server = messages_server(FOUND_AND_CALLED)
    heard = Heard()
    async with anthropic_model(server) as model:
        assert (await agent_of(model, record=heard).run("Write to Ada.")).output == "done"

    first, second, third = server.requests
    assert {tool["name"]: tool.get("defer_loading", False) for tool in first.tools} == {
        "send_mail": True,
        "get_weather": True,
        "search_tools": False,
    }
    assert first.tools == second.tools == third.tools
    assert second.tool_results[0]["content"] == [{"type": "tool_reference", "tool_name": "send_mail"}]
    assert third.tool_result_texts == ["sent to Ada"]
    assert (heard.searches, heard.calls) == ([("メールを送る", "words", ["send_mail"])], ["send_mail"])
    assert server.refusals == []


async def test_a_claude_without_tool_search_is_offered_what_was_found(messages_server: Server) -> None:
    server = messages_server(FOUND_AND_CALLED)
    async with anthropic_model(server, profile=WITHOUT_TOOL_SEARCH) as model:
        assert (await agent_of(model).run("Write to Ada.")).output == "done"
    assert [sorted(request.tool_names) for request in server.requests] == [
        ["search_tools"],
        ["search_tools", "send_mail"],
        ["search_tools", "send_mail"],
    ]


async def test_more_tools_than_the_api_takes_are_listed_once_they_are_found(messages_server: Server) -> None:
    mail = from_function(send_mail)
    tools = [*(mail.renamed(f"count_{number}") for number in range(10_001)), mail]
    select = call("search_tools", {"queries": ["select:send_mail,count_9999"]})
    server = messages_server([select, call("send_mail", {"to": "Ada"}), say("done")])
    async with anthropic_model(server) as model:
        assert (await Agent(model, capabilities=[to_pydantic_ai_search(tools)]).run("?")).output == "done"
    assert server.refusals == []
    assert [request.tool_names for request in server.requests] == [
        ["search_tools"],
        *[["count_9999", "send_mail", "search_tools"]] * 2,
    ]


ODD_NAMES = [
    "メール送信",
    "予定を追加",
    "予定を追如",  # one character differs
    "📮",
    "files.read",
    "files_read",
    "say hello",
    "book_" * 40,
]


def options_of(profile: ModelProfile | None) -> dict[str, Any]:
    return {} if profile is None else {"profile": profile}


def odd_tools(ran: list[str]) -> FunctionToolset[Any]:
    def tool(name: str) -> PydanticAITool[Any]:
        def run() -> str:
            ran.append(name)
            return f"{name}: done"

        return PydanticAITool(run, name=name, description="")

    return FunctionToolset[Any]([tool(name) for name in ODD_NAMES])


@pytest.mark.parametrize("profile", [None, WITHOUT_TOOL_SEARCH], ids=["with tool search", "without"])
@pytest.mark.parametrize("options", [{}, {"preload": 5}], ids=["searched", "preloaded"])
async def test_anthropic_gets_tools_of_any_name_under_valid_ones_and_calls_reach_them(
    messages_server: Server, profile: ModelProfile | None, options: dict[str, Any]
) -> None:
    wire = WireNames(ODD_NAMES, longest=128)
    ran: list[str] = []
    heard = Heard()
    calls = turn(*(call(wire.of(name), {}, id=f"toolu_{place}") for place, name in enumerate(ODD_NAMES)))
    select = call("search_tools", {"queries": ["select:" + ",".join(map(wire.of, ODD_NAMES))]})
    server = messages_server([call("search_tools", {"queries": ["メール送信"]}), select, calls, say("done")])
    async with anthropic_model(server, **options_of(profile)) as model:
        agent = Agent(
            model, toolsets=[deferred(odd_tools(ran))], capabilities=[to_pydantic_ai_search(record=heard, **options)]
        )
        assert (await agent.run("メールを送ってください")).output == "done"
    assert server.refusals == []
    assert sorted(ran) == sorted(heard.calls) == sorted(ODD_NAMES)
    assert ("メール送信", "words", "メール送信") in [(query, kind, names[0]) for query, kind, names in heard.searches]
    assert set(server.requests[3].tool_names) == {"search_tools", *map(wire.of, ODD_NAMES)}


async def test_tools_of_a_catalogue_and_of_the_agent_itself_get_valid_names_too(messages_server: Server) -> None:
    ran: list[str] = []
    wire = WireNames(ODD_NAMES, longest=128)
    tools = await from_pydantic_ai(odd_tools(ran))
    found = call("search_tools", {"queries": ["予定を追加"]})
    server = messages_server([found, call(wire.of("予定を追加"), {}), call("tool_x", {}), say("done")])
    weather = PydanticAITool(get_weather, name="天気")
    async with anthropic_model(server) as model:
        agent = Agent(model, capabilities=[to_pydantic_ai_search(tools)], tools=[weather])
        assert (await agent.run("?")).output == "done"
    assert server.refusals == []
    assert ran == ["予定を追加"]


async def test_a_history_with_names_of_any_kind_is_continued_by_anthropic(messages_server: Server) -> None:
    ran: list[str] = []
    wire = WireNames(ODD_NAMES, longest=128)
    agent = Agent(toolsets=[deferred(odd_tools(ran))], capabilities=[to_pydantic_ai_search()])
    first = scripted(ToolCallPart("search_tools", {"queries": ["メール送信"]}), ToolCallPart("メール送信", {}), "done")
    history = (await agent.run("?", model=first)).all_messages()
    server = messages_server([call(wire.of("メール送信"), {}), say("done")])
    async with anthropic_model(server) as model:
        assert (await agent.run("Again.", model=model, message_history=history)).output == "done"
    assert server.refusals == []
    assert ran == ["メール送信", "メール送信"]


@pytest.mark.parametrize("profile", [None, WITHOUT_TOOL_SEARCH])
async def test_claude_is_told_to_search_and_why_a_search_found_nothing(
    messages_server: Server, profile: ModelProfile | None
) -> None:
    script = [call("send_mail", {"to": "Ada"}), call("search_tools", {"queries": ["/mail(/"]}), say("sorry")]
    server = messages_server(script)
    async with anthropic_model(server, profile=profile) as model:
        assert (await agent_of(model).run("?")).output == "sorry"
    undiscovered, broken = (request.tool_results[-1] for request in server.requests[1:])
    assert undiscovered["is_error"]
    assert "search for it first" in str(undiscovered["content"])
    assert "mail(" in str(broken["content"])


@pytest.mark.parametrize("profile", [None, WITHOUT_TOOL_SEARCH])
async def test_claude_calls_what_was_found_before_a_compaction(
    messages_server: Server, profile: ModelProfile | None
) -> None:
    async with anthropic_model(messages_server(FOUND_AND_CALLED), profile=profile) as model:
        history = (await agent_of(model).run("Write to Ada.")).all_messages()
    server = messages_server([call("send_mail", {"to": "Bo"}), say("done")])
    async with anthropic_model(server, profile=profile) as model:
        assert (
            await agent_of(model).run("And to Bo.", message_history=[*history, ModelRequest(parts=[SUMMARY])])
        ).output == "done"
    assert server.requests[1].tool_result_texts[-1] == "sent to Bo"
    assert server.refusals == []


@pytest.mark.parametrize("profile", [None, WITHOUT_TOOL_SEARCH])
async def test_claude_reads_that_the_nearest_are_uncertain_and_what_was_left_out(
    messages_server: Server, profile: ModelProfile | None
) -> None:
    long = [replace(from_function(send_mail), name=f"mail_{n}", description="Send a mail. " * 300) for n in range(5)]
    server = messages_server([call("search_tools", {"queries": ["send mail"]}), say("done")])
    async with anthropic_model(server, profile=profile) as model:
        search = to_pydantic_ai_search(Unsure(long), budget=2_000)
        assert (await Agent(WrapperModel(model), capabilities=[search]).run("Write to Ada.")).output == "done"
    read = json.dumps(server.requests[1].body["messages"][-1])
    assert read.count("No tool surely fits 'send mail'. These are the nearest, perhaps not what you need.") == 1
    assert len(re.findall(r"In short, \d more\.", read)) == 1
    assert server.refusals == []


@pytest.mark.parametrize(
    ("strategy", "search"), [("bm25", search_words("send a mail")), ("regex", search_regex("mail"))]
)
async def test_what_the_api_found_itself_is_found_for_our_engine_and_the_other_way_round(
    messages_server: Server, strategy: Literal["bm25", "regex"], search: Any
) -> None:
    def run_by(engine: ToolSearch[Any], model: Model) -> Agent[Any, str]:
        return Agent(model, toolsets=[deferred(TOOLS)], capabilities=[engine])

    theirs, ours = ToolSearch[Any](strategy=strategy), to_pydantic_ai_search()
    use = call("send_mail", {"to": "Ada"})
    scripts = [[turn(search, use), say("done")], [call("search_tools", {"queries": ["send a mail"]}), use, say("done")]]
    for script, first, second in zip(scripts, (theirs, ours), (ours, theirs), strict=True):
        async with anthropic_model(messages_server(script)) as model:
            history = (await run_by(first, model).run("Write to Ada.")).all_messages()
        server = messages_server([call("send_mail", {"to": "Bo"}), say("done")])
        async with anthropic_model(server) as model:
            assert (await run_by(second, model).run("And to Bo.", message_history=history)).output == "done"
        assert server.requests[1].tool_result_texts[-1] == "sent to Bo"
        assert server.refusals == []


# OpenAI


class OpenAI(LoopbackServer):
    """OpenAI's chat completions and responses, from a script of messages or output items."""

    def __init__(self, *script: dict[str, Any]) -> None:
        super().__init__()
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []

    def handle(self, exchange: Exchange) -> None:
        self.requests.append(json.loads(exchange.body))
        answer = self.script.pop(0)
        if exchange.path == "/v1/chat/completions":
            reason = "tool_calls" if "tool_calls" in answer else "stop"
            choice = {"index": 0, "message": {"role": "assistant", "content": None, **answer}, "finish_reason": reason}
            body: dict[str, Any] = {"object": "chat.completion", "created": 1, "choices": [choice]}
        else:
            assert exchange.path == "/v1/responses"
            body = {"object": "response", "created_at": 1, "output": [answer], "status": "completed", "tools": []}
            body |= {"parallel_tool_calls": True, "tool_choice": "auto"}
        body |= {"id": f"r{len(self.requests)}", "model": "gpt"}
        exchange.answer(200, json.dumps(body).encode(), {"content-type": "application/json"})

    def inputs(self, kind: str) -> list[dict[str, Any]]:
        """The items of a kind in the last request to the responses API."""
        return [item for item in self.requests[-1]["input"] if item.get("type") == kind]


@asynccontextmanager
async def openai_provider(server: OpenAI) -> AsyncGenerator[OpenAIProvider]:
    async with server, AsyncOpenAI(base_url=f"{server.start().url}/v1", api_key="sk-test", max_retries=0) as client:
        yield OpenAIProvider(openai_client=client)


def chat_call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"id": f"call_{name}", "type": "function", "function": function}]}


async def test_openai_chat_is_offered_what_was_found() -> None:
    server = OpenAI(
        chat_call("search_tools", {"queries": ["send a mail"]}),
        chat_call("send_mail", {"to": "Ada"}),
        {"content": "done"},
    )
    async with openai_provider(server) as provider:
        result = await agent_of(OpenAIChatModel("gpt-4o", provider=provider)).run("Write to Ada.")

    assert result.output == "done"
    offered = [sorted(tool["function"]["name"] for tool in request["tools"]) for request in server.requests]
    assert offered == [["search_tools"], ["search_tools", "send_mail"], ["search_tools", "send_mail"]]
    assert server.requests[2]["messages"][-1]["content"] == "sent to Ada"


async def test_openai_chat_is_told_to_search_and_why_a_search_found_nothing() -> None:
    server = OpenAI(
        chat_call("send_mail", {"to": "Ada"}),
        chat_call("search_tools", {"queries": ["/mail(/"]}),
        {"content": "sorry"},
    )
    async with openai_provider(server) as provider:
        await agent_of(OpenAIChatModel("gpt-4o", provider=provider)).run("Write to Ada.")
    assert "search for it first" in server.requests[1]["messages"][-1]["content"]
    assert "mail(" in server.requests[2]["messages"][-1]["content"]


def item(kind: str, number: int, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "id": f"{kind}_{number}", "call_id": f"call_{number}", "status": "completed", **fields}


def searches(number: int, *queries: str) -> dict[str, Any]:
    return item("tool_search_call", number, execution="client", arguments={"queries": list(queries)})


def uses(number: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return item("function_call", number, name=name, arguments=json.dumps(arguments))


def says(text: str) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": content}


async def run_on_responses(
    server: OpenAI, model: str = "gpt-5.4", catalog: ToolCatalog | None = None, **options: Any
) -> list[ModelMessage]:
    async with openai_provider(server) as provider:
        agent = agent_of(OpenAIResponsesModel(model, provider=provider), catalog=catalog)
        result = await agent.run("Write to Ada.", **options)
    assert result.output == "done"
    return result.all_messages()


async def test_openai_responses_searches_with_its_own_kind_of_call_and_an_unchanging_tool_list() -> None:
    server = OpenAI(searches(1, "メールを送る"), uses(2, "send_mail", {"to": "Ada"}), says("done"))
    await run_on_responses(server)
    tools = server.requests[0]["tools"]
    assert {tool.get("name", tool["type"]): tool.get("defer_loading", False) for tool in tools} == {
        "tool_search": False,
        "send_mail": True,
        "get_weather": True,
    }
    assert [request["tools"] for request in server.requests] == [tools] * 3
    (found,) = server.inputs("tool_search_output")
    assert [tool["name"] for tool in found["tools"]] == ["send_mail"]
    assert [result["output"] for result in server.inputs("function_call_output")] == ["sent to Ada"]


async def test_each_search_of_openai_responses_has_an_answer_of_its_own_kind_even_a_broken_one() -> None:
    server = OpenAI(searches(1, "/mail(/"), searches(2, "bake a cake"), searches(3, " "), says("done"))
    await run_on_responses(server)
    answered = [(output["call_id"], output["tools"]) for output in server.inputs("tool_search_output")]
    assert answered == [("call_1", []), ("call_2", []), ("call_3", [])]
    assert server.inputs("function_call_output") == []
    said = [json.dumps(message["content"]) for message in server.requests[-1]["input"] if message.get("role") == "user"]
    assert [len(re.findall(r"mail\(|'bake a cake'|One entry for each", text)) for text in said] == [0, 1, 1, 1]


async def test_openai_responses_reads_that_the_nearest_are_uncertain() -> None:
    server = OpenAI(searches(1, "send mail"), says("done"))
    await run_on_responses(server, catalog=Unsure())
    assert [tool["name"] for tool in server.inputs("tool_search_output")[0]["tools"]] == ["send_mail"]
    assert "No tool surely fits 'send mail'." in json.dumps(server.requests[-1]["input"][-1])


async def test_openai_responses_is_told_to_search() -> None:
    server = OpenAI(uses(1, "send_mail", {"to": "Ada"}), says("done"))
    await run_on_responses(server)
    (refused,) = server.inputs("function_call_output")
    assert "search for it first" in refused["output"]


async def test_openai_responses_calls_what_was_found_before_a_compaction() -> None:
    history = await run_on_responses(OpenAI(searches(1, "send a mail"), says("done")))
    server = OpenAI(uses(2, "send_mail", {"to": "Ada"}), says("done"))
    await run_on_responses(server, message_history=[*history, ModelRequest(parts=[SUMMARY])])
    assert server.inputs("function_call_output")[-1]["output"] == "sent to Ada"


async def test_an_older_model_on_openai_responses_is_shown_what_was_found() -> None:
    server = OpenAI(
        uses(1, "search_tools", {"queries": ["send a mail"]}), uses(2, "send_mail", {"to": "Ada"}), says("done")
    )
    await run_on_responses(server, "gpt-4o")
    assert [[tool["name"] for tool in request["tools"]] for request in server.requests] == [["search_tools"]] * 3
    (added,) = server.inputs("additional_tools")
    assert [tool["name"] for tool in added["tools"]] == ["send_mail"]


# Claude Code


@pytest.fixture
def claude_code(messages_server: Server, claude_code_env: Environment, tmp_path: Path) -> Callable[..., Any]:
    def make(script: Any, mode: Literal["mcp", "agent"]) -> tuple[MessagesServer, ClaudeCodeModel]:
        server = messages_server(script)
        model = ClaudeCodeModel(
            tool_execution=mode, env=claude_code_env(server), working_directory=tmp_path, max_retries=0, timeout=60.0
        )
        if mode == "mcp":
            model.set_agent_toolsets(TOOLS)
        return server, model

    return make


@pytest.mark.cli
@pytest.mark.parametrize("mode", ["agent", "mcp"])
async def test_claude_code_is_offered_what_was_found(claude_code: Callable[..., Any], mode: str) -> None:
    server, model = claude_code(FOUND_AND_CALLED, mode)
    assert (await agent_of(model).run("Write to Ada.")).output == "done"
    assert [sorted(name.rpartition("__")[2] for name in request.tool_names) for request in server.requests] == [
        ["search_tools"],
        ["search_tools", "send_mail"],
        ["search_tools", "send_mail"],
    ]
    assert server.requests[2].tool_result_texts[-1] == "sent to Ada"
    assert server.refusals == []


@pytest.mark.cli
@pytest.mark.parametrize("mode", ["agent", "mcp"])
async def test_claude_code_calls_what_was_found_before_a_compaction(claude_code: Callable[..., Any], mode: str) -> None:
    _, model = claude_code([call("search_tools", {"queries": ["send a mail"]}), say("found")], mode)
    history = (await agent_of(model).run("Look for it.")).all_messages()
    server, model = claude_code([call("send_mail", {"to": "Ada"}), say("done")], mode)
    history.append(ModelRequest(parts=[SUMMARY]))
    assert (await agent_of(model).run("Write to Ada.", message_history=history)).output == "done"
    assert server.requests[1].tool_result_texts[-1] == "sent to Ada"
    assert server.refusals == []


@pytest.mark.cli
@pytest.mark.parametrize("mode", ["agent", "mcp"])
async def test_claude_code_is_told_to_search_and_goes_on(claude_code: Callable[..., Any], mode: str) -> None:
    server, model = claude_code([call("mcp__pydantic_tools__send_mail", {"to": "Ada"}), *FOUND_AND_CALLED], mode)
    assert (await agent_of(model).run("Write to Ada.")).output == "done"
    assert "Not in your list of tools: 'mcp__pydantic_tools__send_mail'." in str(server.requests[1].messages[-1])
    assert server.requests[3].tool_result_texts[-1] == "sent to Ada"
    assert server.refusals == []


@pytest.mark.cli
@pytest.mark.parametrize("mode", ["agent", "mcp"])
async def test_claude_code_lists_tools_of_any_name_under_those_that_the_search_showed(
    messages_server: Server, claude_code_env: Environment, tmp_path: Path, mode: Literal["mcp", "agent"]
) -> None:
    names = ["メール送信", "予定を追加", "write_the_minutes_of_a_meeting_" + "and_more_" * 12]
    wire = WireNames(names, longest=128 - len("mcp__pydantic_tools__"))
    ran: list[str] = []

    def tool(name: str) -> PydanticAITool[Any]:
        def run() -> str:
            ran.append(name)
            return f"{name}: done"

        return PydanticAITool(run, name=name, description="", defer_loading=True)

    toolset = FunctionToolset[Any]([tool(name) for name in names])
    first = call("search_tools", {"queries": ["メール", "予定"]})
    second = call("search_tools", {"queries": ["minutes of a meeting"]})
    calls = turn(*(call(wire.of(name), {}, id=f"toolu_{place}") for place, name in enumerate(names)))
    server = messages_server([first, second, calls, say("done")])
    model = ClaudeCodeModel(
        tool_execution=mode, env=claude_code_env(server), working_directory=tmp_path, max_retries=0, timeout=60.0
    )
    if mode == "mcp":
        model.set_agent_toolsets(toolset)
    agent = Agent(model, toolsets=[toolset], capabilities=[to_pydantic_ai_search()])
    result = await agent.run("?")
    assert (result.output, sorted(ran)) == ("done", sorted(names))
    shown = server.requests[1].tool_result_texts[-1] + server.requests[2].tool_result_texts[-1]
    listed = {name for name in server.requests[2].tool_names if not name.endswith("search_tools")}
    assert len(listed) == 3
    assert set(re.findall(r'"name": ?"(.*?)"', shown)) == listed
    called = [
        part.tool_name for message in result.all_messages() for part in message.parts if part.part_kind == "tool-call"
    ]
    assert set(called) >= set(names) if mode == "agent" else called == ["search_tools"] * 2
    assert server.refusals == []
