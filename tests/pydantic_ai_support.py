"""What tests of pydantic-ai's tool search share: a model that follows a script, and what tools returned to it."""

from __future__ import annotations

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

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
