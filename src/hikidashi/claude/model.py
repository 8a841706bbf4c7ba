"""Claude Code as a pydantic-ai model.

Tools run in one of two places. With `tool_execution="agent"` the calls park, pydantic-ai runs them in its
own way, and the next request wakes them; one CLI process lives for the whole run. With
`tool_execution="mcp"` an in-process MCP server runs them when Claude Code calls, as spec 002 says.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, cast

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

from ..convert.claude import to_claude
from ..convert.claude_listing import names_in_claude
from ..convert.claude_listing import wire_name as name_in_claude
from ..errors import InvalidSettingError, ToolsetNotRegisteredError
from . import mcp_integration
from ._run_context import current_run
from ._run_deps import deps_of_request
from .downloads import with_downloads
from .history import conversation
from .limits import Guard, Tally
from .session.launch import Launch, Question, launch, prepare
from .session.parking import ParkedTools
from .session.scope import RunScope, current_scope, run_scope
from .session.session import Deadline, Session
from .session.stream import ClaudeCodeStreamedResponse
from .session.warm import WarmSessions
from .settings import CheckedSettings, ClaudeCodeModelSettings, checked, overridden
from .tools.offered import as_offered, restricted
from .tools.ordering import CallOrder
from .tools.restrictions import OwnToolRestrictions, ParameterRestrictions, Restrictions

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
    agent = Agent(ClaudeCodeModel("sonnet"), tools=[...])
    ```

    pydantic-ai runs the agent's tools, so that deps of any type, approval, retries, limits and tracing work as with
    every other model. After `set_agent_toolsets()` an in-process MCP server runs them instead, within one request.
    """

    def __init__(
        self,
        model_name: str = "sonnet",
        *,
        tool_execution: Literal["mcp", "agent"] | None = None,
        timeout: float | None = 600.0,
        max_turns: int | None = None,
        max_budget_usd: float | None = None,
        max_retries: int = 2,
        working_directory: str | Path | None = None,
        permission_mode: PermissionMode = "dontAsk",
        allowed_tools: Sequence[str] = (),
        disallowed_tools: Sequence[str] = (),
        tool_parameter_restrictions: ParameterRestrictions | None = None,
        mcp_servers: Mapping[str, McpServerConfig] | None = None,
        setting_sources: Sequence[SettingSource] = (),
        persist_sessions: bool = False,
        warm: int = 0,
        env: Mapping[str, str] | None = None,
        cli_path: str | Path | None = None,
        customize: Callable[[ClaudeAgentOptions], ClaudeAgentOptions] | None = None,
        settings: ModelSettings | None = None,
        profile: ModelProfileSpec | None = None,
    ) -> None:
        """Describe the model; nothing starts before the first request.

        Args:
            model_name: a Claude model, or an alias Claude Code knows: `sonnet`, `opus`, `haiku`.
            tool_execution: who runs the agent's tools: pydantic-ai itself (`"agent"`), or an in-process MCP server
                (`"mcp"`, needs `set_agent_toolsets()`). By default pydantic-ai does, which needs no registration and
                keeps all that an agent can do; a call of `set_agent_toolsets()` says that the server does.
            timeout: seconds one request may take, tools included; `None` waits forever. With `"agent"` a run that has
                called a tool must make its next request in this time.
            max_turns: turns Claude Code may take for one request. By default the `request_limit` of the run's
                `usage_limits` counts them, which is 50 unless the run says otherwise; a request outside of a run
                may take 50.
            max_budget_usd: what one request may cost.
            max_retries: how often Claude Code repeats a failed API call.
            working_directory: where Claude Code runs; the current folder if not given.
            permission_mode: what happens to tools that nobody allowed; they are refused by default.
            allowed_tools: tools of Claude Code itself that it may use, such as `"Read"` or `"Bash(git log:*)"`;
                none by default.
            disallowed_tools: tools that it may not use, whatever else allows them: its own, such as `"Bash"` or
                `"Bash(git push:*)"`, those of `mcp_servers` as `"mcp__server__tool"`, and the agent's, by their own
                name or as `"mcp__pydantic_tools__name"`; the agent's are not offered to the model at all.
            tool_parameter_restrictions: what parameters of tools may be, as
                `{"Bash": {"run_in_background": False}, "send_mail": {"to": re.compile(".+@example.com")}}`:
                a JSON value, a tuple or set of such values, a compiled pattern for the whole text, or a function that
                says whether a value is allowed. A call with another value does not run; the model reads which
                parameter was refused and what is allowed. A parameter that a call leaves out counts with the default
                of the agent's tool, and is not restricted if there is none.
            mcp_servers: further MCP servers; each tool must be allowed by name.
            setting_sources: settings files Claude Code reads; none by default.
            persist_sessions: keep sessions on disk, so that `resume` finds them later.
            warm: how many CLIs to keep started for the runs to come, per event loop. A run that ends starts one in the
                background; a run that begins a conversation with the same options, tools and system prompt uses it.
                Each takes about 200 MB, for five minutes at most. `async with model:` (or `agent:`) ends them.
            env: environment variables for the CLI, over those of this process.
            cli_path: another Claude Code CLI than the one that comes with the SDK.
            customize: a last word on the options each CLI starts with.
            settings: default model settings.
            profile: what pydantic-ai should believe the model can do.
        """
        super().__init__(settings=settings, profile=profile)
        self._model_name = model_name
        self.tool_execution = tool_execution
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
        self._restrictions = Restrictions(disallowed_tools, tool_parameter_restrictions)
        self._launch = Launch(
            model_name=model_name,
            allowed_tools=tuple(allowed_tools),
            mcp_servers=dict(mcp_servers or {}),
            setting_sources=tuple(setting_sources),
            persist_sessions=persist_sessions,
            env=dict(env or {}),
            cli_path=cli_path,
            customize=customize,
            restrictions=self._restrictions,
        )
        if isinstance(warm, bool) or warm < 0:
            raise InvalidSettingError("warm", warm, "it must be a number of CLIs, 0 or more")
        self._warm = WarmSessions(warm)
        self._entered = 0
        self._prepare_again: Callable[[], None] | None = None
        """Starts a CLI as the last conversation began; before the first, tools and system prompt are not known."""
        self._toolsets: list[Any] | None = None
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

    @property
    def tool_execution(self) -> Literal["mcp", "agent"]:
        """Who runs the agent's tools: the server of `set_agent_toolsets()`, or pydantic-ai itself."""
        return self._tool_execution or ("agent" if self._toolsets is None else "mcp")

    @tool_execution.setter
    def tool_execution(self, value: Literal["mcp", "agent"] | None) -> None:
        if value not in ("mcp", "agent", None):
            raise InvalidSettingError("tool_execution", value, "it must be 'agent', 'mcp' or None")
        self._tool_execution: Literal["mcp", "agent"] | None = value

    # Tools that an MCP server runs: spec 002

    def set_agent_toolsets(
        self,
        *toolsets: mcp_integration.Tools | None,
        deps: object = None,
        server_name: str = mcp_integration.DEFAULT_SERVER_NAME,
    ) -> None:
        """Let an in-process MCP server run the tools of `toolsets`, instead of those registered before.

        Unless `tool_execution` says otherwise, this is what makes the server run them.

        Args:
            toolsets: an agent, `agent._function_toolset`, `agent.toolsets`, tools, functions, or lists of these.
                Toolsets that combine, prefix, rename, filter or prepare others are taken apart; the agent still
                decides which tools a request offers.
            deps: what tools that take a `RunContext` find in `ctx.deps` where a run has no deps of its own
                (experimental, see `DepsContext`).
            server_name: Claude Code sees the tools as `mcp__<server_name>__<tool_name>`.

        Raises:
            ToolValidationError: a tool has no name, function or schema, or two tools share a name.
            Unsupported: Claude Code would leave a tool out because of its input schema.
            UnsupportedDepsTypeError: JSON cannot carry `deps`.
            Unsupported: a toolset knows its tools only in a run, or something is no tool.
        """
        # An iterator can be read once, and is needed for each request.
        given: tuple[Any, ...] = toolsets
        registered: list[Any] = [
            list(cast("Iterator[Any]", one)) if isinstance(one, Iterator) else one for one in given if one is not None
        ]
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

    def _process_function_tools(
        self, function_tools: Sequence[ToolDefinition | str], *, deps: object = None, guard: Guard | None = None
    ) -> McpSdkServerConfig | None:
        """A server with just these of the registered tools; `None` for no tools.

        Args:
            function_tools: the tools.
            deps: what they find in their context, instead of what was registered.
            guard: what counts their calls.

        Raises:
            ToolsetNotRegisteredError: `set_agent_toolsets()` was never called.
            ToolNotFoundError: no registered toolset has one of them.
        """
        names = [tool if isinstance(tool, str) else tool.name for tool in function_tools]
        if not names:
            return None
        if self._toolsets is None:
            raise ToolsetNotRegisteredError(names)
        deps = self._deps if deps is None else deps
        tools = mcp_integration.neutral_tools(self._toolsets, names=names, deps=deps, guard=guard)
        definitions = {tool.name: tool for tool in function_tools if isinstance(tool, ToolDefinition)}
        order = CallOrder()
        offered = (as_offered(tool, definitions.get(tool.name), order) for tool in tools)
        return to_claude([restricted(tool, self._own_restrictions) for tool in offered], name=self._server_name)

    def _deps_for(self, tools: Sequence[ToolDefinition], run: RunContext[Any] | None) -> object:
        registered = mcp_integration.registered_tools(self._toolsets or [])
        offered = [registered[tool.name] for tool in tools if tool.name in registered]
        return deps_of_request(offered, run, self._deps)

    @property
    def _own_restrictions(self) -> OwnToolRestrictions:
        return OwnToolRestrictions(self._restrictions, (self._server_name, _PARKED_SERVER))

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
        answer = self._answer(messages, model_settings, model_request_parameters, run_context)
        async with answer as response:
            yield response

    def _run_scope(self) -> AbstractAsyncContextManager[None]:
        """What an agent holds around its requests: sessions that wait between them end with it."""
        return run_scope(self)

    async def __aenter__(self) -> Self:
        """The model itself; a CLI starts for the next run like the last one, and ends with the context."""
        self._entered += 1
        if self._entered == 1 and self._prepare_again is not None:
            self._prepare_again()
        return await super().__aenter__()

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        """End the CLIs that wait for a run."""
        self._entered -= 1
        if not self._entered:
            await self._warm.close()
        return await super().__aexit__(exc_type, exc_val, exc_tb)

    @asynccontextmanager
    async def _answer(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        parameters: ModelRequestParameters,
        run: RunContext[Any] | None = None,
    ) -> AsyncGenerator[ClaudeCodeStreamedResponse]:
        check_allow_model_requests()
        model_settings, parameters = self.prepare_request(model_settings, parameters)
        settings = overridden(self._defaults, checked(model_settings))
        deadline = Deadline(settings.timeout)
        scope = current_scope(self)
        if scope is not None:
            scope.begin_request()
        run = run or current_run()
        messages = await with_downloads(messages, {} if scope is None else scope.downloads)
        question = self._question(messages, parameters, settings, run, Tally() if scope is None else scope.tally)
        session = None if scope is None else scope.holding(question.talk, question.identity)
        (question if session is None else session).guard.begin(run, settings.max_turns)
        if scope is not None and session is None:
            await scope.end_answered(question.talk)

        async def begin() -> Session:
            return await launch(self._launch, question, scope, deadline)

        if session is not None:
            await session.go_on(question.talk)
        response = ClaudeCodeStreamedResponse(
            model_request_parameters=parameters,
            session=session or await launch(self._launch, question, scope, deadline, self._warm),
            _relaunch=begin,
            _deadline=deadline,
            _requested_model=self._model_name,
            _native_output=parameters.output_mode == "native",
        )
        try:
            yield response
        finally:
            await self._leave(response, question, scope, deadline)

    async def _leave(
        self, response: ClaudeCodeStreamedResponse, question: Question, scope: RunScope | None, deadline: Deadline
    ) -> None:
        """Keep the session for the next request if there can be one, and see to its end."""
        session = response.session
        if scope is None or scope.ended or not response.complete or session.parked.abandoned:
            await session.close()
        if scope is not None and session.waiting:
            called = [call.tool_name for call in response.get().tool_calls]
            running = [name for name in called if question.parameters.tool_defs[name].kind == "function"]
            late = partial(deadline.passed, f"pydantic-ai to run {', '.join(map(repr, running))}", self._model_name)
            scope.wait_until(deadline, late if running else None)
        if self._warm.count and question.is_new and response.complete:
            self._prepare_again = again = partial(prepare, self._launch, question, self._warm)
            if scope is None:
                again()
            else:
                scope.after = again

    def _question(
        self,
        messages: list[ModelMessage],
        parameters: ModelRequestParameters,
        settings: CheckedSettings,
        run: RunContext[Any] | None,
        tally: Tally,
    ) -> Question:
        own_tools = self.tool_execution == "mcp"
        offered = [tool for tool in parameters.declared_tool_defs.values() if not self._is_disallowed(tool)]
        run_here = [
            tool
            for tool in offered
            # What pydantic-ai adds itself, such as its search for tools, and what needs approval is its to run.
            if own_tools and tool.kind == "function" and tool.tool_kind is None
        ]
        parked = ParkedTools(
            [tool for tool in offered if tool not in run_here],
            server_name=_PARKED_SERVER if own_tools else self._server_name,
            restrictions=self._own_restrictions,
            names=parameters.tool_defs,
        )
        guard = Guard(tally, parked=parked.surely_parks)
        deps = self._deps_for(run_here, run)
        servers = {parked.server_name: parked.config()} if parked.names else {}
        if (config := self._process_function_tools(run_here, deps=deps, guard=guard)) is not None:
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
            guard=guard,
            deps=deps,
        )

    def _is_disallowed(self, tool: ToolDefinition) -> bool:
        if not self._own_restrictions.leaves_out(tool.name):
            return False
        if tool.kind == "output":
            raise InvalidSettingError("disallowed_tools", tool.name, "it is how the agent's output is given")
        return True

    def _wire_name(self, parked: ParkedTools, run_here: Iterable[ToolDefinition]) -> Callable[[str], str]:
        here = set(parked.names.values())
        others = names_in_claude(self._server_name, (tool.name for tool in run_here))

        def wire_name(name: str) -> str:
            if name in here:
                return parked.wire_name(name)
            return name_in_claude(self._server_name, others.of(name))

        return wire_name
