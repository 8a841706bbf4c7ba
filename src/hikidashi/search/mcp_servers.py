"""The tools of several MCP servers at once; one that fails does not keep the others from answering."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TextIO, cast

from ..convert.mcp import from_mcp
from ..errors import MissingExtra
from ..tool import Tool
from .mcp_config import McpServer

try:
    import anyio
    import httpx2
    from mcp.client import Client
    from mcp.client.sse import sse_client
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["Answer", "tools_of_servers"]

_SEPARATOR = "__"


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What one server answered."""

    server: str
    tools: tuple[Tool, ...] = ()
    """Under `server__name`; they cannot be called, as the connection is closed."""
    failure: str | None = None
    """Why there are no tools, in one line."""


async def tools_of_servers(
    servers: Iterable[McpServer],
    *,
    seconds: float = 30.0,
    on_answer: Callable[[Answer], None] = lambda _: None,
) -> list[Answer]:
    """What each server lists, in the order given; `on_answer` hears of each as it comes.

    Servers are asked at the same time, each has `seconds`, and those started here are ended.
    """
    asked = list(servers)
    answers: dict[int, Answer] = {}

    async def ask(place: int, server: McpServer) -> None:
        answers[place] = await _answer(server, seconds)
        on_answer(answers[place])

    async with anyio.create_task_group() as group:
        for place, server in enumerate(asked):
            group.start_soon(ask, place, server)
    return [answers[place] for place in range(len(asked))]


async def _answer(server: McpServer, seconds: float) -> Answer:
    # The client's own words for a refusal leave out the status, so it is noted beside a process's complaints.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as complaints:
        try:
            with anyio.fail_after(seconds):
                tools = await _listed(server, complaints, seconds)
        except TimeoutError:
            failure = f"no answer within {seconds:g} s"
        except Exception as error:
            failure = _told(error)
        else:
            return Answer(server=server.name, tools=tuple(tool.prefixed(server.name + _SEPARATOR) for tool in tools))
        return Answer(server=server.name, failure=server.without_secrets(failure + _last_words(complaints)))


async def _listed(server: McpServer, complaints: TextIO, seconds: float) -> list[Tool]:
    async with AsyncExitStack() as stack:
        match server.transport:
            case "stdio":
                parameters = StdioServerParameters(
                    command=server.command, args=list(server.args), env=dict(server.env), cwd=server.cwd
                )
                transport = stdio_client(parameters, errlog=complaints)
            case "http":
                http = httpx2.AsyncClient(
                    headers=dict(server.headers),
                    follow_redirects=True,
                    timeout=seconds,
                    event_hooks={"response": [_noting(complaints)]},
                )
                transport = streamable_http_client(server.url, http_client=await stack.enter_async_context(http))
            case _:
                transport = sse_client(server.url, headers=dict(server.headers), timeout=seconds)
        client = await stack.enter_async_context(Client(transport))
        return await from_mcp(client)


def _noting(complaints: TextIO) -> Callable[[httpx2.Response], Awaitable[None]]:
    async def note(response: httpx2.Response) -> None:
        if response.is_error and response.request.method == "POST":  # a GET may be refused: it only offers a stream
            complaints.write(f"{response.status_code} {response.reason_phrase}\n")

    return note


def _told(error: BaseException) -> str:
    """The first real error inside groups of them."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _last_words(complaints: TextIO) -> str:
    complaints.seek(0)
    lines = [line.strip() for line in complaints.read()[-10_000:].splitlines() if line.strip()]
    return f"; its last words: {lines[-1]}" if lines else ""
