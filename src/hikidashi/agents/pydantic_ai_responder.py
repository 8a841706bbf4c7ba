"""Answers conversations with a pydantic-ai Agent, on any of its models, including Claude Code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ..errors import MissingExtra
from ..texts import Language
from ._base import BaseResponder, EventQueue
from ._turns import Turn
from .failures import Audience
from .prompts import default_prompt

try:
    from pydantic_ai import Agent, UsageLimits
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
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.toolsets import FunctionToolset
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

__all__ = ["PydanticAIResponder"]


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

    async def _answer(self, turns: list[Turn], events: EventQueue) -> None:
        """Run the agent on `turns`."""
        *history, last = turns
        names: dict[str, str] = {}
        async with self._agent.run_stream_events(
            last.text, message_history=[_message(turn) for turn in history], usage_limits=self._limits
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
                        events.returned(part.tool_call_id, name, _text(part), ok=ok)
                    case _:
                        pass

    async def aclose(self) -> None:
        """Call `on_close`; may be called twice."""
        if self._on_close is not None:
            await self._on_close()


def _message(turn: Turn) -> ModelMessage:
    if turn.role == "user":
        return ModelRequest(parts=[UserPromptPart(content=turn.text)])
    return ModelResponse(parts=[TextPart(content=turn.text)])


def _text(part: Any) -> str:
    return part.model_response_str(wrap_if_error=False) if part.part_kind == "tool-return" else part.model_response()
