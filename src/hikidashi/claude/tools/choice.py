"""The model setting `tool_choice`: which tools a request offers, and whether the model must call one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from pydantic_ai.settings import ToolOrOutput
from pydantic_ai.tools import ToolDefinition

from ...errors import InvalidSettingError

logger = logging.getLogger("hikidashi")


@dataclass(frozen=True)
class OneTool:
    """A call of one tool, which the model must make."""

    name: str
    """The name the model sees."""


Choice = Literal["auto", "required", "none"] | OneTool | None
"""What the model may do with the tools that are offered; None is up to Claude Code."""


@dataclass(frozen=True)
class ChosenTools:
    """The tools of a request after its `tool_choice`."""

    offered: Sequence[ToolDefinition]
    mode: Literal["auto", "required", "none"] | None
    named: bool = False
    """Whether they were chosen by name."""

    @property
    def forced(self) -> bool:
        """Whether the model must call one of them."""
        return self.mode == "required"

    def on_the_wire(self, wire_name: Callable[[str], str]) -> Choice:
        """The choice as the API gets it."""
        if self.named and len(self.offered) == 1:
            return OneTool(wire_name(self.offered[0].name))
        return self.mode


def chosen_tools(choice: object, tools: Sequence[ToolDefinition]) -> ChosenTools:
    """`tools` after `choice`, with the same meaning as in pydantic-ai's own models.

    Without function tools the agent's output still has its tools. They are offered and not forced: the API refuses a
    forced call while the model thinks.

    Raises:
        InvalidSettingError: `choice` is none of pydantic-ai's, or names no tool of the request.
    """
    match choice:
        case None | "auto" | "required":
            return ChosenTools(tools, cast("Any", choice))
        case "none" | []:
            return _with_output(tools, ())
        case list():
            names = cast("list[str]", choice)
            return ChosenTools(_named(names, tools, names), "required", named=True)
        case ToolOrOutput(function_tools=names):
            functions = [tool for tool in tools if tool.kind != "output"]
            return _with_output(tools, _named(names, functions, choice) if names else ())
        case _:
            raise InvalidSettingError(
                "tool_choice", choice, "it must be 'auto', 'required', 'none', a list of tool names or `ToolOrOutput`"
            )


def _with_output(tools: Sequence[ToolDefinition], functions: Sequence[ToolDefinition]) -> ChosenTools:
    offered = [tool for tool in tools if tool.kind == "output" or tool in functions]
    return ChosenTools(offered, None) if offered else ChosenTools(tools, "none")


def _named(names: Sequence[str], tools: Sequence[ToolDefinition], choice: object) -> list[ToolDefinition]:
    found = [tool for tool in tools if tool.name in names]
    unknown = [name for name in names if name not in [tool.name for tool in found]]
    if not found:
        known = ", ".join(repr(tool.name) for tool in tools[:20]) or "none"
        raise InvalidSettingError("tool_choice", choice, f"no such tool is in the request. Its tools: {known}")
    if unknown:
        logger.warning("`tool_choice` names tools that are not in the request: %s.", ", ".join(map(repr, unknown)))
    return found
