"""`to_mcp_search` with the official client, in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import types
from mcp.client import Client
from tests.mcp_support import call, names, search, text_of
from tests.support import Heard

from hikidashi import Tool, ToolResult, ToolValidationError, from_function
from hikidashi.search import SearchLog, ToolCatalog, to_mcp_search
from hikidashi.search.answers import found_names
from hikidashi.tool import image


def send_mail(to: str, subject: str = "hello") -> str:
    """Send a mail to somebody."""
    return f"{subject} sent to {to}"


def get_weather(city: str) -> dict[str, str]:
    """The weather in a city."""
    return {"city": city, "sky": "rain"}


def take_photo() -> ToolResult:
    """Take a photo with the camera."""
    return ToolResult(content=(image(b"png", "image/png"),))


TOOLS = [from_function(send_mail), from_function(get_weather), from_function(take_photo)]
MAIL = json.dumps(
    {
        "name": "send_mail",
        "description": "Send a mail to somebody.",
        "input_schema": {
            "additionalProperties": False,
            "properties": {"to": {"type": "string"}, "subject": {"default": "hello", "type": "string"}},
            "required": ["to"],
            "type": "object",
        },
    },
    separators=(",", ":"),
)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_that_knows_nothing_of_this_searches_and_calls(mode: str) -> None:
    heard = Heard()
    async with Client(to_mcp_search(TOOLS, record=heard), mode=mode) as client:
        assert await names(client) == ["search_tools", "call_tool"]
        found = await search(client, "メールを送る")
        assert text_of(found) == f"Found 1. Call one with call_tool(name, arguments).\n{MAIL}"
        assert text_of(await call(client, "send_mail", {"to": "Ada"})) == "hello sent to Ada"
    assert (heard.searches, heard.calls) == ([("メールを送る", "words", ["send_mail"])], ["send_mail"])


async def test_results_arrive_whole() -> None:
    async with Client(to_mcp_search(TOOLS)) as client:
        await search(client, "select:get_weather,take_photo")
        weather = await call(client, "get_weather", {"city": "Kyoto"})
        assert weather.structured_content == {"city": "Kyoto", "sky": "rain"}
        (photo,) = (await call(client, "take_photo", {})).content
        assert isinstance(photo, types.ImageContent)


async def test_the_tool_itself_checks_the_arguments() -> None:
    async with Client(to_mcp_search(TOOLS)) as client:
        await search(client, "send a mail")
        wrong = await call(client, "send_mail", {"address": "Ada"})
        assert wrong.is_error
        assert "to" in text_of(wrong)
        assert text_of(await call(client, "send_mail", '{"to": "Ada"}')) == "hello sent to Ada"
        assert text_of(await call(client, "send_mail", [1])).startswith("`arguments` is [1].")
        await search(client, "select:take_photo")
        for empty in ("null", "{}", '"{}"'):
            assert not (await call(client, "take_photo", json.loads(empty))).is_error
        assert not (await client.call_tool("call_tool", {"name": "take_photo"})).is_error


async def test_a_tool_called_without_a_search_is_shown_instead_and_can_be_called_then() -> None:
    heard = Heard()
    async with Client(to_mcp_search(TOOLS, record=heard)) as client:
        refused = await call(client, "send_mail", {"to": "Ada"})
        assert refused.is_error
        assert text_of(refused).startswith("'send_mail' was not called")
        assert text_of(refused).endswith(f"search_tools.\n{MAIL}")
        assert text_of(await call(client, "send_mail", {"to": "Ada"})) == "hello sent to Ada"
    assert heard.calls == ["send_mail"]


@pytest.mark.parametrize(
    ("language", "query", "answer"),
    [
        ("en", "bake a cake", "No tool fits 'bake a cake'. Try once more"),
        ("ja", "ケーキを焼く", "'ケーキを焼く' に合うツールはありません。"),
        ("ja", "send a mail", "1件見つかりました。call_tool(name, arguments) で呼び出してください。"),
    ],
)
async def test_what_the_model_reads_is_in_the_language_asked_for(language: Any, query: str, answer: str) -> None:
    async with Client(to_mcp_search(TOOLS, language=language)) as client:
        assert text_of(await search(client, query)).startswith(answer)


async def test_what_cannot_be_answered_is_explained() -> None:
    async with Client(to_mcp_search(TOOLS, about="mail and weather")) as client:
        tool = (await client.list_tools()).tools[0]
        assert (tool.description or "").endswith("There are tools for: mail and weather.")
        for broken in ({"query": "/mail(/"}, {"query": 3}, {}):
            assert (await client.call_tool("search_tools", broken)).is_error
        unknown = await call(client, "mail_send", {})
        assert text_of(unknown) == (
            "There is no tool 'mail_send'. Look for one with search_tools; the nearest are: send_mail."
        )
        assert text_of(await call(client, "", {})) == "There is no tool ''. Look for one with search_tools."
        assert (await client.call_tool("call_tool", {})).is_error


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_what_a_session_found_is_in_its_own_list_and_called_by_its_own_name(mode: str) -> None:
    server = to_mcp_search(TOOLS, always_loaded=["take_photo"])
    async with Client(server, mode=mode) as finder, Client(server, mode=mode) as other:
        await search(finder, "send a mail")
        assert await names(finder) == ["search_tools", "call_tool", "take_photo", "send_mail"]
        assert await names(other) == ["search_tools", "call_tool", "take_photo"]
        assert text_of(await finder.call_tool("send_mail", {"to": "Ada"})) == "hello sent to Ada"
        assert (await other.call_tool("send_mail", {"to": "Ada"})).is_error
        assert await names(other) == ["search_tools", "call_tool", "take_photo", "send_mail"]
        for photo in (await other.call_tool("take_photo", {}), await call(other, "take_photo", {})):
            assert [block.type for block in photo.content] == ["image"]


class Told:
    """What a client is told beside its answers."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    async def __call__(self, message: Any) -> None:
        self.messages.append(type(message).__name__)


