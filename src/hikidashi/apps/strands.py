"""strands: a responder with a new Agent for each answer, and the models that a config can name."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from inspect import isawaitable
from typing import Any, Protocol

from ..common.json import is_object
from ..common.per_loop import PerLoop
from ..config import AgentConfig
from ..errors import ConfigError, HikidashiError, MissingExtra, ToolValidationError
from ..providers import load
from ..texts import Language
from .failures import Audience, UnansweredError, cause_of
from .responder import BaseResponder, EventQueue, Message, default_prompt

try:
    from strands import Agent, ModelRetryStrategy
    from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent, HookProvider, HookRegistry
    from strands.models import Model
except ImportError as error:
    raise MissingExtra("strands-agents", "strands") from error

logger = logging.getLogger("hikidashi.agents")


class ToolsFactory(Protocol):
    """Tools and their invocation state, such as `WebSearchToolsFactory`.

    If it has an `aclose()`, the responder calls it.
    """

    @property
    def tools(self) -> Sequence[Any]:
        """Tools for `strands.Agent(tools=...)`."""
        ...

    def get_invocation_state(self) -> dict[str, Any]:
        """The state that the tools read from `tool_context.invocation_state`."""
        ...


class StrandsResponder(BaseResponder):
    """Answers conversations with a strands Agent.

    ```python
    responder = StrandsResponder(config.agent, factories=[WebSearchToolsFactory(config.tools.web_search)])
    print(await responder.respond([Message(role="user", text="今日のニュースは？")]))
    ```

    Any number of conversations may be answered concurrently. Each answer has a new Agent; those in one event loop
    share the client of the model.
    """

    def __init__(
        self,
        config: AgentConfig | None = None,
        *,
        model: Model | None = None,
        factories: Sequence[ToolsFactory] = (),
        tools: Sequence[Any] = (),
        hooks: Sequence[HookProvider] = (),
        system_prompt: str | None = None,
        language: Language | None = None,
        max_turns: int = 20,
        max_attempts: int = 3,
        source: str = "config",
        audience: Audience = "user",
        secrets: Sequence[str | None] = (),
    ) -> None:
        """Build the model; nothing is sent before the first answer.

        Args:
            config: the model, and the language of failure messages.
            model: a strands model, instead of that of `config`; the caller closes it.
            factories: tools with their invocation state, such as the web tools.
            tools: further tools, of any kind that strands takes.
            hooks: strands hooks, such as `hikidashi.search.to_strands_search(...)`.
            system_prompt: overrides `config`.
            language: of failure messages; overrides `config`.
            max_turns: the most requests to the model for one answer.
            max_attempts: the most attempts for a request to a busy model.
            source: the file that errors about `config` name.
            audience: who reads failure messages, the user or the operator.
            secrets: further keys that must not appear in the log or in a failure.

        Raises:
            ToolValidationError: two tools, or two states, have the same name.
            ConfigError: the model of the config lacks a key or a package.
            MissingExtra: the model of the config lacks an extra of hikidashi.
        """
        config = config or AgentConfig()
        super().__init__(language=language or config.language, secrets=(config.api_key, *secrets), audience=audience)
        self._factories = tuple(factories)
        self._tools = [*(tool for factory in factories for tool in factory.tools), *tools]
        self._hooks = tuple(hooks)
        self._max_turns = max_turns
        self._max_attempts = max_attempts
        self._merged_state()
        first = model or strands_model(config, source=source)
        spare = [] if model else [first]
        self._own_model = model
        self._models = PerLoop(lambda: spare.pop() if spare else strands_model(config, source=source), _close_client)
        self._names = Agent(model=first, tools=self._tools, hooks=[*hooks], callback_handler=None).tool_names
        self._system_prompt = system_prompt or config.system_prompt

    @property
    def tool_names(self) -> list[str]:
        """The names of the tools the model may call from the start."""
        return list(self._names)

    async def _answer(self, turns: list[Message], events: EventQueue) -> None:
        """Run a new Agent on `turns`."""
        messages: list[Any] = [{"role": turn.role, "content": [{"text": turn.text}]} for turn in turns]
        *history, last = messages
        agent = Agent(
            model=self._own_model or await self._models.get(),
            messages=history,
            tools=self._tools,
            system_prompt=self._system_prompt or default_prompt(self.language, self._names),
            callback_handler=None,
            hooks=[*self._hooks, _ToolEvents(events, self._secrets)],
            retry_strategy=ModelRetryStrategy(max_attempts=self._max_attempts, initial_delay=1, max_delay=8),
        )
        stream: Any = agent.stream_async(
            last["content"],
            invocation_state=self._merged_state(),
            limits={"turns": self._max_turns},
        )
        ended = ""
        try:
            async with aclosing(stream):
                async for event in stream:
                    if "data" in event:
                        events.text(event["data"])
                    elif "result" in event:
                        ended = event["result"].stop_reason
        finally:
            agent.cancel()  # tools that still run in threads can be stopped only here
        if ended.startswith("limit_"):
            raise UnansweredError("turns", f"the model was called {self._max_turns} times, and still called tools")

    async def aclose(self) -> None:
        """Close the connections of the model and of the factories; may be called twice."""
        await self._models.aclose()
        for factory in self._factories:
            closing: Any = getattr(factory, "aclose", lambda: None)()
            if isawaitable(closing):
                await closing

    def _merged_state(self) -> dict[str, Any]:
        """A new state for each run, since strands writes into it."""
        merged: dict[str, Any] = {}
        for factory in self._factories:
            for key, value in factory.get_invocation_state().items():
                if key in merged and merged[key] is not value:
                    raise ToolValidationError(f"Two factories put {key!r} into the invocation state. Use one of them.")
                merged[key] = value
        return merged


class _ToolEvents(HookProvider):
    """Reports each tool call and its result, also of calls that run at the same time."""

    def __init__(self, events: EventQueue, secrets: Sequence[str | None]) -> None:
        self._events = events
        self._secrets = secrets

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(BeforeToolCallEvent, self._before)
        registry.add_callback(AfterToolCallEvent, self._after)

    def _before(self, event: BeforeToolCallEvent[Any]) -> None:
        use = event.tool_use
        self._events.called(use["toolUseId"], use["name"], _arguments(use["input"]))

    def _after(self, event: AfterToolCallEvent[Any]) -> None:
        use = event.tool_use
        if event.exception is not None:
            logger.warning("Tool %r failed: %s", use["name"], cause_of(event.exception, self._secrets))
        blocks: list[Any] = [*event.result["content"]]
        reasons = (str(getattr(block.get("text"), "reason", "")) for block in blocks)
        self._events.returned(
            use["toolUseId"],
            use["name"],
            "\n".join(map(_text_of, blocks)),
            ok=event.result["status"] == "success",
            reason=next(filter(None, reasons), ""),
        )


def _arguments(given: Any) -> dict[str, Any]:
    return given if is_object(given) else {"input": given}


def _text_of(block: Mapping[str, Any]) -> str:
    """A block of a tool result as text; an image or document by its kind alone."""
    if "text" in block:
        return str(block["text"])
    return str(block["json"]) if "json" in block else f"[{next(iter(block), 'nothing')}]"


async def _close_client(model: Model) -> None:
    """Close the client of a model, if it has one."""
    close: Any = getattr(getattr(model, "client", None), "close", None)
    closing = close() if callable(close) else None
    if isawaitable(closing):
        await closing


def strands_model(config: AgentConfig, *, source: str = "config") -> Model:
    """A new model for `config`; `source` is the file that errors name.

    Raises:
        MissingExtra: a package that is an extra of hikidashi is not installed.
        ConfigError: another package, or a key, is missing.
    """
    row = config.info
    try:
        if problem := config.missing_key(os.environ):
            raise ConfigError(source, problem, "agent.api_key")
        return load(row.make)(config, config.model or row.default_model)
    except ImportError as error:
        if isinstance(error, HikidashiError):
            raise
        if not row.packages:
            raise ConfigError(source, f"cannot be imported: {error}.", "agent.provider") from error
        # If all are installed, one is broken: the model's own, since strands is imported above.
        missing = next((package for package in row.packages if not package.is_installed), row.packages[-1])
        raise missing.missing(source, "agent.provider") from error


def anthropic_model(config: AgentConfig, model: str) -> Model:
    """A model of the Anthropic API."""
    from strands.models.anthropic import AnthropicModel

    client = _given(api_key=config.api_key, base_url=config.base_url)
    return AnthropicModel(client_args=client, model_id=model, max_tokens=config.max_tokens)


def openai_model(config: AgentConfig, model: str) -> Model:
    """A model of OpenAI, or of a server with the same API."""
    from strands.models.openai import OpenAIModel

    # The client refuses to start without a key, also where the server asks for none.
    api_key = config.api_key or os.environ.get("OPENAI_API_KEY") or "none"
    client = _given(api_key=api_key, base_url=config.base_url)
    limit = "max_completion_tokens" if config.base_url is None else "max_tokens"
    return OpenAIModel(client_args=client, model_id=model, params={limit: config.max_tokens})


def bedrock_model(config: AgentConfig, model: str) -> Model:
    """A model of Amazon Bedrock; without a key, the credentials that boto3 finds."""
    from strands.models.bedrock import BedrockModel

    options = _given(region_name=config.region, endpoint_url=config.base_url, api_key=config.api_key)
    return BedrockModel(**options, model_id=model, max_tokens=config.max_tokens)


def ollama_model(config: AgentConfig, model: str) -> Model:
    """A model of an Ollama server."""
    from strands.models.ollama import OllamaModel

    return OllamaModel(config.base_url, model_id=model, max_tokens=config.max_tokens)


def _given(**options: str | None) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value}
