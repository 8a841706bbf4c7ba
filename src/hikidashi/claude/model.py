"""Claude Code as a pydantic-ai model.

Tools run in one of two places. With `tool_execution="mcp"` an in-process MCP server runs them when
Claude Code calls, as spec 002 says. With `tool_execution="agent"` the calls park, pydantic-ai runs
them in its own way, and the next request wakes them; one CLI process lives for the whole run.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

try:
    import pydantic_ai as _pydantic_ai  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ImportError as error:
    from ..errors import MissingExtra

    raise MissingExtra("pydantic-ai", "pydantic-ai,claude") from error
try:
    import claude_agent_sdk as _claude_agent_sdk  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ImportError as error:
    from ..errors import MissingExtra

    raise MissingExtra("claude-agent-sdk", "claude") from error

from claude_agent_sdk import ClaudeAgentOptions, McpSdkServerConfig, McpServerConfig, PermissionMode, SettingSource
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse, check_allow_model_requests
from pydantic_ai.native_tools import AbstractNativeTool
from pydantic_ai.profiles import ModelProfile, ModelProfileSpec
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext, ToolDefinition

from ..convert.claude import names_in_claude, shown_name, to_claude
from ..errors import ToolsetNotRegisteredError
from ..tool import Tool
from . import mcp_integration
from .history import conversation
from .launch import Launch, Question, launch
from .parking import ParkedTools
from .scope import current_scope, run_scope
from .session import Deadline, Session
from .settings import CheckedSettings, ClaudeCodeModelSettings, checked
from .stream import ClaudeCodeStreamedResponse

__all__ = ["ClaudeCodeModel", "ClaudeCodeModelSettings"]

logger = logging.getLogger("hikidashi")

_PARKED_SERVER = "pydantic_agent"
"""Where calls park while another server, `pydantic_tools`, runs the agent's own tools."""

_PROFILE = ModelProfile(
    supports_tools=True,
    supports_json_schema_output=True,
    supports_json_object_output=False,
    supports_image_input=True,
    supports_document_input=True,
    supports_thinking=True,
    default_structured_output_mode="tool",
    supported_native_tools=frozenset(),
)


