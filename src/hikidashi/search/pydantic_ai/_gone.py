"""Tools that a run has seen and that are gone: their server is lost, or they were removed.

pydantic-ai answers the call of a tool that is not there with a request to try again, and ends the run at the second
one. Here it gets an error that says why, and the search tool stays, also where no tool is left to search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_core import SchemaValidator, core_schema

from ...errors import MissingExtra

try:
    from pydantic_ai import RunContext
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.toolsets import ToolsetTool, WrapperToolset
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

from ._history import found_or_called

__all__ = ["GoneTools", "KeepsCallable"]

_SEARCH = "tool-search"
_ANY_ARGUMENTS = SchemaValidator(core_schema.any_schema())


@dataclass
class GoneTools:
    """The tools of one run that are gone, and the search tool where it is."""

    tools: dict[str, ToolsetTool[Any]] = field(default_factory=dict[str, ToolsetTool[Any]])
    """Those that the model may still call, by name."""
    last: dict[str, ToolsetTool[Any]] = field(default_factory=dict[str, ToolsetTool[Any]])
    """The tools of the last step."""

    def __contains__(self, name: object) -> bool:
        return name in self.tools

    def update(self, now: dict[str, ToolsetTool[Any]], ctx: RunContext[Any]) -> None:
        """Take note of the tools of a step."""
        if not self.last and not self.tools:
            self.last = now
            return
        before = {**self.last, **self.tools}
        seen = {name for name, tool in before.items() if not tool.tool_def.defer_loading}
        seen.update(found_or_called(ctx.messages))
        self.tools = {name: before[name] for name in before if name in seen and name not in now}
        self.last = now


@dataclass
class KeepsCallable(WrapperToolset[Any]):
    """A toolset in which tools that are gone can be called, and say so."""

    gone: GoneTools
    explain: Callable[[str], str]
    """The answer to the call of a tool that is gone."""

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        tools = await super().get_tools(ctx)
        self.gone.update(tools, ctx)
        return {**tools, **{name: self._kept(tool) for name, tool in self.gone.tools.items()}}

    def _kept(self, tool: ToolsetTool[Any]) -> ToolsetTool[Any]:
        if tool.tool_def.tool_kind == _SEARCH:
            return tool
        shown = replace(tool.tool_def, defer_loading=False, with_native=None)
        return replace(tool, toolset=self, tool_def=shown, args_validator=_ANY_ARGUMENTS, args_validator_func=None)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        if name in self.gone:
            raise ToolFailed(self.explain(name))
        return await super().call_tool(name, tool_args, ctx, tool)
