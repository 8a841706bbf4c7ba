"""Resources that several servers have under one URI: each is listed, read and followed at its own server."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import types
from pydantic import AnyUrl
from tests.gateway.servers import program
from tests.gateway.test_gateway import MODES, Mode, connected

from hikidashi.gateway.merged import Origin, merged_resources
from hikidashi.gateway.upstream.listing import Listing
from hikidashi.servers.config import McpServer

# The same program behind each server, as with two databases; it says which one it is.
SOURCE = """
import json, sys
ME = open(__file__ + ".name").read()

def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    sys.stdout.flush()

for line in sys.stdin:
    message = json.loads(line)
    method, asked, params = message.get("method"), message.get("id"), message.get("params") or {}
    if asked is None:
        continue
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "memo", "version": "1"}, "capabilities":
                  {"tools": {}, "prompts": {}, "completions": {}, "resources": {"subscribe": True}}}
    elif method == "tools/list":
        result = {"tools": [{"name": "link", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        send({"method": "notifications/resources/updated", "params": {"uri": "memo://insights"}})
        result = {"content": [{"type": "resource_link", "uri": "memo://insights", "name": "i"},
                              {"type": "resource_link", "uri": "memo://row/7", "name": "r"},
                              {"type": "resource", "resource": {"uri": "memo://insights", "text": ME}},
                              {"type": "text", "text": "memo://insights"}]}
    elif method == "prompts/list":
        result = {"prompts": [{"name": "ask"}]}
    elif method == "prompts/get":
        result = {"messages": [{"role": "user", "content": {"type": "resource_link", "uri": "memo://insights",
                                                            "name": "i"}}]}
    elif method == "resources/list":
        result = {"resources": [{"uri": "memo://insights", "name": "Insights"}]}
    elif method == "resources/templates/list":
        result = {"resourceTemplates": [{"uriTemplate": "memo://row/{id}", "name": "Row"}]}
    elif method == "resources/read" and params["uri"].startswith("memo://"):
        result = {"contents": [{"uri": params["uri"], "text": ME + " " + params["uri"]}]}
    elif method == "completion/complete":
        result = {"completion": {"values": [ME + " " + params["ref"]["uri"]]}}
    elif method in ("resources/subscribe", "resources/unsubscribe"):
        result = {}
    else:
        send({"id": asked, "error": {"code": -32002, "message": ME + " has no such thing"}})
        continue
    send({"id": asked, "result": result})
"""


def memo(folder: Path, name: str) -> McpServer:
    server = program(folder, name.replace(" ", "_"), SOURCE)
    Path(f"{server.args[0]}.name").write_text(name)
    return McpServer(name=name, transport="stdio", command=server.command, args=server.args)


def _uri_in(block: dict[str, Any]) -> str | None:
    held: dict[str, Any] = block.get("resource") or block
    return held.get("uri")


def text_of(result: types.ReadResourceResult) -> list[tuple[str, str]]:
    return [(str(one.uri), one.text) for one in result.contents if isinstance(one, types.TextResourceContents)]


@pytest.mark.parametrize("mode", MODES)
async def test_a_resource_that_two_servers_have_is_that_of_each(mode: Mode, tmp_path: Path) -> None:
    servers = [memo(tmp_path, "one"), memo(tmp_path, "two")]
    async with connected(servers, mode) as (client, _):
        listed = [str(one.uri) for one in (await client.list_resources()).resources]
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
        read = [text_of(await client.read_resource(uri)) for uri in (*listed, "memo://row/7", "two+memo://row/7")]
        links = [json.loads((await client.call_tool(f"{name}__link", {})).model_dump_json()) for name in ("one", "two")]
        prompt = (await client.get_prompt("two__ask")).messages[0].content
        completed = [
            (await client.complete(types.ResourceTemplateReference(uri=uri), {"name": "id", "value": ""})).completion
            for uri in templates
        ]

    assert listed == ["memo://insights", "two+memo://insights"]
    assert templates == ["memo://row/{id}", "two+memo://row/{id}"]
    assert read == [
        [("memo://insights", "one memo://insights")],
        [("two+memo://insights", "two memo://insights")],
        [("memo://row/7", "one memo://row/7")],
        [("two+memo://row/7", "two memo://row/7")],
    ]
    uris = [[_uri_in(block) for block in one["content"]] for one in links]
    assert uris == [
        ["memo://insights", "memo://row/7", "memo://insights", None],
        ["two+memo://insights", "two+memo://row/7", "two+memo://insights", None],
    ]
    assert isinstance(prompt, types.ResourceLink)
    assert str(prompt.uri) == "two+memo://insights"
    assert [one.values for one in completed] == [["one memo://row/{id}"], ["two memo://row/{id}"]]


async def test_a_change_is_told_under_the_uri_that_was_subscribed_to(tmp_path: Path) -> None:
    updated: list[str] = []
    seen = anyio.Event()

    async def on_message(message: object) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            updated.append(str(message.params.uri))
            seen.set()

    servers = [memo(tmp_path, "one"), memo(tmp_path, "two")]
    async with connected(servers, "legacy", message_handler=on_message) as (client, _):
        await client.list_resources()
        subscribing = types.SubscribeRequest(params=types.SubscribeRequestParams(uri="two+memo://insights"))
        await client.session.send_request(subscribing, types.EmptyResult)
        await client.call_tool("two__link", {})
        with anyio.fail_after(30):
            await seen.wait()
    assert updated == ["two+memo://insights"]


async def test_the_error_of_a_resource_that_no_server_has_is_that_of_the_likeliest(tmp_path: Path) -> None:
    async with connected([memo(tmp_path, "one"), memo(tmp_path, "two")]) as (client, _):
        await client.list_resources()
        with pytest.raises(Exception, match="one has no such thing"):
            await client.read_resource("other://x")


names = st.text(min_size=1, max_size=8)
uris = st.sampled_from(["memo://a", "memo://b", "x+memo://a", "s-1+memo://a"])


@given(st.dictionaries(names, st.lists(uris, unique=True, max_size=3), max_size=4))
def test_every_resource_has_a_uri_of_its_own_that_older_clients_can_parse(servers: Mapping[str, list[str]]) -> None:
    listings = {
        name: Listing(resources=tuple(types.Resource(uri=uri, name=uri) for uri in held))
        for name, held in servers.items()
    }
    merged = merged_resources(listings)
    assert len(merged.listed) == sum(map(len, servers.values()))
    for name, held in servers.items():
        for uri in held:
            shown = merged.shown_uri(Origin(name, uri))
            assert merged.places_of(shown) == [Origin(name, uri)]
            assert str(AnyUrl(shown)) == shown
            assert re.fullmatch(r"[a-z][a-z0-9.+-]*://.*", shown)
