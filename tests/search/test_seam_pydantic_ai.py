"""pydantic-ai's `ToolSearch` with our engine: queries, in step with the tools, deferring, across histories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext, ToolAvailabilityDeltaPart
from pydantic_ai.capabilities import ProcessHistory, ToolSearch
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RunUsage
from tests.pydantic_ai_support import Messages, returned, scripted, searches
from tests.support import Heard

from hikidashi import ToolResult, from_function, to_pydantic_ai
from hikidashi.search import ToolCatalog, deferred, to_pydantic_ai_search


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
CALLS = ToolCallPart("send_mail", {"to": "Ada"})


async def test_the_model_reads_how_to_search_in_the_language_asked_for() -> None:
    seen: list[AgentInfo] = []
    search = to_pydantic_ai_search(about="メールと予定", language="ja")
    await Agent(scripted("hi", seen=seen), toolsets=[deferred(TOOLS)], capabilities=[search]).run("?")
    (tool,) = (tool for tool in seen[0].function_tools if tool.name == "search_tools")
    assert "対象分野: メールと予定。" in (tool.description or "")
    assert "/mail_.*/" in tool.parameters_json_schema["properties"]["queries"]["description"]


async def found_by(search: ToolSearch[Any], *queries: str) -> list[str]:
    agent = Agent(scripted(searches(*queries), "done"), toolsets=[deferred(TOOLS)], capabilities=[search])
    content: Any = returned((await agent.run("?")).all_messages(), "search_tools")[0].content
    return [match["name"] for match in content["discovered_tools"]]


@pytest.mark.parametrize(
    ("search", "query", "names"),
    [
        (to_pydantic_ai_search(strategy="both"), "/_(mail|events)$/", ["send_mail", "list_events"]),
        (to_pydantic_ai_search(strategy="both"), "weather", ["get_weather"]),
        (to_pydantic_ai_search(strategy="both"), "select:list_events,send_mail", ["list_events", "send_mail"]),
        (to_pydantic_ai_search(strategy="regex"), "^get_", ["get_weather"]),
        (to_pydantic_ai_search(strategy="regex"), "select:send_mail", ["send_mail"]),
        (to_pydantic_ai_search(strategy="words"), "bake a cake", []),
        (to_pydantic_ai_search(strategy="regex", max_results=1), "_", ["send_mail"]),
        (
            to_pydantic_ai_search(strategy="both", max_results=1),
            "select:list_events,send_mail",
            ["list_events", "send_mail"],
        ),
    ],
)
async def test_a_query_is_words_a_pattern_or_names(search: ToolSearch[Any], query: str, names: list[str]) -> None:
    assert await found_by(search, query) == names


async def test_several_queries_each_have_their_best_first() -> None:
    assert await found_by(to_pydantic_ai_search(max_results=1), "calendar events", "weather in a city", " ") == [
        "list_events",
        "get_weather",
    ]


def told(messages: Messages) -> list[str]:
    """What searches that found nothing said."""
    contents: list[Any] = [part.content for part in returned(messages, "search_tools")]
    return [content["message"] for content in contents if not content["discovered_tools"]]


async def test_a_search_that_cannot_be_answered_is_explained_and_never_ends_the_run() -> None:
    broken = [searches("/mail(/"), searches("select:nobody"), searches("x" * 501), searches(" ", ""), searches()]
    agent = Agent(
        scripted(*broken, *broken, "sorry"), toolsets=[deferred(TOOLS)], capabilities=[to_pydantic_ai_search()]
    )
    result = await agent.run("?")
    assert result.output == "sorry"
    pattern, name, long, *empty = told(result.all_messages())[:5]
    assert "'mail('" in pattern
    assert "'nobody'" in name
    assert "501 characters" in long
    assert all(said.startswith("One entry for each action") for said in empty)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "No tool fits 'bake a cake, cook'. Try once more"),
        ("ja", "'bake a cake, cook' に合うツールはありません。"),
    ],
)
async def test_a_search_without_a_match_says_so_in_the_language_asked_for(language: Any, said: str) -> None:
    model = scripted(searches("bake a cake", "cook"), "sorry")
    agent = Agent(model, toolsets=[deferred(TOOLS)], capabilities=[to_pydantic_ai_search(language=language)])
    (message,) = told((await agent.run("?")).all_messages())
    assert message.startswith(said)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "bm25"}, "`strategy` is 'bm25': use 'words', 'regex' or 'both'"),
        ({"max_results": 0}, "`max_results` is 0: use a whole number from 1 to 50"),
        ({"max_results": 51}, "`max_results` is 51"),
        ({"max_results": True}, "`max_results` is True"),
        ({"language": "de"}, "`language` is 'de': use 'en' or 'ja'"),
    ],
)
def test_options_that_could_not_work_are_refused_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        to_pydantic_ai_search(**options)


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
    search = strategy_of(to_pydantic_ai_search(catalog=catalog))
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
    search = strategy_of(to_pydantic_ai_search(catalog=catalog, max_results=3))

    assert search(CONTEXT, ["pigeon"], [definition("mail", "Send a mail"), definition("weather", "Rain")]) == ["mail"]
    assert catalog.changes == ["+weather"]
    assert search(CONTEXT, ["pigeon"], [definition("mail", "Send a mail")]) == ["mail"]
    assert "pigeon_0" in catalog


def test_tools_of_others_in_a_shared_catalogue_do_not_keep_an_agent_from_its_own() -> None:
    theirs: list[Any] = [{"name": f"mail_{n}", "description": "Send a mail", "input_schema": {}} for n in range(60)]
    catalog = Counting(theirs)
    search = strategy_of(to_pydantic_ai_search(catalog=catalog))
    post = definition("post", "Send a mail, by a way that has many words of its own in a long description")
    for query in ("send a mail", "/mail/"):
        assert search(CONTEXT, [query], [post]) == ["post"]
    changed = definition("post", "Send a mail, or a letter, by a way that has many words in a long description")
    assert search(CONTEXT, ["/a letter|mail/"], [changed, definition("rain", "The weather")]) == ["post"]
    assert search(CONTEXT, ["select:mail_0"], [post]) == []


def test_a_tool_that_its_owner_took_out_of_the_catalogue_comes_back_with_the_agent() -> None:
    catalog = Counting()
    search = strategy_of(to_pydantic_ai_search(catalog=catalog))
    mail, weather = definition("mail", "Send a mail"), definition("weather", "The weather")
    search(CONTEXT, ["send mail"], [mail, weather])
    catalog.remove("mail")
    assert search(CONTEXT, ["send mail"], [mail, weather]) == ["mail"]
    catalog.remove("weather")
    assert search(CONTEXT, ["send mail"], [mail]) == ["mail"]


def test_aliases_of_a_neutral_tool_are_found() -> None:
    tool = from_function(send_mail, aliases=("telegram",))
    (listed,) = to_pydantic_ai([tool.deferred()])._definitions.values()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    assert strategy_of(to_pydantic_ai_search())(CONTEXT, ["telegram"], [listed]) == ["send_mail"]


# Deferring


async def offered(toolset: Any, model: Model | None = None) -> list[str]:
    seen: list[AgentInfo] = []
    agent = Agent(model or scripted("hi", seen=seen), toolsets=[toolset], capabilities=[to_pydantic_ai_search()])
    await agent.run("?")
    return sorted(tool.name for tool in seen[0].function_tools if not tool.defer_loading)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["search_tools"]),
        ({"always_loaded": ["send_mail"]}, ["search_tools", "send_mail"]),
        (
            {"usage": {"gone": 99, "get_weather": 9, "list_events": 2, "send_mail": 5}, "keep": 2},
            ["get_weather", "search_tools", "send_mail"],
        ),
        ({"usage": {"get_weather": 9}, "keep": 0}, ["search_tools"]),
        ({"usage": {"get_weather": 0}}, ["search_tools"]),
    ],
)
async def test_all_is_deferred_but_what_is_named_or_used_most(options: dict[str, Any], names: list[str]) -> None:
    assert await offered(deferred(TOOLS, **options)) == names


def test_one_name_in_the_place_of_a_list_of_names_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"`always_loaded` is 'send_mail': use a list of names, such as \['send_mail'\]"
    ):
        deferred(TOOLS, always_loaded="send_mail")


async def test_calls_of_tools_that_stay_loaded_are_recorded_too() -> None:
    heard = Heard()
    toolset = deferred(TOOLS, usage={"send_mail": 1}, keep=1)
    await Agent(scripted(CALLS, "done"), toolsets=[toolset], capabilities=[to_pydantic_ai_search(record=heard)]).run(
        "?"
    )
    assert heard.calls == ["send_mail"]


async def test_neutral_tools_are_deferred_and_found_too() -> None:
    def stock(symbol: str) -> ToolResult:
        """The price of a stock."""
        return ToolResult.of(f"{symbol}: 7")

    seen: list[AgentInfo] = []
    model = scripted(searches("stock price"), ToolCallPart("stock", {"symbol": "X"}), "7", seen=seen)
    toolset = deferred(to_pydantic_ai([from_function(stock)]))
    result = await Agent(model, toolsets=[toolset], capabilities=[to_pydantic_ai_search()]).run("?")
    assert [part.content for part in returned(result.all_messages(), "stock")] == ["X: 7"]


# Histories


async def discovered_history() -> Messages:
    agent = Agent(
        scripted(searches("send a mail"), "found"), toolsets=[deferred(TOOLS)], capabilities=[to_pydantic_ai_search()]
    )
    return (await agent.run("Look for it.")).all_messages()


async def test_what_was_found_is_callable_when_the_history_is_replayed() -> None:
    heard = Heard()
    search = to_pydantic_ai_search(record=heard)
    agent = Agent(scripted(CALLS, "done"), toolsets=[deferred(TOOLS)], capabilities=[search])
    result = await agent.run("Now write.", message_history=await discovered_history())
    assert [part.content for part in returned(result.new_messages(), "send_mail")] == ["sent to Ada"]
    assert (heard.searches, heard.calls) == ([], ["send_mail"])


async def test_a_tool_that_was_not_found_is_not_called_and_the_model_is_told_to_search() -> None:
    agent = Agent(
        scripted(CALLS, searches("send a mail"), CALLS, "done"),
        toolsets=[deferred(TOOLS)],
        capabilities=[to_pydantic_ai_search()],
    )
    refused, answered = returned((await agent.run("Write.")).all_messages(), "send_mail")
    assert "search for it first" in refused.model_response_str()
    assert (refused.outcome, answered.content) == ("retried", "sent to Ada")


SUMMARY = CompactionPart("They looked for a mail tool.")


@pytest.mark.parametrize("compaction", [ModelResponse(parts=[SUMMARY]), ModelRequest(parts=[SUMMARY])])
async def test_what_was_found_stays_found_behind_a_compaction(compaction: ModelMessage) -> None:
    history = [*await discovered_history(), compaction]
    for _ in range(2):
        seen: list[AgentInfo] = []
        agent = Agent(
            scripted(CALLS, "done", seen=seen), toolsets=[deferred(TOOLS)], capabilities=[to_pydantic_ai_search()]
        )
        result = await agent.run("Now write.", message_history=history)
        assert [part.content for part in returned(result.new_messages(), "send_mail")] == ["sent to Ada"]
        assert [sorted(tool.name for tool in info.function_tools) for info in seen] == [
            ["search_tools", "send_mail"]
        ] * 2
        history = result.all_messages()
    shown = [part for message in history for part in message.parts if isinstance(part, ToolAvailabilityDeltaPart)]
    assert [part.tools_added for part in shown] == [["send_mail"]]


async def test_what_was_found_stays_found_when_a_processor_cuts_the_history() -> None:
    def newest(messages: Messages) -> Messages:
        return messages[-2:]

    seen: list[AgentInfo] = []
    agent = Agent(
        scripted(searches("send a mail"), CALLS, CALLS, CALLS, "done", seen=seen),
        toolsets=[deferred(TOOLS)],
        capabilities=[to_pydantic_ai_search(), ProcessHistory(newest)],
    )
    assert (await agent.run("Write thrice.")).output == "done"
    offered = [sorted(tool.name for tool in info.function_tools) for info in seen]
    assert offered == [["search_tools"], *[["search_tools", "send_mail"]] * 4]


async def test_a_history_in_which_a_tool_was_called_counts_as_found() -> None:
    called = ModelResponse(parts=[CALLS])
    answered = ModelRequest(parts=[ToolReturnPart("send_mail", "sent", tool_call_id=CALLS.tool_call_id)])
    history: Messages = [ModelRequest(parts=[UserPromptPart("Write.")]), called, answered]
    seen: list[AgentInfo] = []
    agent = Agent(scripted("done", seen=seen), toolsets=[deferred(TOOLS)], capabilities=[to_pydantic_ai_search()])
    await agent.run("Again.", message_history=[*history, ModelResponse(parts=[TextPart("ok")])])
    assert sorted(tool.name for tool in seen[0].function_tools) == ["search_tools", "send_mail"]


async def test_what_one_run_found_is_not_found_for_another() -> None:
    seen: list[AgentInfo] = []
    model = scripted(searches("send a mail"), "found", "hi", seen=seen)
    agent = Agent(model, toolsets=[deferred(TOOLS)], capabilities=[to_pydantic_ai_search()])
    await agent.run("Look for it.")
    await agent.run("Hello.")
    assert [tool.name for tool in seen[2].function_tools] == ["search_tools"]


async def test_what_a_history_found_and_is_gone_now_is_not_offered() -> None:
    seen: list[AgentInfo] = []
    agent = Agent(
        scripted("hi", seen=seen),
        toolsets=[deferred(FunctionToolset([get_weather]))],
        capabilities=[to_pydantic_ai_search()],
    )
    await agent.run("?", message_history=[*await discovered_history(), ModelResponse(parts=[SUMMARY])])
    assert [tool.name for tool in seen[0].function_tools] == ["search_tools"]
