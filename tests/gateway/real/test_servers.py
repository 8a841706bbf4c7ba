"""Servers of other people behind one gateway, seen by the official client of both eras and by `mcp` before 2."""

from __future__ import annotations

import base64
import json
from typing import Any

import anyio
import pytest
from mcp import types
from mcp.client import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from tests.gateway.real.counterparts import Place
from tests.gateway.real.visits import KINDS, Kind, Steps, Visit, plain, visit

pytestmark = pytest.mark.counterparts

OLD = ("old", "old-http", "old-sse")


def steps_for(place: Place, kind: Kind) -> Steps:
    """Everything that the tests look at, in one visit."""
    everything: dict[str, tuple[str, dict[str, Any]]] = {
        "echo": ("echo", {"message": "引き出し"}),
        "sum": ("get-sum", {"a": 2, "b": 40}),
        "image": ("get-tiny-image", {}),
        "annotated": ("get-annotated-message", {"messageType": "error", "includeImage": True}),
        "links": ("get-resource-links", {"count": 2}),
        "reference": ("get-resource-reference", {"resourceType": "Text", "resourceId": 7}),
        "structured": ("get-structured-content", {"location": "Chicago"}),
        "wrong": ("get-sum", {"a": "two"}),
        "long": ("trigger-long-running-operation", {"duration": 0.03, "steps": 3}),
        "elicit": ("trigger-elicitation-request", {}),
        "elicit url": ("trigger-url-elicitation", {"url": "https://example.com/login", "elicitationId": kind}),
        "url needed": (
            "trigger-url-elicitation",
            {"url": "https://example.com/first", "elicitationId": f"needed by {kind}", "errorPath": True},
        ),
        "sample": ("trigger-sampling-request", {"prompt": "What is a drawer?"}),
        "roots": ("get-roots-list", {}),
    }
    note = str(place.folder / f"{kind}.txt")
    entity = {"name": kind, "entityType": "client", "observations": [f"{kind} likes drawers"]}
    reference = {"type": "ref/prompt", "name": "everything__completable-prompt"}
    template = {"type": "ref/resource", "uri": "demo://resource/dynamic/text/{resourceId}"}
    old: dict[str, dict[str, Any]] = {
        "add": {"a": 2, "b": 40},
        "choose": {},
        "think": {"about": "drawers"},
        "where": {},
        "count": {},
        "fail": {},
    }
    return {
        "tools": ("list_tools",),
        "resources": ("list_resources",),
        "templates": ("list_resource_templates",),
        "prompts": ("list_prompts",),
        **{step: ("call_tool", f"everything__{name}", given) for step, (name, given) in everything.items()},
        "static": ("read_resource", "demo://resource/static/document/features.md"),
        "text": ("read_resource", "demo://resource/dynamic/text/3"),
        "blob": ("read_resource", "demo://resource/dynamic/blob/3"),
        "unknown": ("read_resource", "demo://resource/dynamic/text/none"),
        "prompt": ("get_prompt", "everything__args-prompt", {"city": "Kyoto"}),
        "resource prompt": ("get_prompt", "everything__resource-prompt", {"resourceType": "Text", "resourceId": "4"}),
        "prompt without argument": ("get_prompt", "everything__args-prompt", {}),
        "complete prompt": ("complete", reference, {"name": "department", "value": "E"}),
        "complete template": ("complete", template, {"name": "resourceId", "value": "5"}),
        "write": ("call_tool", "filesystem__write_file", {"path": note, "content": kind}),
        "read": ("call_tool", "filesystem__read_text_file", {"path": note}),
        "forbidden": ("call_tool", "filesystem__read_text_file", {"path": "/etc/hostname"}),
        "remember": ("call_tool", "memory__create_entities", {"entities": [entity]}),
        "recall": ("call_tool", "memory__search_nodes", {"query": f"{kind} likes"}),
        "graph": ("read_resource", "memory://knowledge-graph"),
        "log": ("call_tool", "git__git_log", {"repo_path": str(place.folder.parent / "repo")}),
        "time": (
            "call_tool",
            "time__convert_time",
            {"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "UTC"},
        ),
        **{
            f"{server} {tool}": ("call_tool", f"{server}__{tool}", given)
            for server in OLD
            for tool, given in old.items()
        },
        "old note": ("read_resource", "note://old/first"),
        "old prompt": ("get_prompt", "old-http__greet", {"name": "Bo"}),
    }


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture(scope="module")
def visited(kind: Kind, place: Place) -> Visit:
    return visit(kind, place, steps_for(place, kind))


def test_every_client_speaks_its_own_revision(kind: Kind, visited: Visit) -> None:
    assert visited.revision == ("2026-07-28" if kind.startswith("2026") else "2025-11-25")


Tools = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def direct(place: Place) -> dict[str, Tools]:
    """What each server lists to a client that asks it directly."""
    servers = json.loads(place.config.read_text(encoding="utf-8"))["mcpServers"]
    listed: dict[str, Tools] = {name: {} for name in servers}

    async def ask(name: str) -> None:
        listed[name] = await listed_by(servers[name], place.environment)

    async def ask_all() -> None:
        async with anyio.create_task_group() as tasks:
            for name in servers:
                tasks.start_soon(ask, name)

    anyio.run(ask_all)
    return listed


def test_every_client_sees_the_tools_of_every_server_as_the_server_lists_them(
    visited: Visit, direct: dict[str, Tools]
) -> None:
    seen: dict[str, dict[str, Any]] = {}
    for tool in visited.results["tools"]["tools"]:
        server, _, name = tool["name"].partition("__")
        seen.setdefault(server, {})[name] = {**tool, "name": name}

    assert list(seen) == list(direct)
    for name, tools in direct.items():
        # What a version of the protocol package does not know, it does not show.
        known = {key for tool in seen[name].values() for key in tool}
        assert seen[name] == {
            tool: {key: value for key, value in shown.items() if key in known} for tool, shown in tools.items()
        }


async def listed_by(entry: dict[str, Any], environment: dict[str, str]) -> Tools:
    """The tools of a server that is asked directly, as a client that can do everything."""

    async def never(*_: Any) -> Any:
        raise AssertionError

    if "command" in entry:
        target: Any = StdioServerParameters(
            command=entry["command"], args=entry["args"], env={**environment, **entry.get("env", {})}
        )
    elif entry["type"] == "http":
        target = entry["url"]
    else:
        target = sse_client(entry["url"])

    async def roots(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[])

    able: dict[str, Any] = {
        "sampling_callback": never,
        "elicitation_callback": never,
        "list_roots_callback": roots,
    }
    async with Client(target, **able) as client:
        tools = (await client.list_tools()).tools
        if any(tool.name == "get-sum" for tool in tools):  # server-everything has more when it knows the client
            with anyio.fail_after(20):
                while not {"get-roots-list", "simulate-research-query"} <= {tool.name for tool in tools}:
                    tools = (await client.list_tools(cache_mode="bypass")).tools
        return {tool.name: plain(tool) for tool in tools}


def test_content_of_every_kind_passes(visited: Visit) -> None:
    results = visited.results

    assert visited.text("echo") == "Echo: 引き出し"
    assert visited.text("sum") == "The sum of 2 and 40 is 42."
    image = results["image"]["content"][1]
    assert (image["type"], image["mimeType"]) == ("image", "image/png")
    assert base64.b64decode(image["data"]).startswith(b"\x89PNG")
    annotations = [block["annotations"] for block in results["annotated"]["content"]]
    assert annotations == [
        {"audience": ["user", "assistant"], "priority": 1.0},
        {"audience": ["user"], "priority": 0.5},
    ]
    assert [block["type"] for block in results["links"]["content"]] == ["text", "resource_link", "resource_link"]
    assert results["reference"]["content"][1]["resource"]["uri"] == "demo://resource/dynamic/text/7"
    assert results["structured"]["structuredContent"] == json.loads(visited.text("structured"))


def test_errors_of_servers_pass_as_they_are(visited: Visit) -> None:
    assert visited.results["wrong"]["isError"]
    assert "expected number, received string" in visited.text("wrong")
    assert visited.results["forbidden"]["isError"]
    assert "Access denied - path outside allowed directories" in visited.text("forbidden")
    assert visited.results["unknown"] == {
        "error": {"code": -32603, "message": "Unknown resource: demo://resource/dynamic/text/none"}
    }
    refused = visited.results["prompt without argument"]["error"]
    assert (refused["code"], "received undefined at city" in refused["message"]) == (-32602, True)
    needed = visited.results["url needed"]["error"]
    assert needed["code"] == -32042
    assert needed["data"]["elicitations"][0]["mode"] == "url"
    for server in OLD:
        assert visited.results[f"{server} fail"]["isError"]
        assert visited.text(f"{server} fail") == "Error executing tool fail: no such drawer"


def test_a_person_is_asked_by_forms_and_by_addresses_and_a_model_for_its_thoughts(visited: Visit) -> None:
    asked: list[Any] = [
        (question.get("mode", "sampling"), question.get("url", question.get("message", question.get("maxTokens"))))
        for question in visited.asked
    ]

    assert asked == [
        ("form", "Please provide inputs for the following fields:"),
        ("url", "https://example.com/login"),
        ("sampling", 100),
        *[("form", "Which colour?"), ("sampling", 10)] * len(OLD),
    ]
    assert "User inputs:\n- Name: Bo\n- Agreed to terms: true" in visited.text("elicit")
    assert "User completed the URL elicitation flow." in visited.text("elicit url")
    assert '"text": "A thought."' in visited.text("sample")
    assert "file:///drawer" in visited.text("roots")
    for server in OLD:
        said = [visited.text(f"{server} {tool}") for tool in ("add", "choose", "think", "where", "count")]
        assert said == ["42", "accept: blue", "A thought.", "file:///drawer", "three"]
        assert visited.results[f"{server} add"]["structuredContent"] == {"result": 42}


def test_progress_and_log_messages_reach_whose_call_it_is(visited: Visit) -> None:
    assert visited.progress[:3] == [[1, 3, None], [2, 3, None], [3, 3, None]]
    assert visited.progress[3:] == [[at, 3, f"at {at}"] for _ in OLD for at in (1, 2, 3)]
    counted = [one for one in visited.logged if str(one["data"]).startswith("counted")]
    assert [(one["level"], one["data"]) for one in counted] == [
        ("info", f"counted {at}") for _ in OLD for at in (1, 2, 3)
    ]


def test_resources_prompts_and_completions_pass(visited: Visit, kind: Kind) -> None:
    results = visited.results
    uris = {resource["uri"] for resource in results["resources"]["resources"]}
    templates = {template["uriTemplate"] for template in results["templates"]["resourceTemplates"]}
    prompts = {prompt["name"] for prompt in results["prompts"]["prompts"]}

    assert {"demo://resource/static/document/features.md", "memory://knowledge-graph", "note://first"} <= uris
    assert {"demo://resource/dynamic/blob/{resourceId}", "note://old/{name}"} <= templates
    assert {"everything__args-prompt", "modern__greet", "old__greet", "old-http__greet", "old-sse__greet"} <= prompts
    assert results["static"]["contents"][0]["text"].startswith("# Everything Server")
    assert results["text"]["contents"][0]["text"].startswith("Resource 3: This is a plaintext resource")
    assert base64.b64decode(results["blob"]["contents"][0]["blob"]).startswith(b"Resource 3: This is a base64 blob")
    assert kind in results["graph"]["contents"][0]["text"]
    assert results["old note"]["contents"][0]["text"] == "note of first"
    assert results["prompt"]["messages"][0]["content"]["text"] == "What's weather in Kyoto?"
    assert results["resource prompt"]["messages"][1]["content"]["type"] == "resource"
    assert results["old prompt"]["messages"][0]["content"]["text"] == "Hello Bo"
    assert results["complete prompt"]["completion"]["values"] == ["Engineering"]
    assert results["complete template"]["completion"]["values"] == ["5"]


def test_files_memories_commits_and_times_are_read_and_written(visited: Visit, kind: Kind, place: Place) -> None:
    assert (place.folder / f"{kind}.txt").read_text(encoding="utf-8") == kind
    assert visited.results["read"]["structuredContent"] == {"content": kind}
    assert [one["name"] for one in visited.results["recall"]["structuredContent"]["entities"]] == [kind]
    assert "Message: The first drawer" in visited.text("log")
    assert json.loads(visited.text("time"))["time_difference"] == "-9.0h"


@pytest.mark.parametrize("searcher", ["2026-07-28 stdio", "mcp 1 stdio"])
def test_a_client_that_is_shown_a_search_finds_and_calls_what_it_needs(searcher: Kind, place: Place) -> None:
    given = {"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "UTC"}
    steps: Steps = {
        "tools": ("list_tools",),
        "found": ("call_tool", "search_tools", {"query": "convert a time"}),
        "called": ("call_tool", "call_read_tool", {"name": "time__convert_time", "arguments": given}),
        "asked": ("call_tool", "call_tool", {"name": "everything__trigger-elicitation-request", "arguments": {}}),
    }
    got = visit(searcher, place, steps, "--search", "on")

    assert len(got.results["tools"]["tools"]) == 4
    assert '{"name":"time__convert_time","call_with":"call_read_tool"' in got.text("found")
    assert json.loads(got.text("called"))["time_difference"] == "-9.0h"
    assert "User inputs:\n- Name: Bo" in got.text("asked")
    assert [question["mode"] for question in got.asked] == ["form"]
