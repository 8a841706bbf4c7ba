"""What tests of pydantic-ai's tool search share: models that follow a script, and what tools returned to them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from anthropic import AsyncAnthropic
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.toolsets import AbstractToolset

from hikidashi.search import deferred, to_pydantic_ai_search
from hikidashi.testing import MessagesServer

Messages = list[ModelMessage]


def scripted(*answers: ToolCallPart | str, seen: list[AgentInfo] | None = None) -> FunctionModel:
    """A model that gives these answers, one per request."""
    rest = list(answers)

    def answer(_: Messages, info: AgentInfo) -> ModelResponse:
        if seen is not None:
            seen.append(info)
        answer = rest.pop(0)
        return ModelResponse(parts=[TextPart(answer) if isinstance(answer, str) else answer])

    return FunctionModel(answer)


def searches(*queries: str) -> ToolCallPart:
    return ToolCallPart("search_tools", {"queries": list(queries)})


def returned(messages: Messages, name: str) -> list[ToolReturnPart]:
    parts = [part for message in messages for part in message.parts]
    return [part for part in parts if isinstance(part, ToolReturnPart) and part.tool_name == name]


def preloading(model: Any, tools: AbstractToolset[Any], *, preload: Any = 2, **options: Any) -> Agent[Any, str]:
    """An agent that finds `tools` by search, of which messages load some in advance."""
    search = to_pydantic_ai_search(preload=preload, **options)
    return Agent(model, toolsets=[deferred(tools)], capabilities=[search])


@asynccontextmanager
async def anthropic_model(
    server: MessagesServer, name: str = "claude-sonnet-4-6", **options: Any
) -> AsyncGenerator[AnthropicModel]:
    """A real model on a loopback server."""
    async with AsyncAnthropic(api_key="sk-test", base_url=server.url) as client:
        yield AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client), **options)