class ClaudeCodeModel(Model[Any]):
    """A pydantic-ai model that runs on Claude Code: with a subscription, or with an API key.

    ```python
    agent = Agent(ClaudeCodeModel("sonnet", tool_execution="agent"), tools=[...])
    ```
    """

    def __init__(
        self,
        model_name: str = "sonnet",
        *,
        tool_execution: Literal["mcp", "agent"] = "mcp",
        timeout: float | None = 600.0,
        max_turns: int | None = None,
        max_budget_usd: float | None = None,
        max_retries: int = 2,
        working_directory: str | Path | None = None,
        permission_mode: PermissionMode = "dontAsk",
        allowed_tools: Sequence[str] = (),
        mcp_servers: Mapping[str, McpServerConfig] | None = None,
        setting_sources: Sequence[SettingSource] = (),
        persist_sessions: bool = False,
        env: Mapping[str, str] | None = None,
        cli_path: str | Path | None = None,
        customize: Callable[[ClaudeAgentOptions], ClaudeAgentOptions] | None = None,
        settings: ModelSettings | None = None,
        profile: ModelProfileSpec | None = None,
    ) -> None:
        """Describe the model; nothing starts before the first request.

        Args:
            model_name: a Claude model, or an alias Claude Code knows: `sonnet`, `opus`, `haiku`.
            tool_execution: who runs the agent's tools: an in-process MCP server (`"mcp"`, needs
                `set_agent_toolsets()`), or pydantic-ai itself (`"agent"`).
            timeout: seconds one request may take, tools included; `None` waits forever.
            max_turns: turns Claude Code may take for one request.
            max_budget_usd: what one request may cost.
            max_retries: how often Claude Code repeats a failed API call.
            working_directory: where Claude Code runs; the current folder if not given.
            permission_mode: what happens to tools that nobody allowed; they are refused by default.
            allowed_tools: tools of Claude Code itself that it may use, such as `"Read"` or `"Bash(git log:*)"`;
                none by default.
            mcp_servers: further MCP servers; each tool must be allowed by name.
            setting_sources: settings files Claude Code reads; none by default.
            persist_sessions: keep sessions on disk, so that `resume` finds them later.
            env: environment variables for the CLI, over those of this process.
            cli_path: another Claude Code CLI than the one that comes with the SDK.
            customize: a last word on the options each CLI starts with.
            settings: default model settings.
            profile: what pydantic-ai should believe the model can do.
        """
        super().__init__(settings=settings, profile=profile)
        self._model_name = model_name
        self.tool_execution: Literal["mcp", "agent"] = tool_execution
        self._defaults = checked(
            {
                "timeout": timeout,
                "max_turns": max_turns,
                "max_budget_usd": max_budget_usd,
                "max_retries": max_retries,
                "working_directory": working_directory,
                "permission_mode": permission_mode,
            }
        )
        self._launch = Launch(
            model_name=model_name,
            allowed_tools=tuple(allowed_tools),
            mcp_servers=dict(mcp_servers or {}),
            setting_sources=tuple(setting_sources),
            persist_sessions=persist_sessions,
            env=dict(env or {}),
            cli_path=cli_path,
            customize=customize,
        )
        self._toolsets: list[mcp_integration.AgentToolset | mcp_integration.AnyTool] | None = None
        self._deps: object = None
        self.mcp_servers: dict[str, McpSdkServerConfig] = {}
        """The server of the registered toolsets, under its name; empty before `set_agent_toolsets()`."""

    @property
    def model_name(self) -> str:
        """The model's name."""
        return self._model_name

    @property
    def system(self) -> str:
        """Whose model it is."""
        return "anthropic"

    @classmethod
    def supported_native_tools(cls) -> frozenset[type[AbstractNativeTool]]:
        """None: what Claude Code brings along is allowed with `allowed_tools`."""
        return frozenset()

    def _provider_model_profile(self) -> ModelProfile:
        return _PROFILE

    # Tools that an MCP server runs: spec 002

    def set_agent_toolsets(
        self,
        *toolsets: mcp_integration.AgentToolset | mcp_integration.AnyTool | Iterable[Any] | None,
        deps: object = None,
        server_name: str = mcp_integration.DEFAULT_SERVER_NAME,
    ) -> None:
        """Let Claude Code call the tools of `toolsets`, instead of those registered before.

        Args:
            toolsets: `agent._function_toolset`, or anything else that has `tools` by name.
            deps: what tools that take a `RunContext` find in `ctx.deps` (experimental, see `DepsContext`).
            server_name: Claude Code sees the tools as `mcp__<server_name>__<tool_name>`.

        Raises:
            ToolValidationError: a tool has no name, function or schema, or two tools share a name.
            UnsupportedDepsTypeError: JSON cannot carry `deps`.
        """
        registered = [item for given in toolsets if given is not None for item in _flat(given)]
        by_name = mcp_integration.registered_tools(registered)
        # A tool that requires approval is not run by the server: its calls park, and pydantic-ai asks.
        names = [name for name, tool in by_name.items() if not getattr(tool, "requires_approval", False)]
        config = mcp_integration.create_mcp_server_from_tools(
            registered, server_name=server_name, names=names, deps=deps
        )
        if self._toolsets is not None:
            logger.warning("set_agent_toolsets() was called again: the tools registered before are replaced.")
        self._toolsets, self._deps = registered, deps
        self.mcp_servers = {server_name: config}

    def _process_function_tools(self, function_tools: Sequence[ToolDefinition | str]) -> McpSdkServerConfig | None:
        """A server with just these of the registered tools; `None` for no tools.

        Raises:
            ToolsetNotRegisteredError: `set_agent_toolsets()` was never called.
            ToolNotFoundError: no registered toolset has one of them.
        """
        names = [tool if isinstance(tool, str) else tool.name for tool in function_tools]
        if not names:
            return None
        if self._toolsets is None:
            raise ToolsetNotRegisteredError(names)
        tools = mcp_integration.neutral_tools(self._toolsets, names=names, deps=self._deps)
        definitions = {tool.name: tool for tool in function_tools if isinstance(tool, ToolDefinition)}
        return to_claude([_as_offered(tool, definitions.get(tool.name)) for tool in tools], name=self._server_name)

    @property
    def _server_name(self) -> str:
        return next(iter(self.mcp_servers), mcp_integration.DEFAULT_SERVER_NAME)

    # Requests

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The model's whole answer.

        Raises:
            ClaudeCodeError: each way this can fail has a class of its own.
        """
        async with self._answer(messages, model_settings, model_request_parameters) as response:
            async for _ in response:
                pass
            return response.get()

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """The model's answer as it arrives."""
        async with self._answer(messages, model_settings, model_request_parameters) as response:
            yield response

    def _run_scope(self) -> AbstractAsyncContextManager[None]:
        """What an agent holds around its requests: sessions that wait between them end with it."""
        return run_scope(self)

    @asynccontextmanager
    async def _answer(
        self, messages: list[ModelMessage], model_settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> AsyncGenerator[ClaudeCodeStreamedResponse]:
        check_allow_model_requests()
        model_settings, parameters = self.prepare_request(model_settings, parameters)
        settings = _over(self._defaults, checked(model_settings))
        deadline = Deadline(settings.timeout)
        scope = current_scope(self)
        question = self._question(messages, parameters, settings)
        session = None if scope is None else scope.holding(question.talk, question.identity)

        async def begin() -> Session:
            return await launch(self._launch, question, scope, deadline)

        if session is not None:
            await session.go_on(question.talk)
        response = ClaudeCodeStreamedResponse(
            model_request_parameters=parameters,
            session=session or await begin(),
            _relaunch=None if session is None else begin,
            _deadline=deadline,
            _requested_model=self._model_name,
            _native_output=parameters.output_mode == "native",
        )
        try:
            yield response
        finally:
            if scope is None or scope.ended or not response.complete:
                await response.session.close()

    def _question(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters, settings: CheckedSettings
    ) -> Question:
        own_tools = self.tool_execution == "mcp"
        run_here = [
            tool
            for tool in parameters.declared_function_tools
            # What pydantic-ai adds itself, such as its search for tools, and what needs approval is its to run.
            if own_tools and tool.kind == "function" and tool.tool_kind is None
        ]
        parked = ParkedTools(
            [tool for tool in parameters.declared_tool_defs.values() if tool not in run_here],
            server_name=_PARKED_SERVER if own_tools else self._server_name,
            names=parameters.tool_defs,
        )
        servers = {parked.server_name: parked.config()} if parked.names else {}
        if (config := self._process_function_tools(run_here)) is not None:
            servers[self._server_name] = config
        wire_name = self._wire_name(parked, run_here)
        return Question(
            talk=conversation(messages, parameters, wire_name),
            wire_name=wire_name,
            parked=parked,
            offered=run_here,
            servers=servers,
            settings=settings,
            parameters=parameters,
        )

    def _wire_name(self, parked: ParkedTools, run_here: Iterable[ToolDefinition]) -> Callable[[str], str]:
        here = set(parked.names.values())
        others = names_in_claude(self._server_name, (tool.name for tool in run_here))

        def wire_name(name: str) -> str:
            if name in here:
                return parked.wire_name(name)
            return f"mcp__{shown_name(self._server_name)}__{others.of(name)}"

        return wire_name


def _as_offered(tool: Tool, definition: ToolDefinition | None) -> Tool:
    """`tool` as the agent offers it in this request."""
    if definition is None:
        return tool
    # Claude Code runs calls of one turn side by side only if they say that they only read, and nothing else here
    # looks at the hint; pydantic-ai runs them side by side unless they are sequential.
    hints = replace(tool.annotations, read_only=not definition.sequential)
    description, schema = definition.description or "", {"type": "object", **definition.parameters_json_schema}
    return replace(tool, description=description, input_schema=schema, annotations=hints)


def _over(defaults: CheckedSettings, given: CheckedSettings) -> CheckedSettings:
    return defaults.model_copy(update={name: getattr(given, name) for name in given.model_fields_set})


def _flat(given: object) -> Iterable[Any]:
    return cast("Iterable[Any]", given) if isinstance(given, list | tuple) else [given]
