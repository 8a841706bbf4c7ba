"""One request to Claude Code: its tools, what runs each, and its name there.

A tool of a registered toolset runs in an in-process MCP server (spec 002). The calls of every other tool park, and
pydantic-ai runs them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from claude_agent_sdk import McpSdkServerConfig
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import RunContext, ToolDefinition

from ..common.json import is_iterable
from ..convert.claude import ClaudeNames, to_claude
from ..convert.pydantic_ai import call_listeners, definition_of
from ..errors import InvalidSettingError, MissingDepsError, ToolsetNotRegisteredError
from ..tool import Tool, ToolResult
from . import mcp_integration
from .deps_support import check_deps
from .history import WireConversation, conversation
from .limits import Guard, Tally
from .mcp_integration import AnyTool, RegisteredTool
from .restrictions import Restrictions
from .session import ParkedTools
from .settings import CheckedSettings, chosen_tools
from .tool_converter import takes_context, wanted_deps


class CallOrder:
    """Starts calls in order; one that runs alone waits for all before it, and all after it wait for it.

    pydantic-ai does the same with tools that are `sequential`. Claude Code could do it too, but would hold up a
    tool that is not read-only behind a call that waits for an approval.
    """

    def __init__(self) -> None:
        self._unfinished: dict[asyncio.Future[None], bool] = {}
        """Each call that has not ended yet, and whether it runs alone."""

    @asynccontextmanager
    async def admitted(self, *, alone: bool) -> AsyncGenerator[None]:
        """Wait for the calls that must end first; this one ends with the context."""
        before = [call for call, runs_alone in self._unfinished.items() if alone or runs_alone]
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._unfinished[ended] = alone
        try:
            if before:
                await asyncio.wait(before)
            yield
        finally:
            del self._unfinished[ended]
            ended.set_result(None)


def for_request(
    tool: Tool, definition: ToolDefinition, order: CallOrder, restrictions: Restrictions, run: RunContext[Any] | None
) -> Tool:
    """`tool` with the description and schema that the agent gives it in this request.

    It refuses calls with arguments that are not allowed, and notifies the capabilities of the run of the others.
    """
    # Claude Code runs only the calls of read-only tools concurrently, and nothing else here uses the hint. So all of
    # them start, whichever call before them waits, and `order` runs them as pydantic-ai does.
    hints = replace(tool.annotations, read_only=True)
    description, schema = definition.description or "", definition.parameters_json_schema
    listeners = call_listeners(run)

    async def call(arguments: dict[str, Any]) -> ToolResult:
        if (refusal := restrictions.refusal(tool.name, arguments, schema)) is not None:
            return ToolResult.error(refusal)
        async with order.admitted(alone=definition.sequential):
            for listener in listeners:
                listener(definition)
            return await tool.call(arguments)

    return replace(tool, description=description, input_schema=schema, annotations=hints, call=call)


@dataclass(frozen=True)
class ClaudeRequest:
    """One request to Claude Code."""

    conversation: WireConversation
    wire_name: Callable[[str], str]
    parked: ParkedTools
    server_tools: Sequence[ToolDefinition]
    """The tools that an MCP server of this process runs."""
    servers: Mapping[str, McpSdkServerConfig]
    settings: CheckedSettings
    parameters: ModelRequestParameters
    guard: Guard
    deps: object = None
    """The `ctx.deps` of the tools that run in this process."""

    @property
    def expected_tools(self) -> frozenset[str]:
        """The names of the tools that the model is to see."""
        return frozenset([*self.parked.names, *(self.wire_name(tool.name) for tool in self.server_tools)])

    @property
    def identity(self) -> object:
        """What must be equal for a session to continue with another request."""
        return self.started_with, id(self.deps)

    @property
    def started_with(self) -> object:
        """What a CLI is started with."""
        return (
            self.conversation.system,
            self.parked.listing,
            [(tool.name, tool.description, tool.parameters_json_schema) for tool in self.server_tools],
            list(self.servers),
            self.settings,
            self.parameters.output_mode,
            self.parameters.output_object,
            self.parameters.thinking,
        )

    @property
    def warm_key(self) -> object:
        """What must be equal for a CLI that was started in advance."""
        return self.started_with, self.max_turns

    @cached_property
    def max_turns(self) -> int | None:
        """The turns that the CLI may take, as they are known when the request begins.

        Over a run with parked calls the CLI would add up the turns of all its requests.
        """
        return None if self.parked.names else self.guard.turns_left()

    @property
    def is_new(self) -> bool:
        """Whether it begins a conversation."""
        return len(self.conversation.messages) == 1 and self.settings.resume is None


logger = logging.getLogger("hikidashi")

_PARKED_SERVER = "pydantic_agent"
"""The server of the parked calls, if another one, `pydantic_tools`, runs the agent's own tools."""


