"""Claude Code as a pydantic-ai model with `preload=N`: the real CLI offers what a message needs in its first turn."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.toolsets import FunctionToolset
from tests.pydantic_ai_support import preloading
from tests.search.preload_support import ASK_MAIL, ASK_WEATHER, get_weather, refund_order, send_mail
from tests.support import ClaudeCode

from hikidashi import ClaudeCodeModel, from_function
from hikidashi.errors import InvalidSettingError
from hikidashi.search import SearchLog, ToolCatalog, report, to_claude_search
from hikidashi.search.log_report import FoundByCounts
from hikidashi.testing import call, say

TOOLS = FunctionToolset[Any]([get_weather, refund_order, send_mail])
THANKS = "thanks, that was great"
REFUND = "Refund order 12"


@pytest.mark.cli
@pytest.mark.parametrize("mode", ["agent", "mcp"])
async def test_claude_code_calls_what_was_loaded_in_its_first_turn(
    claude_code: ClaudeCode, tmp_path: Path, mode: str
) -> None:
    script = [
        *(call("send_mail", {"to": "Ada"}), say("done")),
        *(call("get_weather", {"city": "Rome"}), say("rain")),
        say("gladly"),
        *(call("search_tools", {"queries": ["refund an order"]}), call("refund_order", {"number": 12}), say("done")),
    ]
    model, server = claude_code(script, tool_execution=mode)
    if mode == "mcp":
        model.set_agent_toolsets(TOOLS)
    saved: bytes | None = None
    with SearchLog(tmp_path / "log.db") as log:
        for message in (ASK_MAIL, ASK_WEATHER, THANKS, REFUND):
            agent = preloading(model, TOOLS, preload=1, preload_most=2, record=log)
            history = ModelMessagesTypeAdapter.validate_json(saved) if saved else None
            saved = ModelMessagesTypeAdapter.dump_json(
                (await agent.run(message, message_history=history)).all_messages()
            )
        searches, calls = log.searches(), log.calls()
        shares = report(log, ToolCatalog()).conversations_found_by
    offered = [sorted(name.rpartition("__")[2] for name in request.tool_names) for request in server.requests]
    bound = ["get_weather", "search_tools", "send_mail"]
    assert offered == [
        *[["search_tools", "send_mail"]] * 2,
        *[bound] * 4,
        *[[*bound[:1], "refund_order", *bound[1:]]] * 2,
    ]
    # What was offered before is offered again, byte for byte and in the same order, as prompt caches need it.
    for earlier, later in pairwise(request.tools for request in server.requests):
        names = {tool["name"] for tool in earlier}
        assert [tool for tool in later if tool["name"] in names] == earlier
    (loaded,) = (tool for tool in server.requests[0].tools if tool["name"].endswith("send_mail"))
    assert loaded["description"] == "Send a mail to somebody."
    assert loaded["input_schema"]["properties"] == {"to": {"type": "string"}}
    assert server.requests[1].tool_result_texts == ["sent to Ada"]
    assert server.requests[3].tool_result_texts[-1] == "rain in Rome"
    assert server.requests[7].tool_result_texts[-1] == "refunded 12"
    assert server.refusals == []
    assert [(one.kind, one.query, one.names) for one in searches] == [
        ("preload", ASK_MAIL, ("send_mail",)),
        ("preload", ASK_WEATHER, ("get_weather",)),
        ("words", "refund an order", ("refund_order",)),
    ]
    assert len({one.session for one in (*searches, *calls)}) == 1
    found = [("send_mail", "preload"), ("get_weather", "preload"), ("refund_order", "search")]
    assert [(one.name, one.found_by) for one in calls] == found
    assert shares == FoundByCounts(total=1, search=1)


def test_a_server_that_preloads_for_one_conversation_is_refused_with_the_remedy() -> None:
    server = to_claude_search([from_function(send_mail)], preload=2)
    with pytest.raises(InvalidSettingError) as caught:
        ClaudeCodeModel(mcp_servers={"mails": server})
    assert caught.value.setting == "mcp_servers['mails']"
    assert "`to_pydantic_ai_search(tools, preload=...)`" in str(caught.value)
    ClaudeCodeModel(mcp_servers={"mails": to_claude_search([from_function(send_mail)])})
