"""Claude Code as a pydantic-ai model.

Tools run in one of two places. With `tool_execution="agent"` each call waits (it is parked) until pydantic-ai has run
the tool and sends the result with its next request; one CLI process serves the whole run. With `tool_execution="mcp"`
an in-process MCP server runs them when Claude Code calls, as spec 002 says.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

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

from ..convert.claude import is_for_one_conversation
from ..errors import InvalidSettingError
from . import mcp_integration
from .history import with_downloads
from .launch import Launch, RunScope, WarmSessions, current_scope, launch, prepare, run_scope
from .limits import Guard, Tally
from .request import AgentTools, ClaudeRequest
from .restrictions import ParameterRestrictions, checked_restrictions
from .session import Deadline
from .settings import ClaudeCodeModelSettings, checked, overridden
from .stream import ClaudeCodeStreamedResponse

__all__ = ["ClaudeCodeModel", "ClaudeCodeModelSettings"]

try:
    # `Model.request()` is given no `RunContext`, and pydantic-ai has no public way to ask for the current one;
    # its own models that wrap others read it here too.
    from pydantic_ai._run_context import get_current_run_context
except ImportError:  # pragma: no cover - tests with the pinned versions notice a release without it

    def get_current_run_context() -> RunContext[Any] | None:
        """Returns None: this version of pydantic-ai has no such function."""
        return None


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
    any other model. After `set_agent_toolsets()` an in-process MCP server runs them instead, within one request.
    """

    def __init__(
        self,
        model_name: str = "sonnet",
        *,
        tool_execution: Literal["mcp", "agent"] | None = None,
        timeout: float | None = 600.0,
        max_turns: int | None = None,
        max_budget_usd: float | None = None,
        max_retries: int = 2,  # Claude Code itself takes 10, also after a refused key
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
            tool_execution: what runs the agent's tools: pydantic-ai itself (`"agent"`), or an in-process MCP server
                (`"mcp"`, needs `set_agent_toolsets()`). The default is `"agent"`, and `"mcp"` after
                `set_agent_toolsets()` was called.
            timeout: seconds for one request, tools included; `None` waits forever. With `"agent"` a run that has
                called a tool must make its next request in this time.
            max_turns: the most turns of Claude Code in one request. By default the `request_limit` of the run's
                `usage_limits` counts them, which is 50 unless set; outside of a run the limit is 50.
            max_budget_usd: the most one request may cost.
            max_retries: how often Claude Code repeats a failed API call.
            working_directory: where Claude Code runs; the current folder by default.
            permission_mode: what happens to tools that are not allowed; they are refused by default.
            allowed_tools: tools of Claude Code itself that it may use, such as `"Read"` or `"Bash(git log:*)"`;
                none by default.
            disallowed_tools: tools that it may not use, even if another option allows them: its own, such as `"Bash"`
                or `"Bash(git push:*)"`, those of `mcp_servers` as `"mcp__server__tool"`, and the agent's, by their own
                name or as `"mcp__pydantic_tools__name"`; the agent's are not offered to the model at all.
            tool_parameter_restrictions: allowed values of tool parameters, as
                `{"Bash": {"run_in_background": False}, "send_mail": {"to": re.compile(".+@example.com")}}`:
                a JSON value, a tuple or set of such values, a compiled pattern for the whole text, or a function that
                returns whether a value is allowed. A call with another value does not run; the model gets an error with
                the parameter and its allowed values. An omitted parameter counts with its default, and is not
                restricted if it has none.
            mcp_servers: further MCP servers; each tool must be allowed by name. To preload tools, give them to the
                agent with `to_pydantic_ai_search(tools, preload=...)` instead.
            setting_sources: settings files Claude Code reads; none by default.
            persist_sessions: keep sessions on disk, so that `resume` finds them later.
            warm: how many CLIs to keep started for later runs, per event loop. A run that ends starts one in the
                background; a run that begins a conversation with the same options, tools and system prompt uses it.
                Each takes about 200 MB, for five minutes at most. `async with model:` (or `agent:`) ends them.
            env: environment variables for the CLI, over those of this process.
            cli_path: another Claude Code CLI than the one that comes with the SDK.
            customize: changes the options before each CLI starts.
            settings: default model settings.
            profile: overrides what pydantic-ai assumes the model can do.
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
        for name, server in (mcp_servers or {}).items():
            if is_for_one_conversation(server):
                raise InvalidSettingError(
                    f"mcp_servers[{name!r}]",
                    server,
                    "its `preload` is for one conversation, and a model has many. Leave `preload` out, or give the "
                    "tools to the agent with `to_pydantic_ai_search(tools, preload=...)`",
                )
        restrictions = checked_restrictions(disallowed_tools, tool_parameter_restrictions)
        self._tools = AgentTools(restrictions)
        self._launch = Launch(
            model_name=model_name,
            allowed_tools=tuple(allowed_tools),
            mcp_servers=dict(mcp_servers or {}),
            setting_sources=tuple(setting_sources),
            persist_sessions=persist_sessions,
            env=dict(env or {}),
            cli_path=cli_path,
            customize=customize,
            restrictions=restrictions,
        )
        if isinstance(warm, bool) or warm < 0:
            raise InvalidSettingError("warm", warm, "it must be a number of CLIs, 0 or more")
        self._warm = WarmSessions(warm)
        self._entered = 0
        self._prepare_again: Callable[[], None] | None = None
        """Starts a CLI like that of the last conversation; None before the first, whose tools are not known yet."""

    @property
    def model_name(self) -> str:
        """The model's name."""
        return self._model_name

    @property
    def system(self) -> str:
        """The provider: `"anthropic"`."""
        return "anthropic"

    @classmethod
    def supported_native_tools(cls) -> frozenset[type[AbstractNativeTool]]:
        """None: Claude Code's own tools are allowed with `allowed_tools`."""
        return frozenset()

    def _provider_model_profile(self) -> ModelProfile:
        return _PROFILE

    @property
    def tool_execution(self) -> Literal["mcp", "agent"]:
        """What runs the agent's tools: `"mcp"`, the server of `set_agent_toolsets()`, or `"agent"`, pydantic-ai."""
        return self._tool_execution or ("mcp" if self._tools.are_registered else "agent")

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

        This sets `tool_execution` to `"mcp"`, unless it was given.

        Args:
            toolsets: an agent, `agent._function_toolset`, `agent.toolsets`, tools, functions, or lists of these.
                Toolsets that combine, prefix, rename, filter or prepare others are unwrapped; the agent still
                decides which tools a request offers.
            deps: `ctx.deps` of tools that take a `RunContext`, if a run has no deps of its own (experimental, see
                `DepsContext`).
            server_name: Claude Code sees the tools as `mcp__<server_name>__<tool_name>`.

        Raises:
            ToolValidationError: a tool has no name, function or schema, or two tools share a name.
            Unsupported: Claude Code would leave a tool out because of its input schema.
            UnsupportedDepsTypeError: `deps` cannot be serialised as JSON.
            Unsupported: a toolset knows its tools only in a run, or an argument is not a tool.
        """
        self._tools.register(toolsets, deps=deps, server_name=server_name)

    @property
    def mcp_servers(self) -> dict[str, McpSdkServerConfig]:
        """The server of the registered toolsets, by its name; empty before `set_agent_toolsets()`."""
        return self._tools.servers

    def _process_function_tools(
        self, function_tools: Sequence[ToolDefinition | str], *, deps: object = None, guard: Guard | None = None
    ) -> McpSdkServerConfig | None:
        """A server with just these of the registered tools; `None` for no tools.

        Args:
            function_tools: the tools.
            deps: their `ctx.deps`, instead of the registered ones.
            guard: counts their calls.

        Raises:
            ToolsetNotRegisteredError: `set_agent_toolsets()` was never called.
            ToolNotFoundError: no registered toolset has one of them.
        """
        return self._tools.server_with(function_tools, deps=deps, guard=guard)

    # Requests

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The model's whole answer.

        Raises:
            ClaudeCodeError: the request failed; each reason has a class of its own.
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
        """Context manager that an agent enters for a run: sessions that wait between requests end with it."""
        return run_scope(self)

    async def __aenter__(self) -> Self:
        """Start a CLI for the next run, if an earlier run has set its options; `__aexit__` ends it."""
        self._entered += 1
        if self._entered == 1 and self._prepare_again is not None:
            self._prepare_again()
        return await super().__aenter__()

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        """End the CLIs that were started in advance."""
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
        run = run or get_current_run_context()
        messages = await with_downloads(messages, {} if scope is None else scope.downloads)
        request = self._tools.request(
            messages,
            parameters,
            settings,
            run=run,
            tally=Tally() if scope is None else scope.tally,
            server_runs_tools=self.tool_execution == "mcp",
        )
        session = None if scope is None else scope.session_for(request.conversation, request.identity)
        (request if session is None else session).guard.begin(run, settings.max_turns)
        if scope is not None and session is None:
            await scope.end_answered(request.conversation)
        if session is not None:
            await session.continue_with(request.conversation)
        response = ClaudeCodeStreamedResponse(
            model_request_parameters=parameters,
            session=session or await launch(self._launch, request, scope, deadline, self._warm),
            _relaunch=partial(launch, self._launch, request, scope, deadline),
            _deadline=deadline,
            _requested_model=self._model_name,
            _native_output=parameters.output_mode == "native",
        )
        try:
            yield response
        finally:
            await self._leave(response, request, scope, deadline)

    async def _leave(
        self, response: ClaudeCodeStreamedResponse, request: ClaudeRequest, scope: RunScope | None, deadline: Deadline
    ) -> None:
        """Keep the session for the next request if there can be one, and end it otherwise."""
        session = response.session
        if scope is None or scope.ended or not response.complete or session.parked.abandoned:
            await session.close()
        if scope is not None and session.is_waiting:
            called = [call.tool_name for call in response.get().tool_calls]
            running = [name for name in called if request.parameters.tool_defs[name].kind == "function"]
            late = deadline.passed(f"pydantic-ai to run {', '.join(map(repr, running))}", self._model_name)
            scope.wait_until(deadline, late if running else None)
        if self._warm.count and request.is_new and response.complete:
            self._prepare_again = again = partial(prepare, self._launch, request, self._warm)
            if scope is None:
                again()
            else:
                scope.on_success(again)
