"""Acts one and two: the agent on Claude Code, its tools run by pydantic-ai, then by Claude Code itself."""

from __future__ import annotations

import time
from collections.abc import Mapping

from pydantic_ai import Agent, AgentRun
from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelResponseStreamEvent,
    NativeToolCallPart,
    NativeToolReturnPart,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)

from hikidashi.claude.model import ClaudeCodeModel
from hikidashi.testing import MessagesServer, call, say, turn

from .events import ActStarted, Answered, Asked, Called, DiaryRead, Offered, OfferedTool, Outcome, Returned, Said, Used
from .stage import Stage
from .trip import Diary, trip_agent

__all__ = ["claude_code_runs_the_tools", "pydantic_ai_runs_the_tools"]


_OUTCOMES: Mapping[str, Outcome] = {"success": "success", "retried": "retry"}


async def pydantic_ai_runs_the_tools(stage: Stage, number: int) -> None:
    """Two calls at once, one that must be tried again, and dependencies that are changed."""
    words = stage.words
    place, day = words.place, words.saturday
    script = [
        turn(
            words.first_thought,
            call("weather", {"city": words.city, "day": words.saturday}),
            call("trains", {"origin": words.origin, "destination": words.city, "after": "09:00"}),
        ),
        call("book_table", {"place": place, "day": day, "time": "18:00", "people": 2}),
        call("book_table", {"place": place, "day": day, "time": "18:30", "people": 2}),
        say(words.first_answer),
    ]
    await stage.tell(
        ActStarted(
            number=number,
            title=words.agent_title,
            about=words.agent_about,
            code='model = ClaudeCodeModel("sonnet", tool_execution="agent")',
        )
    )
    async with stage.claude_code(script, "agent") as (model, server):
        await _run(stage, trip_agent(words), model, server, words.first_question)


async def claude_code_runs_the_tools(stage: Stage, number: int) -> None:
    """The same agent and diary, its tools registered with the model."""
    words = stage.words
    script = [
        call("weather", {"city": words.city, "day": words.sunday}),
        call("book_table", {"place": words.place, "day": words.sunday, "time": "12:00", "people": 2}),
        say(words.second_answer),
    ]
    await stage.tell(
        ActStarted(
            number=number,
            title=words.mcp_title,
            about=words.mcp_about,
            code="model.set_agent_toolsets(agent._function_toolset, deps=diary)",
        )
    )
    agent = trip_agent(words)
    async with stage.claude_code(script, "mcp") as (model, server):
        model.set_agent_toolsets(agent._function_toolset, deps=stage.diary)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the name spec 002 gives
        await _run(stage, agent, model, server, words.second_question)


async def _run(
    stage: Stage, agent: Agent[Diary, str], model: ClaudeCodeModel, server: MessagesServer, question: str
) -> None:
    await stage.tell(Asked(text=question))
    reporter = _Reporter(stage, server)
    started = time.perf_counter()
    with stage.audience.waiting():
        async with agent.iter(question, model=model, deps=stage.diary) as run:
            await reporter.follow(run)
        seconds = time.perf_counter() - started
        result = run.result
        assert result is not None, "a run that raised nothing has a result"
        await stage.tell(Answered(text=result.output))
        await stage.tell(DiaryRead(entries=tuple(stage.diary.entries)))
        await stage.tell(
            Used(
                api_requests=len(server.requests),
                input_tokens=run.usage.input_tokens,
                output_tokens=run.usage.output_tokens,
                cost_usd=float(run.usage.cost or 0),
                seconds=seconds,
            )
        )


class _Reporter:
    """Tells the audience about each event of a run, in the order they happen."""

    def __init__(self, stage: Stage, server: MessagesServer) -> None:
        self._tell = stage.tell
        self._server = server
        self._offers_told = False
        self._said = ""

    async def follow(self, run: AgentRun[Diary, str]) -> None:
        async for node in run:
            if Agent.is_model_request_node(node):
                async with node.stream(run.ctx) as stream:
                    async for event in stream:
                        await self._model_event(event)
            elif Agent.is_call_tools_node(node):
                async with node.stream(run.ctx) as tool_events:
                    async for event in tool_events:
                        await self._tool_event(event)

    async def _model_event(self, event: ModelResponseStreamEvent | AgentStreamEvent) -> None:
        await self._offers()
        match event:
            case PartEndEvent(part=TextPart(content=text)):
                self._said = text
            case PartStartEvent(part=NativeToolCallPart() as part):
                await self._call(part)
            case PartStartEvent(part=NativeToolReturnPart() as part):
                await self._return(part, str(part.content))
            case _:
                pass

    async def _tool_event(self, event: object) -> None:
        if isinstance(event, FunctionToolCallEvent):
            await self._call(event.part)
        elif isinstance(event, FunctionToolResultEvent):  # pragma: no branch - these agents have no other
            await self._return(event.part, event.part.model_response_str())

    async def _call(self, part: ToolCallPart | NativeToolCallPart) -> None:
        if self._said:
            await self._tell(Said(text=self._said))
            self._said = ""
        await self._tell(Called(id=part.tool_call_id, tool=part.tool_name, arguments=part.args_as_dict()))

    async def _return(self, part: ToolReturnPart | NativeToolReturnPart, content: str) -> None:
        outcome = _OUTCOMES.get(part.outcome, "failed")
        await self._tell(Returned(id=part.tool_call_id, tool=part.tool_name, content=content, outcome=outcome))

    async def _offers(self) -> None:
        """The tools as they stand in the request that Claude Code sent to the model."""
        if self._offers_told or not self._server.requests:
            return
        self._offers_told = True
        tools = tuple(
            OfferedTool(
                name=tool["name"],
                description=tool.get("description", ""),
                arguments=tuple(tool["input_schema"].get("properties", {})),
            )
            for tool in self._server.requests[0].tools
        )
        await self._tell(Offered(tools=tools))
