"""What the acts of a tour share: the language, the audience, and agents on a scripted Claude Code."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent, RunContext
from pydantic_ai import messages as ai

from hikidashi import ClaudeCodeModel
from hikidashi.testing import MessagesServer, RecordedRequest, Reply

from ..output import Language

if TYPE_CHECKING:
    from .reader import JsonLines, Reader

__all__ = ["Bilingual", "Stage", "found_in", "text_in"]

Bilingual = Callable[[str, str], str]
"""Chooses between a text in English and the same in Japanese."""


def text_in(language: Language) -> Bilingual:
    """The texts of one language."""
    return lambda english, japanese: japanese if language == "ja" else english


class Stage:
    """The state that all acts share."""

    def __init__(
        self, text: Bilingual, audience: Reader | JsonLines, *, cli_path: Path | None, documents: tuple[Path, ...]
    ) -> None:
        self.text = text
        self.tell, self.waiting = audience.show, audience.waiting
        self.documents = documents  # to be searched; none is hikidashi's own README
        self.tools: list[dict[str, Any]] = []  # behind the gateway, as definitions
        self._cli_path = cli_path
        self._acts = 0

    @property
    def servers(self) -> Counter[str]:
        """How many tools each server has."""
        return Counter(tool["name"].partition("__")[0] for tool in self.tools)

    async def begin_act(self, title: str, about: str, *, code: str) -> None:
        """Announce the next act; `code` is the line that it demonstrates."""
        self._acts += 1
        await self.tell("act_started", number=self._acts, title=title, about=about, code=code)

    async def run_agent(
        self, agent: Agent[Any], question: str, script: list[Reply], *, deps: Any = None, **options: Any
    ) -> list[RecordedRequest]:
        """Run the agent and show its events; return what the real CLI sent to the scripted API."""

        async def follow(_: RunContext[Any], events: AsyncIterable[ai.AgentStreamEvent]) -> None:
            async for event in events:
                match event:
                    case ai.PartStartEvent(part=ai.NativeToolCallPart() as part) | ai.FunctionToolCallEvent(part=part):
                        await self.tell("called", tool=part.tool_name, arguments=part.args_as_dict())
                    case (
                        ai.PartStartEvent(part=ai.NativeToolReturnPart() as part)
                        | ai.FunctionToolResultEvent(part=part)
                    ):
                        await self.tell_result(part.tool_name, part.model_response_str(), part.outcome)
                    case _:
                        pass

        await self.tell("asked", text=question)
        with (
            TemporaryDirectory(prefix="hikidashi-tour-", ignore_cleanup_errors=True) as home,
            MessagesServer(script) as server,
            self.waiting(self.text("Claude Code is at work …", "Claude Code が動いています …")),
        ):
            own = {"env": server.env(home), "working_directory": home, "cli_path": self._cli_path}
            model = ClaudeCodeModel(timeout=60, max_retries=0, **own, **options)
            result = await agent.run(question, model=model, deps=deps, event_stream_handler=follow)
            await self.tell("answered", text=result.output)
        return server.requests

    async def tell_result(self, tool: str, content: str, outcome: str) -> None:
        """Show the result of a tool: of a search, the tools that it found."""
        if tool.endswith("search_tools"):
            await self.tell("found", hits=found_in(content))
        else:
            await self.tell("returned", tool=tool, content=content, outcome=outcome)


def found_in(answer: str) -> list[dict[str, str]]:
    """The first tools in an answer of `search_tools`, which has one definition to a line."""
    definitions = [json.loads(line) for line in answer.splitlines() if line.startswith("{")][:3]
    return [{"name": x["name"], "text": x["description"], "call_with": x["call_with"]} for x in definitions]
