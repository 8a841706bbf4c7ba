"""MCP Inspector's command line in front of the gateway, in both eras of the protocol."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from tests.gateway.real.counterparts import HIKIDASHI, Place
from tests.npm import COUNTERPARTS, node

pytestmark = pytest.mark.counterparts

INSPECTOR = COUNTERPARTS.program("@modelcontextprotocol/inspector/clients/launcher/build/index.js")


def inspect(place: Place, era: str, *options: str, serve: list[str] | None = None) -> Any:
    """What the inspector prints as JSON; it starts `hikidashi serve` itself where `serve` has its options."""
    target = [place.url, "--transport", "http", *options]
    if serve is not None:
        started = [HIKIDASHI, "serve", "--config", str(place.config), "--yes", *serve]
        target = ["--transport", "stdio", *options, "--", *started]
    output = ["--protocol-era", era, "--format", "json", "--quiet", "--connect-timeout", "60000"]
    command = [node(), INSPECTOR, "--cli", *output, *target]
    ran = subprocess.run(
        command, env=place.environment, capture_output=True, text=True, check=False, timeout=120, cwd=place.folder
    )
    assert ran.returncode == 0, ran.stderr + ran.stdout
    return json.loads(ran.stdout)["result"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_calls_reads_and_prompts(era: str, place: Place) -> None:
    sum_of_two = ["--tool-name", "everything__get-sum", "--tool-arg", "a=2", "b=40"]
    greeting = ["--prompt-name", "modern__greet", "--prompt-args", "name=Bo"]

    tools = inspect(place, era, "--method", "tools/list")["tools"]
    called = inspect(place, era, "--method", "tools/call", *sum_of_two)
    read = inspect(place, era, "--method", "resources/read", "--uri", "note://old/first")
    prompt = inspect(place, era, "--method", "prompts/get", *greeting)

    assert {"everything__echo", "git__git_log", "modern__add", "old-sse__add"} <= {tool["name"] for tool in tools}
    assert called["content"] == [{"type": "text", "text": "The sum of 2 and 40 is 42."}]
    assert read["contents"][0]["text"] == "note of first"
    assert prompt["messages"] == [{"role": "user", "content": {"type": "text", "text": "Hello Bo"}}]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_finds_nothing_wrong_with_the_gateways_own_tools_and_searches_with_them(
    era: str, place: Place
) -> None:
    query = ["--tool-name", "search_tools", "--tool-arg", "query=convert a time to another zone"]

    tools = inspect(place, era, "--method", "tools/list", "--strict", serve=["--search", "on"])["tools"]
    found = inspect(place, era, "--method", "tools/call", *query, serve=["--search", "on"])

    assert [tool["name"] for tool in tools] == ["search_tools", "call_read_tool", "call_tool", "read_result"]
    assert '{"name":"time__convert_time","call_with":"call_read_tool"' in found["content"][0]["text"]
