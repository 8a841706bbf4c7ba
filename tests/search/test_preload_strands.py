"""strands with `preload=N`: the tools for a message are in the first request, and stay for the conversation."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import strands
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.hooks import AfterModelCallEvent, HookProvider, HookRegistry
from strands.models.anthropic import AnthropicModel
from strands.session.file_session_manager import FileSessionManager
from tests.search.preload_support import (
    ASK_AGAIN,
    ASK_EVENTS,
    ASK_FLIGHT,
    ASK_MAIL,
    ASK_WEATHER,
    MAIL,
    TOOLS,
    WEATHER,
    Failing,
    by_words,
    long_mails,
)
from tests.support import Heard

from hikidashi.search import SearchLog, ToolCatalog, report, to_strands_search
from hikidashi.testing import MessagesServer, call, say, turn

Server = Callable[..., MessagesServer]


def hook(preload: int = 2, **options: Any) -> Any:
    return to_strands_search(options.pop("tools", None) or by_words(), preload=preload, **options)


async def run(server: MessagesServer, hook: Any, *prompts: Any, **options: Any) -> strands.Agent:
    """An agent with the hook, after it was asked on `server`."""
    model = AnthropicModel(
        client_args={"base_url": server.url, "api_key": "sk-test"}, model_id="claude-sonnet-4-6", max_tokens=1000
    )
    async with model.client:
        agent = strands.Agent(model=model, hooks=[hook], callback_handler=None, **options)
        for prompt in prompts:
            await agent.invoke_async(prompt)
    return agent


def offered(server: MessagesServer) -> list[list[str]]:
    return [request.tool_names for request in server.requests]


async def test_the_first_request_has_the_tool_in_full_and_no_search_is_needed(
    messages_server: Server, tmp_path: Path
) -> None:
    server = messages_server([WEATHER, say("It rains.")])
    with SearchLog(tmp_path / "log.db") as log:
        agent = await run(server, hook(record=log), ASK_WEATHER)
        assert [(each.name, each.found_by) for each in log.calls()] == [("get_weather", "preload")]
        (preload,) = log.searches()
        found = report(log, by_words())
    assert agent.messages[-1]["content"] == [{"text": "It rains."}]
    assert offered(server) == [["search_tools", "get_weather"]] * 2
    definition = server.requests[0].body["tools"][1]
    assert (definition["name"], definition["description"]) == ("get_weather", "The weather in a city.")
    assert definition["input_schema"]["required"] == ["city"]
    assert server.requests[1].tool_result_texts == ["rain in Tokyo"]
    assert (preload.kind, preload.query, preload.called) == (
        "preload",
        ASK_WEATHER,
        ("get_weather",),
    )
    assert (found.conversations_found_by.preload, found.conversations_found_by.total, found.searches) == (1, 1, 0)


async def test_later_messages_add_tools_at_the_end_and_talk_adds_none(messages_server: Server) -> None:
    server = messages_server([say("Rain."), say("Welcome!"), MAIL, say("Sent."), say("Rain.")])
    prompts = (ASK_WEATHER, "Thank you!", ASK_MAIL, "What is the weather in Oslo?")
    heard = Heard()
    await run(server, hook(record=heard), *prompts)
    first, both = ["search_tools", "get_weather"], ["search_tools", "get_weather", "send_mail"]
    assert offered(server) == [first, first, both, both, both]
    # What was loaded before is a prefix of what follows, byte for byte, as prompt caches need it.
    tools = [request.body["tools"] for request in server.requests]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(tools))
    assert heard.searches == [
        (ASK_WEATHER, "preload", ["get_weather"]),
        (ASK_MAIL, "preload", ["send_mail"]),
    ]


async def test_a_conversation_loads_no_more_than_its_bound_and_the_model_can_still_search(
    messages_server: Server, tmp_path: Path
) -> None:
    server = messages_server(
        [say("Rain."), say("?"), call("search_tools", {"query": "send a mail"}), MAIL, WEATHER, say("Sent.")]
    )
    prompts = (ASK_WEATHER, ASK_EVENTS, ASK_MAIL)
    with SearchLog(tmp_path / "log.db") as log:
        await run(server, hook(1, preload_most=2, record=log), *prompts)
        assert [(each.name, each.found_by) for each in log.calls()] == [
            ("send_mail", "search"),
            ("get_weather", "preload"),
        ]
        assert len({each.session for each in log.calls()}) == 1
    bound = ["search_tools", "get_weather", "list_events"]
    assert offered(server) == [bound[:2], bound, bound, *[[*bound, "send_mail"]] * 3]


async def test_a_session_that_is_restored_has_the_same_tools_even_where_messages_were_cut(
    messages_server: Server, tmp_path: Path
) -> None:
    def session() -> dict[str, Any]:
        manager = FileSessionManager(session_id="one", storage_dir=str(tmp_path))
        window = SlidingWindowConversationManager(window_size=2)
        return {"agent_id": "a", "session_manager": manager, "conversation_manager": window}

    with SearchLog(tmp_path / "log.db") as log:
        first = messages_server([say("Rain."), say("Sent."), say("Welcome!")])
        asked = (ASK_WEATHER, ASK_MAIL, "Thank you!")
        agent = await run(first, hook(record=log), *asked, **session())
        assert "Tokyo" not in str(agent.messages)
        later = messages_server([WEATHER, say("Rain."), say("Booked.")])
        await run(later, hook(1, preload_most=2, record=log), "Once more.", ASK_FLIGHT, **session())
        assert [each.found_by for each in log.calls()] == ["preload"]
        assert len({each.session for each in [*log.calls(), *log.searches()]}) == 1
    assert offered(later) == [["search_tools", "get_weather", "send_mail"]] * 3
    assert later.requests[0].body["tools"] == first.requests[-1].body["tools"]


async def test_the_history_of_another_agent_loads_the_same_tools_in_the_same_order(messages_server: Server) -> None:
    script = [call("search_tools", {"query": "book a flight"}), say("?"), say("Rain."), say("Sent.")]
    prompts = ("Surprise me.", ASK_WEATHER, ASK_MAIL)
    first = messages_server(script)
    agent = await run(first, hook(), *prompts)
    later, heard = messages_server([WEATHER, say("Done.")]), Heard()
    await run(later, hook(record=heard), "Thank you!", messages=list(agent.messages))
    assert later.requests[0].body["tools"] == first.requests[-1].body["tools"]
    assert offered(later)[0] == ["search_tools", "book_flight", "get_weather", "send_mail"]
    assert heard.searches == []  # its messages were recorded when they were new


async def test_a_tool_that_the_history_called_is_loaded_though_no_message_finds_it(messages_server: Server) -> None:
    def used(name: str, number: int, status: str) -> list[Any]:
        use: Any = {"toolUseId": f"t{number}", "name": name, "input": {}}
        result = {"toolUseId": f"t{number}", "status": status, "content": [{"text": "?"}]}
        return [
            {"role": "assistant", "content": [{"toolUse": use}]},
            {"role": "user", "content": [{"toolResult": result}]},
        ]

    history: list[Any] = [
        {"role": "user", "content": [{"text": "Surprise me."}]},
        *used("list_events", 1, "success"),
        *used("book_flight", 2, "error"),
        *used("gone", 3, "success"),
        {"role": "assistant", "content": [{"text": "Well?"}]},
    ]
    server = messages_server([say("Rain.")])
    await run(server, hook(), ASK_WEATHER, messages=history)
    assert offered(server) == [["search_tools", "list_events", "get_weather"]]


async def test_text_beside_results_loads_nothing_and_in_a_message_of_its_own_it_does(messages_server: Server) -> None:
    def resumed(*content: Any) -> list[Any]:
        use: Any = {"toolUseId": "t1", "name": "gone", "input": {}}
        result = {"toolUseId": "t1", "status": "success", "content": [{"text": "?"}]}
        return [
            {"role": "user", "content": [{"text": "Surprise me."}]},
            {"role": "assistant", "content": [{"toolUse": use}]},
            {"role": "user", "content": [{"toolResult": result}, *content]},
        ]

    server = messages_server([say("Rain."), say("Rain.")])
    await run(server, hook(), resumed({"text": ASK_WEATHER}))
    await run(server, hook(), [*resumed(), {"role": "user", "content": [{"text": ASK_WEATHER}]}])
    assert offered(server) == [["search_tools"], ["search_tools", "get_weather"]]


async def test_tools_that_are_always_loaded_are_not_loaded_twice(messages_server: Server, tmp_path: Path) -> None:
    server = messages_server([turn(WEATHER, call("book_flight", {})), call("book_flight", {"city": "Oslo"}), say(".")])
    with SearchLog(tmp_path / "log.db") as log:
        await run(server, hook(always_loaded=["get_weather"], record=log), ASK_WEATHER)
        assert log.searches() == []
        assert [(each.name, each.found_by) for each in log.calls()] == [
            ("get_weather", "listed"),
            ("book_flight", "nothing"),
        ]
    assert offered(server)[0] == ["search_tools", "get_weather"]


async def test_a_loaded_tool_stays_with_its_agent_though_the_catalogue_loses_it(messages_server: Server) -> None:
    catalog = by_words()
    shared = hook(tools=catalog)
    first = messages_server([say("Sent.")])
    agent = await run(first, shared, ASK_MAIL)
    catalog.remove("send_mail")
    later = messages_server([say("?")])
    await run(later, shared, ASK_WEATHER, messages=list(agent.messages))
    assert "send_mail" in agent.tool_names
    assert offered(later) == [["search_tools", "get_weather"]]  # a new agent cannot load what is gone


async def test_each_agent_of_one_hook_has_tools_and_records_of_its_own(messages_server: Server, tmp_path: Path) -> None:
    with SearchLog(tmp_path / "log.db") as log:
        shared = hook(record=log)
        weather, mail = messages_server([WEATHER, say("Rain.")]), messages_server([MAIL, say("Sent.")])
        await asyncio.gather(run(weather, shared, ASK_WEATHER), run(mail, shared, ASK_MAIL))
        assert len({each.session for each in log.calls()}) == 2
        assert report(log, by_words()).conversations_found_by.preload == 2
    assert offered(weather)[0] == ["search_tools", "get_weather"]
    assert offered(mail)[0] == ["search_tools", "send_mail"]


async def test_messages_are_read_by_their_text_alone(messages_server: Server) -> None:
    server = messages_server([say("Rain."), say("?")])
    image = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}
    await run(server, hook(), [{"text": ASK_WEATHER}, image], [image])
    assert offered(server) == [["search_tools", "get_weather"]] * 2


async def test_definitions_beyond_the_budget_are_left_to_a_search(messages_server: Server, tmp_path: Path) -> None:
    tools = [TOOLS[1], *long_mails("send_mail", "send_mail_later", "send_mail_again")]
    script = [
        call("search_tools", {"query": "select:send_mail_again"}),
        call("send_mail_again", {"to": "Ada"}),
        say("."),
    ]
    server = messages_server([say("Sent."), *script])
    with SearchLog(tmp_path / "log.db") as log:
        await run(server, hook(3, tools=tools, budget=200, record=log), ASK_MAIL, "Thank you!")
        assert [each.found_by for each in log.calls()] == ["search"]
        preloaded = [search.names for search in log.searches() if search.kind == "preload"]
    loaded = offered(server)
    assert loaded[0] == loaded[1] == ["search_tools", *preloaded[0]]
    assert 1 <= len(preloaded[0]) < 3
    assert "send_mail_again" not in loaded[1]
    assert len(preloaded) == 1


async def test_a_tool_beyond_the_budget_of_a_message_is_loaded_for_a_later_one(messages_server: Server) -> None:
    tools = ToolCatalog(long_mails("send_mail", "send_mail_again", "send_mail_later"), ranker="lexical")
    server = messages_server([say("Sent."), say("Again.")])
    await run(server, hook(3, tools=tools, budget=200, preload_most=3), ASK_MAIL, ASK_AGAIN)
    assert offered(server) == [["search_tools", "send_mail"], ["search_tools", "send_mail", "send_mail_again"]]


async def test_a_model_call_that_is_tried_again_loads_nothing_more(messages_server: Server) -> None:
    tools = ToolCatalog(long_mails("send_mail", "send_mail_again", "send_mail_later"), ranker="lexical")
    server = messages_server([say("Sent."), say("Sent.")])

    class Again(HookProvider):
        is_done = False

        def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
            registry.add_callback(AfterModelCallEvent, self.again)

        def again(self, event: AfterModelCallEvent) -> None:
            event.retry, self.is_done = not self.is_done, True

    model = AnthropicModel(
        client_args={"base_url": server.url, "api_key": "sk-test"}, model_id="claude-sonnet-4-6", max_tokens=1000
    )
    async with model.client:
        search = hook(3, tools=tools, budget=200)
        agent = strands.Agent(model=model, hooks=[search, Again()], callback_handler=None)
        await agent.invoke_async(ASK_MAIL)
    assert offered(server) == [["search_tools", "send_mail"]] * 2


async def test_a_search_that_fails_does_not_end_the_run(
    messages_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server = messages_server([say("I cannot.")])
    with caplog.at_level(logging.WARNING, "hikidashi"):
        agent = await run(server, hook(tools=by_words(Failing)), ASK_WEATHER)
    assert agent.messages[-1]["content"] == [{"text": "I cannot."}]
    assert offered(server) == [["search_tools"]]
    assert "Nothing was preloaded" in caplog.text


async def test_a_state_that_somebody_else_wrote_does_no_harm(messages_server: Server) -> None:
    for odd in ("get_weather", [7], {"get_weather": 7, "gone": "preload"}):
        server = messages_server([say("Rain.")])
        await run(server, hook(), ASK_WEATHER, state={"hikidashi_found_by": odd})
        assert offered(server) == [["search_tools", "get_weather"]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"preload": 21}, "`preload` is 21: use a whole number from 1 to 20"),
        ({"preload": True}, "`preload` is True: use a whole number"),
        ({"preload": "5"}, "`preload` is '5': use a whole number"),
        ({"preload": 5, "preload_most": 4}, "`preload_most` is 4: use a whole number from 5 on"),
        ({"preload_most": 5}, "`preload_most` is 5 and `preload` is off"),
    ],
)
def test_a_number_that_cannot_be_right_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        to_strands_search(TOOLS, **options)