async def test_a_session_is_told_that_its_list_changed_and_only_then() -> None:
    told = Told()
    async with Client(to_mcp_search(TOOLS), mode="legacy", message_handler=told) as client:
        capability = client.server_capabilities.tools
        assert capability is not None
        assert capability.list_changed
        await search(client, "bake a cake")
        assert told.messages == []
        await search(client, "send a mail")
        await search(client, "send a mail")
        assert told.messages == ["ToolListChangedNotification"]
        await call(client, "get_weather", {"city": "Kyoto"})
        assert told.messages == ["ToolListChangedNotification"] * 2
        assert (await client.call_tool("take_photo", {})).is_error
        assert told.messages == ["ToolListChangedNotification"] * 3
        assert not (await client.call_tool("take_photo", {})).is_error
    assert told.messages == ["ToolListChangedNotification"] * 3


async def test_a_client_that_listens_is_told_that_the_list_changed() -> None:
    async with Client(to_mcp_search(TOOLS)) as client, client.listen(tools_list_changed=True) as changes:
        await search(client, "send a mail")
        with anyio.fail_after(30):
            await anext(aiter(changes))
        assert await names(client) == ["search_tools", "call_tool", "send_mail"]


async def test_a_list_may_stay_as_it_is() -> None:
    server = to_mcp_search(TOOLS, list_found=False)
    async with Client(server, mode="legacy") as client:
        capability = client.server_capabilities.tools
        assert capability is not None
        assert not capability.list_changed
        await search(client, "send a mail")
        assert await names(client) == ["search_tools", "call_tool"]
        assert text_of(await client.call_tool("send_mail", {"to": "Ada"})) == "hello sent to Ada"


async def test_a_catalogue_may_change_while_the_server_runs_and_more_tools_may_be_added() -> None:
    catalog = ToolCatalog(TOOLS)
    server = to_mcp_search(catalog)

    @server.tool()
    def ping() -> str:  # pyright: ignore[reportUnusedFunction]
        """Always listed."""
        return "pong"

    async with Client(server) as client:
        await search(client, "send a mail")
        catalog.remove("send_mail")
        assert await names(client) == ["search_tools", "call_tool", "ping"]
        assert (await call(client, "send_mail", {"to": "Ada"})).is_error
        assert text_of(await client.call_tool("ping", {})) == "pong"


