"""Servers whose lists are not quite valid: what is valid is used, and what is not is noted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import MCPError, types
from tests.gateway.servers import program
from tests.gateway.test_gateway import MODES, Mode, connected, text_of

from hikidashi.servers.listing import ListRepairs

SOURCE = """
import json, sys
RESULTS = json.loads(open(__file__ + ".json").read())
for line in sys.stdin:
    message = json.loads(line)
    method, asked = message.get("method"), message.get("id")
    if asked is None:
        continue
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
                  "serverInfo": {"name": "odd", "version": "1"}}
    elif method == "tools/call":
        result = RESULTS["calls"].get(message["params"]["name"],
                                      {"content": [{"type": "text", "text": message["params"]["name"]}]})
    elif method in RESULTS["lists"]:
        result = RESULTS["lists"][method]
    else:
        result = None
    answer = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no"}}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked, **answer}) + "\\n")
    sys.stdout.flush()
"""

TOOLS: list[Any] = [
    {"name": "whole", "inputSchema": {"type": "object"}},
    {"name": "typeless", "inputSchema": {"properties": {"a": {"type": "string"}}}},
    {"name": "bare", "inputSchema": {}},
    {"name": "without"},
    {"name": "listed", "inputSchema": {"type": "array"}},
    {"inputSchema": {"type": "object"}},
    "text",
    {"name": "titled", "title": 5, "inputSchema": {"type": "object"}},
]
LISTS: dict[str, Any] = {
    "tools/list": {"tools": TOOLS},
    "prompts/list": {"prompts": [{"name": "good"}, {"title": "nameless"}]},
    "resources/list": {"resources": [{"uri": "x://1", "name": "one"}, {"uri": "x://2"}]},
}


@pytest.mark.parametrize("mode", MODES)
async def test_an_invalid_item_costs_its_server_no_other(mode: Mode, tmp_path: Path) -> None:
    server = program(tmp_path, "odd", SOURCE)
    Path(f"{server.args[0]}.json").write_text(json.dumps({"lists": LISTS, "calls": {"bare": {}}}))
    async with connected([server], mode) as (client, gateway):
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        resources = [str(one.uri) for one in (await client.list_resources()).resources]
        said = text_of(await client.call_tool("odd__typeless", {"a": "b"}))
        with pytest.raises(MCPError) as refused:
            await client.call_tool("odd__bare", {})
        listing = gateway.upstreams["odd"].listing

    assert list(tools) == ["odd__whole", "odd__typeless", "odd__bare", "odd__without"]
    assert tools["odd__typeless"].input_schema == {"type": "object", "properties": {"a": {"type": "string"}}}
    assert (prompts, resources, said) == (["odd__good"], ["x://1"], "typeless")
    assert listing is not None
    assert listing.notes == (
        "the tool 'listed' is left out, since it is invalid: inputSchema.type: Input should be 'object'",
        "the tool number 6 is left out, since it is invalid: name: Field required",
        "the tool number 7 is left out, since it is invalid: Input should be a valid dictionary or instance of Tool",
        "the tool 'titled' is left out, since it is invalid: title: Input should be a valid string",
        "the prompt number 2 is left out, since it is invalid: name: Field required",
        "the resource 'x://2' is left out, since it is invalid: name: Field required",
    )
    assert "The server 'odd' sent an invalid response: content: Field required" in str(refused.value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "inputSchema", "outputSchema", "type", "annotations", "_meta", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(["tools", "nextCursor", "x"]), json_values, max_size=3))
def test_whatever_a_list_has_its_tools_are_valid_afterwards(result: dict[str, Any]) -> None:
    repairs, notes = ListRepairs(), list[str]()
    answer = types.JSONRPCResponse(jsonrpc="2.0", id=1, result=result)
    with repairs.on("2025-06-18", notes):
        repairs.asked(types.JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/list"))
        repairs.answered(answer)
    given_tools: Any = result.get("tools")
    if isinstance(given_tools, list):
        kept = [types.Tool.model_validate(tool) for tool in answer.result["tools"]]
        assert len(kept) + len(notes) == len(cast("list[Any]", given_tools))
