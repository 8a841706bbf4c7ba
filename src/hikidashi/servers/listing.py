"""The tools of several MCP servers at once; neither an invalid tool nor a server that fails costs the others."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from mcp import types
from mcp.client import Client
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

from ..common.exceptions import first_problem
from ..common.json import as_object, is_list, is_object
from ..convert.mcp import from_mcp
from ..errors import ToolValidationError
from ..tool import Tool
from .config import McpServer
from .connection import Diagnostics, connected
from .messages import FilteredStream, WatchedSends


async def listed_tools(client: Client, repairs: ListRepairs) -> tuple[dict[str, Tool], tuple[str, ...]]:
    """The tools of a server by name, and what was left out, with the reason.

    Args:
        client: Connected through `repairs.wrap`.
        repairs: Takes invalid tools out of the list.

    Raises:
        Exception: as `from_mcp`.
    """
    notes: list[str] = []
    try:
        listed = await from_mcp(client)
    except (ValidationError, ToolValidationError):
        with repairs.on(client.protocol_version, notes):
            listed = await from_mcp(client)
    tools: dict[str, Tool] = {}
    twice = [tool.name for tool in listed if tools.setdefault(tool.name, tool) is not tool]
    return tools, (*notes, *(f"two tools are named {name!r}; the first is used" for name in twice))


SEPARATOR = "__"
_SHARE_TO_END = 0.1  # of a server's time, reserved for ending it
_LONGEST_END = 2.0
_REMOTE_AT_ONCE = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerTools:
    """The tools that one server lists, or why there are none."""

    server: str
    tools: tuple[Tool, ...] = ()
    """Named `server__tool`; they cannot be called, as the connection is closed."""
    failure: str | None = None
    """Why there are no tools, in one line."""
    notes: tuple[str, ...] = ()
    """What was left out of the tools, with the reason."""


class StartLimit:
    """Limits how many servers start at once, so that a machine with two cores does not start fifty.

    Remote servers cost this machine nothing: sixteen or more are connected at once.
    """

    def __init__(self, at_once: int | None = None) -> None:
        if at_once is not None and at_once < 1:
            raise ValueError(f"`at_once` is {at_once}: use 1 or more.")
        self._here = anyio.CapacityLimiter(at_once or (os.cpu_count() or 1) + 1)
        self._elsewhere = anyio.CapacityLimiter(max(_REMOTE_AT_ONCE, at_once or 1))

    def of(self, server: McpServer) -> anyio.CapacityLimiter:
        """The limiter for `server`."""
        return self._here if server.transport == "stdio" else self._elsewhere


async def tools_of_servers(
    servers: Iterable[McpServer],
    *,
    seconds: float = 30.0,
    at_once: int | None = None,
    on_answer: Callable[[ServerTools], None] = lambda _: None,
) -> list[ServerTools]:
    """The tools of each server, in the order given.

    Each server has `seconds` from its own start, including the time to end it, by force if need be.

    Args:
        servers: The servers to list.
        seconds: Timeout of each server.
        at_once: Maximum number of processes that start at the same time; default: the number of cores plus one.
        on_answer: Called with the tools of each server as soon as it has answered.

    Raises:
        ValueError: `at_once` is less than 1.
    """
    all_servers = list(servers)
    answers: dict[int, ServerTools] = {}
    limits = StartLimit(at_once)

    async def ask(place: int, server: McpServer) -> None:
        async with limits.of(server):
            answers[place] = await _answer(server, seconds)
        on_answer(answers[place])

    async with anyio.create_task_group() as group:
        for place, server in enumerate(all_servers):
            group.start_soon(ask, place, server)
    return [answers[place] for place in range(len(all_servers))]


async def _answer(server: McpServer, seconds: float) -> ServerTools:
    end = anyio.current_time() + seconds
    to_end = min(_LONGEST_END, _SHARE_TO_END * seconds)

    def grace() -> float:
        return max(to_end, min(_LONGEST_END, end - anyio.current_time()))

    tools: dict[str, Tool] | None = None
    notes: tuple[str, ...] = ()
    failure = ""
    repairs = ListRepairs()
    with Diagnostics(server) as diagnostics:
        try:
            with anyio.fail_after(seconds - to_end):
                async with connected(server, diagnostics, seconds=seconds, grace=grace, wrap=repairs.wrap) as client:
                    tools, notes = await listed_tools(client, repairs)
        except TimeoutError:
            failure = diagnostics.explain(f"no answer within {seconds:g} s")
        except Exception as error:
            failure = diagnostics.explain(error)
    if tools is None:
        return ServerTools(server=server.name, failure=failure)
    # A failure after the listing is a failure to exit.
    named = tuple(tool.prefixed(server.name + SEPARATOR) for tool in tools.values())
    return ServerTools(server=server.name, tools=named, notes=notes)


_ITEMS = {
    "tools/list": ("tools", "tool", "name"),
    "prompts/list": ("prompts", "prompt", "name"),
    "resources/list": ("resources", "resource", "uri"),
    "resources/templates/list": ("resourceTemplates", "resource template", "uriTemplate"),
}
"""The key of the items, what one is called, and the key of its name."""


class ListRepairs:
    """Takes invalid items out of the lists that one connection asks for while `on` holds."""

    def __init__(self) -> None:
        self._version: str | None = None
        self._asked: dict[types.RequestId, str] = {}
        self._notes: list[str] = []

    @contextmanager
    def on(self, version: str, notes: list[str]) -> Generator[None]:
        """Repair the lists that are asked for in this block, by the revision `version`; `notes` gets what is lost."""
        self._version, self._notes = version, notes
        try:
            yield
        finally:
            self._version = None
            self._asked.clear()

    @asynccontextmanager
    async def wrap(self, transport: AbstractAsyncContextManager[Any]) -> AsyncGenerator[tuple[Any, Any]]:
        """`transport` with its lists repaired."""
        async with transport as (read, write):
            yield FilteredStream(read, self.answered), WatchedSends(write, self.asked)

    def asked(self, message: types.JSONRPCMessage) -> None:
        """Take note of a request for a list."""
        if self._version is not None and isinstance(message, types.JSONRPCRequest) and message.method in _ITEMS:
            self._asked[message.id] = message.method

    def answered(self, message: types.JSONRPCMessage) -> None:
        """Repair the list in an answer."""
        if self._asked and isinstance(message, types.JSONRPCResponse):
            method = self._asked.pop(message.id, None)
            if method is not None and self._version is not None:
                self._repair(method, self._version, message.result)

    def _repair(self, method: str, version: str, result: dict[str, Any]) -> None:
        key, kind, named = _ITEMS[method]
        items = result.get(key)
        if not is_list(items):
            return
        kept: list[Any] = []
        for number, item in enumerate(items, start=1):
            completed = _completed(item) if key == "tools" else item
            problem = _problem(method, version, {**result, key: [completed]})
            name = as_object(item).get(named)
            if problem is None and isinstance(name, str) and not name.strip():
                problem = f"its `{named}` is empty"
            if problem is None:
                kept.append(completed)
                continue
            called = repr(name) if isinstance(name, str) and name.strip() else f"number {number}"
            self._notes.append(f"the {kind} {called} is left out, since it is invalid: {problem}")
        result[key] = kept


def _problem(method: str, version: str, result: dict[str, Any]) -> str | None:
    try:
        validate_server_result(method, version, result)
    except ValidationError as error:
        return first_problem(error, below=2)
    return None


def _completed(tool: Any) -> Any:
    """A tool whose schemas have the `type` that they must have: arguments are always an object."""
    if not is_object(tool):
        return tool
    given = dict(tool)
    if given.get("inputSchema", True) in (True, None):
        given["inputSchema"] = {}
    for key in ("inputSchema", "outputSchema"):
        schema = given.get(key)
        if is_object(schema) and "type" not in schema:
            given[key] = {"type": "object", **schema}
    return given