async def test_a_tool_that_was_taken_out_is_a_tool_that_is_not_there() -> None:
    catalog = ToolCatalog(TOOLS)
    async with Client(to_mcp_search(catalog)) as client:
        await search(client, "take a photo")
        catalog.remove("take_photo")
        for gone in (await call(client, "take_photo", {}), await client.call_tool("take_photo", {})):
            assert gone.is_error
            assert text_of(gone).startswith("There is no tool 'take_photo'. Look for one with search_tools")


async def test_calls_of_tools_that_are_always_loaded_are_recorded_too() -> None:
    heard = Heard()
    async with Client(to_mcp_search(TOOLS, always_loaded=["take_photo"], record=heard)) as client:
        await client.call_tool("take_photo", {})
        await call(client, "take_photo", {})
    assert heard.calls == ["take_photo", "take_photo"]


async def test_a_definition_is_one_line_whatever_is_in_it() -> None:
    odd = Tool(
        name="send_mail",
        description="Send a mail.\u2028Not a letter.\x85\n\ud83d",
        input_schema={"type": "object", "properties": {"to": {"default": frozenset({"Ada"})}}},
        call=nothing_to_say,
    )
    async with Client(to_mcp_search([odd])) as client:
        shown = text_of(await search(client, "send a mail"))
    shown.encode()
    assert len(shown.split("\n")) == 2
    assert found_names(shown) == ["send_mail"]
    assert json.loads(shown.split("\n")[1])["input_schema"]["properties"] == {"to": {"default": ["Ada"]}}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "bm25"}, "`strategy` is 'bm25': use 'words', 'regex' or 'both'"),
        ({"max_results": -1}, "`max_results` is -1: use a whole number from 1 to 50"),
        ({"language": "de"}, "`language` is 'de': use 'en' or 'ja'"),
        ({"always_loaded": "send_mail"}, "`always_loaded` is 'send_mail': use a list of names"),
    ],
)
def test_options_that_could_not_work_are_refused_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        to_mcp_search(TOOLS, **options)


async def nothing_to_say(_: dict[str, Any]) -> ToolResult:
    return ToolResult.of("")


@pytest.mark.parametrize(
    ("tools", "options", "message"),
    [
        ([from_function(send_mail, name="call_tool")], {}, "'call_tool'"),
        ([from_function(send_mail, name="search_tools")], {}, "'search_tools'"),
        ([{"name": "a", "description": "x", "input_schema": {"type": "object"}}], {}, "holds a builtins dict"),
        (TOOLS, {"always_loaded": ["b"]}, "'b'"),
    ],
)
def test_tools_that_could_not_be_called_are_refused_at_once(tools: Any, options: Any, message: str) -> None:
    with pytest.raises(ToolValidationError, match=message):
        to_mcp_search(tools, **options)


async def test_titles_that_libraries_make_from_names_are_not_shown() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Book",
        "type": "object",
        "properties": {
            "title": {"title": "Title", "type": "string", "default": {"title": "kept"}},
            "pages": {"type": "array", "items": {"title": "Page", "type": "integer"}},
            "by": {"anyOf": [{"title": "Name", "type": "string"}, {"type": "null"}]},
        },
        "additionalProperties": False,
    }
    book = Tool(name="book", description="Write a book.", input_schema=schema, call=nothing_to_say)
    async with Client(to_mcp_search([book])) as client:
        shown = json.loads(text_of(await search(client, "write a book")).splitlines()[1])
    assert shown["input_schema"] == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "default": {"title": "kept"}},
            "pages": {"type": "array", "items": {"type": "integer"}},
            "by": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "additionalProperties": False,
    }


async def test_a_search_log_hears_what_was_searched_and_called(tmp_path: Path) -> None:
    with SearchLog(tmp_path / "searches.db") as log:
        async with Client(to_mcp_search(TOOLS, record=log)) as client:
            await search(client, "send a mail")
            await call(client, "send_mail", {"to": "Ada"})
            await search(client, "/^get_/")
        assert [(found.query, found.kind, list(found.names)) for found in log.searches()] == [
            ("send a mail", "words", ["send_mail"]),
            ("/^get_/", "regex", ["get_weather"]),
        ]
        assert log.usage() == {"send_mail": 1}
