"""The tables of what each target can express, cell by cell: each word in them is what really happens."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from mcp import Client
from pydantic_ai import BinaryContent, ModelRetry, RunContext
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage
from tests.pages_support import ROOT
from tests.support import PIXEL

from hikidashi import (
    Tool,
    ToolResult,
    Unsupported,
    call_anthropic,
    to_anthropic,
    to_claude,
    to_mcp,
    to_pydantic_ai,
    to_strands,
)
from hikidashi.tool import ContentBlock, audio, image, resource

Seen = str


def rows(page: str, *, below: str) -> dict[str, dict[str, str]]:
    """The table below a heading: its cells by row and column."""
    text = (ROOT / page).read_text(encoding="utf-8").partition(f"### {below}")[2]
    lines = re.findall(r"^\|(.*)\|$", text.partition("\n\n| |")[2].partition("\n\n")[0], re.MULTILINE)
    head = ["pydantic-ai", "Claude Code", "strands", "Anthropic API", "MCP"]
    cells = [[cell.strip() for cell in line.split(" | ")] for line in lines[1:]]
    return {first.strip(): dict(zip(head, rest, strict=True)) for first, *rest in cells}


def block(content: ContentBlock) -> ToolResult:
    return ToolResult(content=(content,))


RESULTS: Mapping[str, ToolResult] = {
    "text": ToolResult.of("words"),
    "PNG, JPEG, GIF, WebP": block(image(PIXEL, "image/png")),
    "other images, such as TIFF": block(image(b"II*\0", "image/tiff")),
    "sound": block(audio(b"RIFF", "audio/wav")),
    "PDF": block(resource("file:///a.pdf", b"%PDF-1.7", "application/pdf")),
    "a file of text": block(resource("file:///a.csv", "a,b", "text/csv")),
    "other files, such as ZIP": block(resource("file:///a.zip", b"PK", "application/zip")),
    "a link to a file": block({"type": "resource_link", "uri": "https://example.com/a", "name": "a"}),
    "structured content": ToolResult(structured_content={"a": 1}),
    "more than 500,000 characters": ToolResult.of("x" * 500_001),
    "an error": ToolResult.error("It is closed."),
}
IS_TEXT = ("text", "more than 500,000 characters")


def tool_with(result: ToolResult) -> Tool:
    async def call(_: dict[str, Any]) -> ToolResult:
        return result

    return Tool(name="answer", description="", input_schema={"type": "object", "properties": {}}, call=call)


async def in_pydantic_ai(tool: Tool, row: str) -> Seen:
    ctx: RunContext[None] = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    toolset = to_pydantic_ai([tool])
    try:
        value = await toolset.call_tool("answer", {}, ctx, (await toolset.get_tools(ctx))["answer"])
    except ModelRetry:
        return '`ModelRetry`, or `ToolFailed` with `on_error="failed"`'
    match value:
        case BinaryContent():
            return "yes"
        case str():
            return "yes" if row in IS_TEXT else "as text"
        case _:
            return "as the value"


async def in_claude_code(tool: Tool, row: str) -> Seen:
    async with Client(to_claude([tool])["instance"]) as client:
        result = await client.call_tool("answer", {})
    return "error" if result.is_error and row != "an error" else "yes"


async def in_strands(tool: Tool, row: str) -> Seen:
    try:
        events = [event async for event in to_strands([tool])[0].stream(_USE, {})]
    except Unsupported:
        return "refused"
    result: Any = events[-1].tool_result
    if row == "structured content":
        return "beside the text" if "structuredContent" in result else "as text"
    if row == "an error":
        return "yes" if result["status"] == "error" else "as text"
    return "as text" if "text" in result["content"][0] and row not in IS_TEXT else "yes"


async def in_the_api(tool: Tool, row: str) -> Seen:
    try:
        result = await call_anthropic([tool], {"id": "toolu_1", "name": "answer", "input": {}})
    except Unsupported:
        return "refused"
    if row == "an error":
        return "yes" if result["is_error"] else "as text"
    return "as text" if result["content"][0]["type"] == "text" and row not in IS_TEXT else "yes"


async def in_mcp(tool: Tool, row: str) -> Seen:
    async with Client(to_mcp([tool])) as client:
        result = await client.call_tool("answer", {})
    if row == "structured content":
        return "yes" if result.structured_content else "as text"
    if row == "an error":
        return "yes" if result.is_error else "as text"
    (given,) = RESULTS[row].content
    return "yes" if result.content[0].type == given["type"] else "as text"


_USE: Any = {"toolUseId": "tooluse_1", "name": "answer", "input": {}}
TARGETS: Mapping[str, Callable[[Tool, str], Awaitable[Seen]]] = {
    "pydantic-ai": in_pydantic_ai,
    "Claude Code": in_claude_code,
    "strands": in_strands,
    "Anthropic API": in_the_api,
    "MCP": in_mcp,
}


@pytest.mark.parametrize("target", TARGETS)
async def test_every_kind_of_result_arrives_as_the_table_says(target: str) -> None:
    table = rows("docs/en/tools.md", below="Results")
    assert table.keys() == RESULTS.keys()
    seen = {row: await TARGETS[target](tool_with(result), row) for row, result in RESULTS.items()}
    assert seen == {row: cells[target] for row, cells in table.items()}


OBJECT: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
SCHEMAS: Mapping[str, dict[str, Any]] = {
    "a union of objects at the root of the schema": {"anyOf": [OBJECT, {**OBJECT, "required": ["a"]}]},
    "`$ref`, `allOf`, a union with `null` at the root": {"allOf": [OBJECT]},
    "argument names beyond `[a-zA-Z0-9_.-]{1,64}`": {"type": "object", "properties": {"宛先": {"type": "string"}}},
}


@pytest.mark.parametrize("row", SCHEMAS)
def test_every_kind_of_schema_is_taken_as_the_table_says(row: str) -> None:
    async def call(_: dict[str, Any]) -> ToolResult:
        return ToolResult.of("")

    tool = Tool(name="answer", description="", input_schema=SCHEMAS[row], call=call)
    offers: Mapping[str, Callable[[list[Tool]], object]] = {
        "pydantic-ai": to_pydantic_ai,
        "Claude Code": to_claude,
        "strands": to_strands,
        "Anthropic API": to_anthropic,
        "MCP": to_mcp,
    }
    cells = rows("docs/en/tools.md", below="Definitions")[row]
    for target, offer in offers.items():
        if cells[target] == "refused":
            with pytest.raises(Unsupported):
                offer([tool])
        else:
            offer([tool])
