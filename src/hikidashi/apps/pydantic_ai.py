"""pydantic-ai: ready agents that search the web, and a responder on any of its models, including Claude Code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from ..errors import ConfigError, MissingExtra, Unsupported
from ..providers import CHAT_MODELS, load
from ..texts import Language
from ..web.answers import ANSWER_TOKENS, Untrusted
from ..web.providers.choose import configured_provider
from ..web.pydantic_ai import TavilySearchDeps, TavilyToolsRepositoryMixin
from ..web.tools import SPEC_DEFAULTS, SearchDefaults
from .failures import Audience
from .responder import SEARCH_PROMPT, BaseResponder, EventQueue, Message, default_prompt

try:
    from pydantic_ai import Agent, AgentRunResult, UsageLimits
    from pydantic_ai.agent import AgentRun
    from pydantic_ai.messages import (
        FunctionToolCallEvent,
        FunctionToolResultEvent,
        ModelMessage,
        ModelRequest,
        ModelResponse,
        PartDeltaEvent,
        PartStartEvent,
        TextPart,
        TextPartDelta,
        UserPromptPart,
    )
    from pydantic_ai.models import Model, infer_model
    from pydantic_ai.providers import Provider, infer_provider_class
    from pydantic_ai.result import StreamedRunResult
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.toolsets import FunctionToolset
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

if TYPE_CHECKING:
    from ..claude.model import ClaudeCodeModel
    from ..config import AgentConfig, Config, WebSearchConfig


class TavilySearchAgent(TavilyToolsRepositoryMixin):
    """An agent with the three web tools, on any pydantic-ai model.

    ```python
    async with TavilySearchAgent("anthropic:claude-sonnet-5") as agent:
        print((await agent.run("今年のノーベル物理学賞は誰が受賞しましたか？")).output)
    ```

    Text from the web reaches the model fenced, as data. `agent.agent` is the pydantic-ai `Agent` itself: add tools of
    your own with `@agent.agent.tool`.
    """

    def __init__(
        self,
        model: Model | str,
        *,
        deps: TavilySearchDeps | None = None,
        language: Language | None = None,
        untrusted: Untrusted = "fence",
        system_prompt: str | None = None,
        search_defaults: SearchDefaults = SPEC_DEFAULTS,
        max_tool_tokens: int | None = ANSWER_TOKENS,
        model_settings: ModelSettings | None = None,
    ) -> None:
        """Build the agent; nothing is sent before the first run.

        Args:
            model: a pydantic-ai model, or its name, such as `"openai:gpt-5"`.
            deps: the search provider; by default Tavily if `TAVILY_API_KEY` is set, else the local index.
            language: of prompt, tools and answers; by default that of `deps`, which is Japanese unless given.
            untrusted: whether text from the web is fenced; overrides `deps`.
            system_prompt: replaces `SEARCH_PROMPT`.
            search_defaults: the arguments of `tavily_search` that the model leaves out.
            max_tool_tokens: about how many tokens an answer of a tool has at most, unless `deps` says; its end says how
                the model gets the rest. `None` is unlimited.
            model_settings: for every request, such as `max_tokens`.
        """
        self.closes_client = deps is None
        """Whether `aclose()` closes the client: true if the agent made it."""
        deps = TavilySearchDeps(language=language or "ja") if deps is None else deps
        self.deps = replace(deps, language=language or deps.language, untrusted=untrusted)
        """The dependencies of every run."""
        self.tavily_language = self.deps.language
        self.tavily_defaults = search_defaults
        self.tavily_max_tokens = max_tool_tokens
        self.agent: Agent[TavilySearchDeps, str] = Agent(
            model,
            deps_type=TavilySearchDeps,
            instructions=SEARCH_PROMPT[self.deps.language] if system_prompt is None else system_prompt,
            model_settings=model_settings,
        )
        self.register_tavily_tools(self.agent)

    @classmethod
    def from_config(cls, path: str | PathLike[str]) -> Self:
        """The agent of a YAML or TOML config file: its model from `agent`, its provider from `tools.web_search`.

        Raises:
            ConfigError: the file cannot be used, or its web search is off.
        """
        config, web = _config_for_search(path)
        agent = cls(
            cls._model_of(config.agent),
            deps=TavilySearchDeps(client=configured_provider(web, language=config.agent.language)),
            language=config.agent.language,
            untrusted="fence" if config.agent.untrusted == "fence" else None,
            system_prompt=config.agent.system_prompt,
            search_defaults=SearchDefaults(search_depth=web.search_depth, max_results=web.max_results),
            model_settings={"max_tokens": config.agent.max_tokens},
        )
        agent.closes_client = True
        return agent

    @staticmethod
    def _model_of(agent: AgentConfig) -> Any:
        def provider(name: str) -> Provider[Any]:
            given = {"api_key": agent.api_key, "base_url": agent.base_url, "region_name": agent.region}
            kind: Any = infer_provider_class(name)
            return kind(**{key: value for key, value in given.items() if value})

        return infer_model(f"{agent.provider}:{agent.model or agent.info.default_model}", provider)

    async def run(self, question: str, **options: Any) -> AgentRunResult[str]:
        """The answer, in `.output`; `options` are those of `Agent.run`, such as `message_history`."""
        return await self.agent.run(question, deps=self.deps, **options)

    def run_sync(self, question: str, **options: Any) -> AgentRunResult[str]:
        """The answer, for callers without an event loop."""
        return self.agent.run_sync(question, deps=self.deps, **options)

    def run_stream(
        self, question: str, **options: Any
    ) -> AbstractAsyncContextManager[StreamedRunResult[TavilySearchDeps, str]]:
        """The answer as it is written: `async with agent.run_stream(...) as answer: answer.stream_text()`."""
        return self.agent.run_stream(question, deps=self.deps, **options)

    def iter(self, question: str, **options: Any) -> AbstractAsyncContextManager[AgentRun[TavilySearchDeps, str]]:
        """The run step by step, with every tool call."""
        return self.agent.iter(question, deps=self.deps, **options)

    async def aclose(self) -> None:
        """Close the client, if the agent made it."""
        if self.closes_client:
            await self.deps.client.aclose()

    async def __aenter__(self) -> Self:
        await self.agent.__aenter__()  # closes the connections of the model at the end
        return self

    async def __aexit__(self, *raised: Any) -> None:
        try:
            await self.agent.__aexit__(*raised)
        finally:
            await self.aclose()


class ClaudeCodeTavilySearchAgent(TavilySearchAgent):
    """The same agent on Claude Code, which needs no API key if a subscription is logged in.

    Claude Code sees the tools as `mcp__pydantic_tools__tavily_search`, `…tavily_extract` and `…tavily_context`.
    """

    def __init__(
        self,
        model: ClaudeCodeModel | str = "sonnet",
        *,
        deps: TavilySearchDeps | None = None,
        language: Language | None = None,
        untrusted: Untrusted = "fence",
        system_prompt: str | None = None,
        search_defaults: SearchDefaults = SPEC_DEFAULTS,
        max_tool_tokens: int | None = ANSWER_TOKENS,
        model_settings: ModelSettings | None = None,
    ) -> None:
        """Build the agent; the CLI starts with the first run.

        Args:
            model: a `ClaudeCodeModel(tool_execution="agent")`, or the name of a Claude model.
            deps: as for `TavilySearchAgent`.
            language: of prompt, tools and answers.
            untrusted: whether text from the web is fenced.
            system_prompt: replaces `SEARCH_PROMPT`.
            search_defaults: the arguments of `tavily_search` that the model leaves out.
            max_tool_tokens: about how many tokens an answer of a tool has at most.
            model_settings: for every request; see `ClaudeCodeModelSettings`.

        Raises:
            Unsupported: `model` runs tools in an MCP server, which would need the client as JSON.
        """
        from ..claude.model import ClaudeCodeModel

        if isinstance(model, str):
            model = ClaudeCodeModel(model, tool_execution="agent")
        if model.tool_execution != "agent":
            raise Unsupported(
                "a search client among the dependencies",
                f"`ClaudeCodeModel(tool_execution={model.tool_execution!r})`",
                'Use `ClaudeCodeModel(tool_execution="agent")`.',
            )
        super().__init__(
            model,
            deps=deps,
            language=language,
            untrusted=untrusted,
            system_prompt=system_prompt,
            search_defaults=search_defaults,
            max_tool_tokens=max_tool_tokens,
            model_settings=model_settings,
        )

    @staticmethod
    def _model_of(agent: AgentConfig) -> Any:
        row = CHAT_MODELS["claude-code"]
        return load(row.make)(agent, agent.model or row.default_model)


def _config_for_search(path: str | PathLike[str]) -> tuple[Config, WebSearchConfig]:
    from ..config import load_config

    config = load_config(path)
    web = config.tools.web_search
    if web is None or not web.enabled:
        raise ConfigError(
            str(config.path or path),
            "is off. An agent that searches needs it: set it to true.",
            "tools.web_search.enabled",
        )
    return config, web


class PydanticAIResponder(BaseResponder):
    """Answers conversations with a pydantic-ai Agent.

    ```python
    model = ClaudeCodeModel("sonnet", tool_execution="agent")
    responder = PydanticAIResponder(model, toolsets=[web_toolset()])
    print(await responder.respond([Message(role="user", text="今日のニュースは？")]))
    ```
    """

    def __init__(
        self,
        model: Model | str,
        *,
        toolsets: Sequence[FunctionToolset[Any]] = (),
        system_prompt: str | None = None,
        language: Language = "ja",
        model_settings: ModelSettings | None = None,
        max_turns: int = 20,
        secrets: Sequence[str | None] = (),
        on_close: Callable[[], Awaitable[object]] | None = None,
        audience: Audience = "user",
    ) -> None:
        """Build the agent; nothing starts before the first answer.

        Args:
            model: a pydantic-ai model, or its name.
            toolsets: the tools the model may call.
            system_prompt: replaces the default prompt.
            language: of failure messages.
            model_settings: for every request.
            max_turns: the most requests to the model for one answer.
            secrets: texts that must not appear in the log.
            on_close: called by `aclose()`, such as the `aclose` of a search provider.
            audience: who reads failure messages, the user or the operator.
        """
        super().__init__(language=language, secrets=secrets, audience=audience)
        self._names = [name for toolset in toolsets for name in toolset.tools]
        self._limits = UsageLimits(request_limit=max_turns)
        self._on_close = on_close
        self._agent: Agent[None, str] = Agent(
            model,
            toolsets=toolsets,
            instructions=system_prompt or self._default_prompt,
            model_settings=model_settings,
        )

    def _default_prompt(self) -> str:
        return default_prompt(self.language, self._names)

    @property
    def tool_names(self) -> list[str]:
        """The names of the tools the model may call."""
        return list(self._names)

    async def _answer(self, turns: list[Message], events: EventQueue) -> None:
        """Run the agent on `turns`."""
        *history, last = turns
        names: dict[str, str] = {}
        async with self._agent.run_stream_events(
            last.text, message_history=[_model_message(turn) for turn in history], usage_limits=self._limits
        ) as stream:
            async for event in stream:
                match event:
                    case PartStartEvent(part=TextPart(content=text)):
                        events.text(text)
                    case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                        events.text(text)
                    case FunctionToolCallEvent(part=part):
                        names[part.tool_call_id] = part.tool_name
                        events.called(part.tool_call_id, part.tool_name, part.args_as_dict())
                    case FunctionToolResultEvent(part=part):
                        name = names.get(part.tool_call_id, part.tool_name or "")
                        ok = getattr(part, "outcome", "success") == "success" and part.part_kind == "tool-return"
                        events.returned(part.tool_call_id, name, _returned_text(part), ok=ok)
                    case _:
                        pass

    async def aclose(self) -> None:
        """Call `on_close`; may be called twice."""
        if self._on_close is not None:
            await self._on_close()


def _model_message(turn: Message) -> ModelMessage:
    if turn.role == "user":
        return ModelRequest(parts=[UserPromptPart(content=turn.text)])
    return ModelResponse(parts=[TextPart(content=turn.text)])


def _returned_text(part: Any) -> str:
    return part.model_response_str(wrap_if_error=False) if part.part_kind == "tool-return" else part.model_response()


def claude_code_model(config: AgentConfig, model: str) -> ClaudeCodeModel:
    """The model `model` on Claude Code, with the key and address of `config` in its environment.

    Raises:
        MissingExtra: Claude Code or pydantic-ai is not installed.
    """
    from ..claude.model import ClaudeCodeModel

    given = {"ANTHROPIC_API_KEY": config.api_key, "ANTHROPIC_BASE_URL": config.base_url}
    env = {name: value for name, value in given.items() if value}
    return ClaudeCodeModel(model, tool_execution="agent", env=env)
