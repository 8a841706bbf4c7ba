"""How a session starts: options, environment and transcript of a Claude Code CLI, and CLIs started in advance."""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import os
import shutil
import tempfile
import weakref
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import claude_agent_sdk
from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookMatcher,
    InMemorySessionStore,
    McpSdkServerConfig,
    McpServerConfig,
    SettingSource,
    project_key_for_directory,
)
from claude_agent_sdk.types import HookEvent, SystemPromptFile
from mcp.server import Server
from pydantic_ai.output import OutputObjectDefinition

from ..common.unicode import well_formed
from ..convert.claude import hooks_for_unknown, shown_name
from ..convert.wire import root_schema
from ..errors import ClaudeCodeTimeoutError
from .history import Block, Downloads, WireConversation, WireMessage, results_fit_mcp, transcript
from .limits import Guard, Tally
from .request import ClaudeRequest
from .restrictions import Restrictions
from .session import Deadline, Session
from .settings import environment, thinking

# A session may outlive a request only if something is sure to end it. pydantic-ai holds a scope of the model around
# each run and leaves it however the run ends; outside of one, no session is kept.


class RunScope:
    """The sessions of one run."""

    def __init__(self, limit: asyncio.Timeout) -> None:
        self.tally = Tally()
        self.downloads: Downloads = {}
        self.sessions: list[Session] = []
        """The sessions that end with the run."""
        self.ended = False
        """Whether the run is over."""
        self._on_success: Callable[[], None] = lambda: None
        self._limit = limit
        self.timeout_error: ClaudeCodeTimeoutError | None = None
        """The error of a run that is ended at a deadline of `wait_until`."""
        self._alarm: asyncio.TimerHandle | None = None

    def on_success(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the run has ended without an error, in place of the one given before."""
        self._on_success = callback

    def session_for(self, conversation: WireConversation, identity: object) -> Session | None:
        """The live session that can take the last turn of `conversation`, if any."""
        if not results_fit_mcp(conversation.last):
            return None
        return next((session for session in self.sessions if session.can_continue(conversation, identity)), None)

    async def end_answered(self, conversation: WireConversation) -> None:
        """End the sessions whose calls the last turn of `conversation` answers: a new one takes their place."""
        answered = [session for session in self.sessions if session.is_answered_by(conversation)]
        self.sessions = [session for session in self.sessions if session not in answered]
        await asyncio.gather(*(session.close() for session in answered))

    def wait_until(self, deadline: Deadline, timeout_error: ClaudeCodeTimeoutError | None) -> None:
        """End the sessions at `deadline` unless a request comes before, and the run too if there is an error for it.

        The tools that a run calls belong to the request that asked for them. If the run waits for something else, such
        as an approval, it may go on later, with a new session.
        """
        if deadline.at is None or self.ended or self._limit.expired():
            return
        # Beside the limit: a run that waits for a thread is cancelled only when the thread is done.
        self._alarm = asyncio.get_running_loop().call_at(deadline.at, self._stop_sessions)
        self.timeout_error = timeout_error
        if timeout_error is not None:
            self._limit.reschedule(deadline.at)

    def begin_request(self) -> None:
        """Cancel the deadline of the request before."""
        if not self._limit.expired():
            self._limit.reschedule(None)
        if self._alarm is not None:
            self._alarm.cancel()

    def succeeded(self) -> None:
        """Run the callback of `on_success`."""
        self._on_success()

    def _stop_sessions(self) -> None:
        for session in self.sessions:
            session.stop()

    async def end(self) -> None:
        """End every session, all at once."""
        self.begin_request()
        self.ended = True
        sessions, self.sessions = self.sessions, []
        await asyncio.gather(*(session.close() for session in sessions))


# Weak references: each context that a run leaves behind keeps the value, and with it every session of that run.
_scopes: ContextVar[Mapping[int, weakref.ref[RunScope]]] = ContextVar("hikidashi_claude_code_runs")


def current_scope(model: object) -> RunScope | None:
    """The scope of `model` that the running agent holds, if any."""
    known = _scopes.get({}).get(id(model))
    scope = None if known is None else known()
    return None if scope is None or scope.ended else scope


@asynccontextmanager
async def run_scope(model: object) -> AsyncGenerator[None]:
    """A scope for the sessions that `model` opens inside.

    Raises:
        ClaudeCodeTimeoutError: a tool that pydantic-ai runs missed the deadline of the request that called it.
    """
    limit = asyncio.timeout(None)
    scope = RunScope(limit)
    _scopes.set({**{key: known for key, known in _scopes.get({}).items() if known()}, id(model): weakref.ref(scope)})
    try:
        async with limit:
            try:
                yield
            finally:
                # Not reset: the run may end in another context than it began in. An ended scope is as good as none.
                await scope.end()
    except TimeoutError as error:
        if scope.timeout_error is None or not limit.expired():
            raise
        raise scope.timeout_error from error
    scope.succeeded()


_MAX_AGE = 300.0
"""Seconds a CLI waits to be used; it takes about 200 MB meanwhile."""


@dataclass(frozen=True, eq=False)
class _Waiting:
    key: object
    session: Session
    servers: Mapping[str, McpSdkServerConfig]
    loop: asyncio.AbstractEventLoop
    end_of_life: asyncio.TimerHandle


class WarmSessions:
    """Up to `count` CLIs per event loop that wait for a request."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._all: list[_Waiting] = []
        _pools.add(self)

    def want(self, key: object) -> bool:
        """Whether there are too few CLIs with this `key`."""
        self._drop_ended()
        return sum(waiting.key == _complete(key) for waiting in self._of_this_loop()) < self.count

    def add(self, key: object, session: Session, servers: Mapping[str, McpSdkServerConfig]) -> None:
        """Start the CLI of `session` for the next request with this `key`, and end the oldest if there are too many.

        Calls of its `servers`, which are of this process, are redirected to those of the request.
        """
        mine, loop = self._of_this_loop(), asyncio.get_running_loop()
        for oldest in mine[: max(0, len(mine) - self.count + 1)]:
            self._remove(oldest)
            oldest.session.stop()
        session.start_in_background()
        end_of_life = loop.call_later(_MAX_AGE, session.stop)
        self._all.append(_Waiting(_complete(key), session, servers, loop, end_of_life))

    def take(self, key: object, servers: Mapping[str, McpSdkServerConfig]) -> Session | None:
        """A CLI with this `key` that waits on this event loop, its calls redirected to `servers`; None without one."""
        self._drop_ended()
        complete = _complete(key)
        for waiting in self._of_this_loop():
            if waiting.key == complete and self._remove(waiting):
                for name, config in servers.items():
                    _lead_calls(waiting.servers[name], config)
                return waiting.session
        return None

    async def ready(self) -> int:
        """How many CLIs wait on this event loop, once all are ready."""
        mine = [waiting.session for waiting in self._of_this_loop()]
        await asyncio.gather(*(session.started() for session in mine))
        return sum(session.alive for session in mine)

    async def close(self) -> None:
        """End the CLIs that wait, and wait until those of this event loop are gone."""
        loop = asyncio.get_running_loop()
        gone = [waiting for waiting in list(self._all) if self._remove(waiting)]
        for waiting in gone:
            if waiting.loop is not loop and not waiting.loop.is_closed():
                waiting.loop.call_soon_threadsafe(waiting.session.stop)
        await asyncio.gather(*(waiting.session.close() for waiting in gone if waiting.loop is loop))

    def close_at_exit(self) -> None:
        """End the CLIs of event loops that neither run nor are closed."""
        for loop in {waiting.loop for waiting in self._all}:
            if not loop.is_closed() and not loop.is_running():
                loop.run_until_complete(self.close())

    def _of_this_loop(self) -> list[_Waiting]:
        loop = asyncio.get_running_loop()
        return [waiting for waiting in self._all if waiting.loop is loop]

    def _drop_ended(self) -> None:
        for waiting in list(self._all):
            if not waiting.session.alive:
                self._remove(waiting)

    def _remove(self, waiting: _Waiting) -> bool:
        """Remove it; False if another thread was first."""
        try:
            self._all.remove(waiting)
        except ValueError:
            return False
        if not waiting.loop.is_closed():
            waiting.end_of_life.cancel()
        return True


def _complete(key: object) -> object:
    """`key` with the environment and folder that a process inherits."""
    return key, dict(os.environ), Path.cwd()


def _with_same_tools(config: McpSdkServerConfig) -> McpSdkServerConfig:
    """A server that lists the same tools, and whose calls can be redirected."""
    server: Server[Any] = Server(config["name"])
    for method in ("tools/list", "tools/call"):
        entry = _handler(config, method)
        server.add_request_handler(method, entry.params_type, entry.handler)
    return McpSdkServerConfig(type="sdk", name=config["name"], instance=server)


def _lead_calls(waiting: McpSdkServerConfig, config: McpSdkServerConfig) -> None:
    """Redirect calls of `waiting` to the server of `config`, in the context of the caller."""
    entry, context = _handler(config, "tools/call"), contextvars.copy_context()

    async def called(*arguments: Any) -> Any:
        async def run() -> Any:
            return await entry.handler(*arguments)

        return await asyncio.create_task(run(), context=context.copy())

    waiting["instance"].add_request_handler("tools/call", entry.params_type, called)


def _handler(config: McpSdkServerConfig, method: str) -> Any:
    entry = config["instance"].get_request_handler(method)
    assert entry is not None, f"every MCP server of this package answers {method}"
    return entry


_pools: weakref.WeakSet[WarmSessions] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for pool in list(_pools):
        pool.close_at_exit()


# An argument of a process holds 128 KiB on Linux; a longer system prompt goes through a file.
_LONGEST_ARGUMENT = 100_000

# Claude Code repeats each tool result to the SDK, images too, and the SDK's default limit is 1 MiB.
_LONGEST_MESSAGE = 1 << 30

_TEMPORARY = "CLAUDE_CODE_TMPDIR"
"""The environment variable for the folder of Claude Code's temporary files."""

_BUNDLED_CLI = Path(claude_agent_sdk.__file__).with_name("_bundled") / "claude"
_TIED_CLI = Path(__file__).with_name("tied_cli.sh")
_TIED_CLI_NEEDS = ("setpriv", "setsid")

_ENVIRONMENT = {
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",  # else each turn carries reminders about tokens and dates
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "ENABLE_TOOL_SEARCH": "false",  # the agent decides which tools the model sees
    "MCP_TOOL_TIMEOUT": str(7 * 24 * 3600 * 1000),  # timeouts of tools are the agent's
}

_SUB_AGENTS = {"Agent", "Task"}
_WITH_SUB_AGENTS = {
    # By default Claude Code runs them in the background. A request ends with its answer, and the later result of a
    # sub-agent would be lost.
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
}


@dataclass(frozen=True)
class Launch:
    """Options that all sessions of a model share."""

    model_name: str
    allowed_tools: tuple[str, ...]
    mcp_servers: Mapping[str, McpServerConfig]
    setting_sources: tuple[SettingSource, ...]
    persist_sessions: bool
    env: Mapping[str, str]
    cli_path: str | Path | None
    customize: Callable[[ClaudeAgentOptions], ClaudeAgentOptions] | None
    restrictions: Restrictions


async def launch(
    start: Launch, request: ClaudeRequest, scope: RunScope | None, deadline: Deadline, warm: WarmSessions | None = None
) -> Session:
    """A session with the conversation whose last turn was sent: a new one, or one of `warm`.

    Raises:
        ClaudeCodeError: the CLI is missing, did not start, or not in time.
    """
    session = None
    if warm is not None and request.is_new:
        session = warm.take(request.warm_key, request.servers)
    prompt: list[Block] | None = request.conversation.last
    if session is None:
        session, prompt = await _created(start, request)
    else:
        session.serve(request)
    if scope is not None:
        scope.sessions.append(session)
    try:
        await session.start(deadline)
        await session.begin(request.conversation.messages, prompt)
    except BaseException:
        await session.close()
        raise
    return session


def prepare(start: Launch, request: ClaudeRequest, warm: WarmSessions) -> None:
    """Start a CLI in the background for a request that begins a conversation as this one did."""
    if not warm.want(request.warm_key):
        return
    servers = {name: _with_same_tools(config) for name, config in request.servers.items()}
    waiting = replace(request, servers=servers, guard=Guard(Tally()))
    with ExitStack() as resources:
        session = _session(start, waiting, _options(start, waiting, resources, request.max_turns), resources)
    warm.add(request.warm_key, session, servers)


async def _created(start: Launch, request: ClaudeRequest) -> tuple[Session, list[Block] | None]:
    """A session for `request`, not started yet, and the prompt to send to it."""
    with ExitStack() as resources:
        options = _options(start, request, resources, request.max_turns)
        conversation = request.conversation
        prompt: list[Block] | None = conversation.last
        if request.settings.resume is not None:
            options.resume = request.settings.resume
        elif any(block["type"] == "tool_result" for block in conversation.last):
            # Results are not a prompt: Claude Code resumes the turn that was interrupted before them.
            options.env["CLAUDE_CODE_RESUME_INTERRUPTED_TURN"] = "1"
            # If that turn ends with a prompt, it is asked again as it is. If it ends with results, Claude Code adds
            # "Continue from where you left off.". It looks at the first block alone, and drops an empty one.
            asked: WireMessage = {"role": "user", "content": [{"type": "text", "text": ""}, *conversation.last]}
            await _resume_from(options, [*conversation.messages[:-1], asked])
            prompt = None
        elif len(conversation.messages) > 1:
            await _resume_from(options, conversation.messages[:-1])
        return _session(start, request, options, resources), prompt


def _session(start: Launch, request: ClaudeRequest, options: ClaudeAgentOptions, resources: ExitStack) -> Session:
    """A session with `options`, which owns `resources` from here on."""
    if start.customize is not None:
        options = start.customize(options)
    return Session(options, request, resources=resources.pop_all())


def _options(start: Launch, request: ClaudeRequest, resources: ExitStack, max_turns: int | None) -> ClaudeAgentOptions:
    settings, parameters, servers = request.settings, request.parameters, request.servers
    folder = _private_folder(start, resources)
    fixed = _ENVIRONMENT | (_WITH_SUB_AGENTS if _SUB_AGENTS & set(_built_in(start)) else {})
    defaults = {name: value for name, value in fixed.items() if name not in os.environ}
    if parameters.thinking is False:  # for the newest models the option alone does not stop it
        defaults["CLAUDE_CODE_DISABLE_THINKING"] = "1"
    cli_path, tie = _tied(start.cli_path)
    keep = start.persist_sessions or settings.resume is not None
    output = parameters.output_object if parameters.output_mode == "native" else None
    return ClaudeAgentOptions(
        model=start.model_name,
        system_prompt=_system_prompt(request.conversation.system, folder),
        tools=_built_in(start),
        # Naming the server allows each of its tools: a list of 10,000 names would not fit an argument.
        allowed_tools=[*start.allowed_tools, *(f"mcp__{shown_name(name)}" for name in servers)],
        disallowed_tools=list(start.restrictions.disallowed),
        mcp_servers={**start.mcp_servers, **servers},
        strict_mcp_config=True,
        permission_mode=settings.permission_mode,
        setting_sources=list(start.setting_sources),
        max_turns=max_turns,
        max_budget_usd=settings.max_budget_usd,
        cwd=settings.working_directory,
        cli_path=cli_path,
        env={**defaults, **environment(settings), **start.env, **tie, _TEMPORARY: str(folder)},
        extra_args={} if keep else {"no-session-persistence": None},
        include_partial_messages=True,
        max_buffer_size=_LONGEST_MESSAGE,
        verbatim_prompts=True,
        hooks={**_hooks(request), **start.restrictions.hooks({**os.environ, **start.env})} or None,
        output_format=None if output is None else {"type": "json_schema", "schema": _output_schema(output)},
        **thinking(parameters.thinking),
    )


def _output_schema(output: OutputObjectDefinition) -> dict[str, Any]:
    # Claude Code offers a tool whose input is the output: the same rules hold for it.
    return root_schema(output.json_schema, tool_name=output.name or "output", target="Claude Code")


def _hooks(request: ClaudeRequest) -> dict[HookEvent, list[HookMatcher]]:
    """Hooks that advise a model to search when it calls a tool that is not listed; the CLI only says it is unknown."""
    defined = request.parameters.tool_defs.values()
    search = next((tool.name for tool in defined if tool.tool_kind == "tool-search"), None)
    if search is None:
        return {}

    def advice(names: list[str]) -> str:
        missing = ", ".join(map(repr, names))
        return f"Not in your list of tools: {missing}. Search with {request.wire_name(search)} first."

    return hooks_for_unknown(advice)


def _tied(cli_path: str | Path | None) -> tuple[str | Path | None, dict[str, str]]:
    """The CLI, wrapped on Linux so that it ends with this process, and the environment for that."""
    cli = shutil.which(cli_path or _BUNDLED_CLI) or shutil.which("claude")
    if cli is None or not os.access(_TIED_CLI, os.X_OK) or not all(map(shutil.which, _TIED_CLI_NEEDS)):
        return cli_path, {}  # the SDK refuses a path that does not exist
    return _TIED_CLI, {"HIKIDASHI_CLAUDE_CLI": cli}


def _built_in(start: Launch) -> list[str]:
    """The tools of Claude Code itself that it may use."""
    return [tool.partition("(")[0] for tool in start.allowed_tools if not tool.startswith("mcp__")]


def _private_folder(start: Launch, resources: ExitStack) -> Path:
    """A folder for the temporary files of one CLI, which leaves some behind; removed when the CLI has ended."""
    parent = start.env.get(_TEMPORARY) or os.environ.get(_TEMPORARY)
    folder = tempfile.mkdtemp(prefix="hikidashi-", dir=parent)
    resources.callback(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _system_prompt(system: str, folder: Path) -> str | SystemPromptFile:
    system = well_formed(system)
    if len(system.encode()) < _LONGEST_ARGUMENT and "\0" not in system:  # no argument holds a NUL
        return system
    file = folder / "system-prompt.txt"
    file.write_text(system, encoding="utf-8")
    return {"type": "file", "path": str(file)}


async def _resume_from(options: ClaudeAgentOptions, past: Sequence[WireMessage]) -> None:
    """Start the CLI with the conversation so far, from a transcript in memory."""
    session_id = str(uuid4())
    entries: Any = transcript(past, session_id=session_id, cwd=str(options.cwd or ""), model=options.model or "")
    store = InMemorySessionStore()
    key = project_key_for_directory(options.cwd)
    await store.append({"project_key": key, "session_id": session_id}, entries)
    options.session_store = store
    options.resume = session_id