class AgentTools:
    """The toolsets that were registered with a model, and the tools of each of its requests."""

    def __init__(self, restrictions: Restrictions) -> None:
        self._restrictions = replace(restrictions, servers=(mcp_integration.DEFAULT_SERVER_NAME, _PARKED_SERVER))
        self._toolsets: list[Any] | None = None
        self._deps: object = None
        self._servers: dict[str, McpSdkServerConfig] = {}

    @property
    def are_registered(self) -> bool:
        """Whether `register` was called."""
        return self._toolsets is not None

    @property
    def servers(self) -> dict[str, McpSdkServerConfig]:
        """The server of the registered toolsets, by its name; empty before `register`."""
        return self._servers

    def register(self, toolsets: Iterable[Any], *, deps: object, server_name: str) -> None:
        """Let an in-process MCP server run the tools of `toolsets`, instead of those registered before."""
        # An iterator can be read once, and is needed for each request.
        registered: list[Any] = [
            list(one) if is_iterable(one) and isinstance(one, Iterator) else one for one in toolsets if one is not None
        ]
        found = mcp_integration.registered_tools(registered)
        # The server does not run a tool that requires approval: its calls park, and pydantic-ai asks.
        names = [name for name, one in found.items() if not getattr(one.tool, "requires_approval", False)]
        config = to_claude(mcp_integration.neutral_tools(found, names=names, deps=deps), name=server_name)
        if self._toolsets is not None:
            logger.warning("set_agent_toolsets() was called again: the tools registered before are replaced.")
        self._toolsets, self._deps = registered, deps
        self._servers = {server_name: config}
        self._restrictions = replace(self._restrictions, servers=(server_name, _PARKED_SERVER))

    def server_with(
        self,
        function_tools: Sequence[ToolDefinition | str],
        *,
        deps: object = None,
        guard: Guard | None = None,
        run: RunContext[Any] | None = None,
        found: Mapping[str, RegisteredTool] | None = None,
    ) -> McpSdkServerConfig | None:
        """A server with just these of the registered tools; None for no tools.

        Raises:
            ToolsetNotRegisteredError: `register` was never called.
            ToolNotFoundError: no registered toolset has one of them.
        """
        names = [tool if isinstance(tool, str) else tool.name for tool in function_tools]
        if not names:
            return None
        if self._toolsets is None:
            raise ToolsetNotRegisteredError(names)
        deps = self._deps if deps is None else deps
        found = mcp_integration.registered_tools(self._toolsets) if found is None else found
        tools = mcp_integration.neutral_tools(found, names=names, deps=deps, guard=guard)
        given = {tool.name: tool for tool in function_tools if isinstance(tool, ToolDefinition)}
        order = CallOrder()
        offered = [
            for_request(tool, given.get(tool.name) or definition_of(tool), order, self._restrictions, run)
            for tool in tools
        ]
        return to_claude(offered, name=self._server_name)

    def request(
        self,
        messages: list[ModelMessage],
        parameters: ModelRequestParameters,
        settings: CheckedSettings,
        *,
        run: RunContext[Any] | None,
        tally: Tally,
        server_runs_tools: bool,
    ) -> ClaudeRequest:
        """The request to Claude Code, with each of its tools.

        Raises:
            InvalidSettingError: `tool_choice` cannot be followed.
        """
        allowed = [tool for tool in parameters.declared_tool_defs.values() if not self._is_disallowed(tool)]
        chosen = chosen_tools(settings.tool_choice, allowed)
        offered = chosen.offered
        run_here = [
            tool
            for tool in offered
            # pydantic-ai runs what it adds itself, such as its tool search, and what needs approval.
            if server_runs_tools and tool.kind == "function" and tool.tool_kind is None
        ]
        if chosen.forced and run_here:
            raise InvalidSettingError(
                "tool_choice",
                settings.tool_choice,
                f"an MCP server runs {run_here[0].name!r} within one request, which would never end. Use "
                '`ClaudeCodeModel(tool_execution="agent")`',
            )
        parked = ParkedTools(
            [tool for tool in offered if tool not in run_here],
            server_name=_PARKED_SERVER if server_runs_tools else self._server_name,
            restrictions=self._restrictions,
            names=parameters.tool_defs,
        )
        guard = Guard(tally, {wire for wire, name in parked.names.items() if name not in parked.restricted})
        found = mcp_integration.registered_tools(self._toolsets or []) if run_here else {}
        deps = self._deps_for([found[tool.name].tool for tool in run_here if tool.name in found], run)
        servers = {parked.server_name: parked.config()} if parked.names else {}
        if (config := self.server_with(run_here, deps=deps, guard=guard, run=run, found=found)) is not None:
            servers[self._server_name] = config
        wire_name = self._wire_name(parked, run_here)
        choice = chosen.on_the_wire(wire_name, settings.parallel_tool_calls)
        return ClaudeRequest(
            conversation=conversation(messages, parameters, wire_name),
            wire_name=wire_name,
            parked=parked,
            server_tools=run_here,
            servers=servers,
            settings=settings.model_copy(update={"tool_choice": choice}),
            parameters=parameters,
            guard=guard,
            deps=deps,
        )

    @property
    def _server_name(self) -> str:
        return next(iter(self._servers), mcp_integration.DEFAULT_SERVER_NAME)

    def _deps_for(self, tools: Iterable[AnyTool], run: RunContext[Any] | None) -> object:
        """The `ctx.deps` of `tools`: `agent.run(deps=...)` wins over `set_agent_toolsets(deps=...)`.

        Raises:
            UnsupportedDepsTypeError: a tool takes a context, and the deps of the run cannot be serialised.
            MissingDepsError: a tool needs deps, and there are none.
        """
        with_context = list(filter(takes_context, tools))
        if not with_context:
            return None
        deps = self._deps if run is None or run.deps is None else run.deps
        if deps is None:
            for tool in with_context:
                if (wanted := wanted_deps(tool)) is not None:
                    raise MissingDepsError(tool.name, wanted)
        check_deps(deps)
        return deps

    def _is_disallowed(self, tool: ToolDefinition) -> bool:
        if not self._restrictions.disallows(tool.name):
            return False
        if tool.kind == "output":
            raise InvalidSettingError("disallowed_tools", tool.name, "the agent returns its output through it")
        return True

    def _wire_name(self, parked: ParkedTools, run_here: Iterable[ToolDefinition]) -> Callable[[str], str]:
        """The name in Claude Code of each tool: of this request, or of the history."""
        others = ClaudeNames(self._server_name, (tool.name for tool in run_here))
        known = {name: wire for wire, name in parked.names.items()}
        return lambda name: known.get(name) or others.full(name)
