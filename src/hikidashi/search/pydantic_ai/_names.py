"""Tools under names that the API of a model accepts.

pydantic-ai sends names as they are, and an API answers a request with 400 if one of them has a character other than
ASCII letters, digits, `_` and `-`, or is too long. `ClaudeCodeModel` maps names itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ...convert.wire import ALIASES, WireNames, mapping, strings
from ...errors import MissingExtra

try:
    from pydantic_ai import RunContext
    from pydantic_ai.messages import (
        ModelMessage,
        NativeToolSearchReturnPart,
        ToolAvailabilityDeltaPart,
        ToolCallPart,
        ToolReturnPart,
        ToolSearchReturnPart,
    )
    from pydantic_ai.models.wrapper import WrapperModel
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import ToolsetTool, WrapperToolset
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

__all__ = ["ApiNames", "NamedForApi", "NamesOfApis"]

_LONGEST = 64
_LONGEST_ANTHROPIC = 128
_ANY_NAME = ("pydantic_ai.models.function", "pydantic_ai.models.test")


@dataclass
class ApiNames:
    """The names that one kind of API accepts, for the tools that were offered to it."""

    wire: WireNames
    made: dict[str, tuple[ToolDefinition, ToolDefinition]] = field(
        default_factory=dict[str, tuple[ToolDefinition, ToolDefinition]]
    )
    """Definitions before and after."""

    def offered(self, tool: ToolDefinition) -> ToolDefinition:
        """`tool` under a name that the API accepts; `tool` itself if it has one."""
        name = self.wire.of(tool.name)
        if name == tool.name:
            return tool
        known = self.made.get(tool.name)
        if known is None or (known[0] is not tool and known[0] != tool):
            known = self.made[tool.name] = tool, _renamed(tool, name)
        return known[1]

    def in_history(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """`messages` with such names in the calls and results of tools; `messages` itself if nothing changes."""
        changed = False
        named: list[ModelMessage] = []
        for message in messages:
            parts = [self._part(part) for part in message.parts]
            if any(new is not old for new, old in zip(parts, message.parts, strict=True)):
                changed = True
                message = replace(message, parts=cast("Any", parts))  # noqa: PLW2901
            named.append(message)
        return named if changed else messages

    def _part(self, part: Any) -> Any:
        match part:
            case ToolSearchReturnPart() | NativeToolSearchReturnPart():
                matches = part.discovered_tools
                named = [{**match, "name": self.wire.of(match["name"])} for match in matches]
                return part if named == matches else replace(part, content={**part.content, "discovered_tools": named})
            case ToolAvailabilityDeltaPart():
                added = [*map(self.wire.of, part.tools_added)]
                return part if added == list(part.tools_added) else replace(part, tools_added=added)
            case ToolCallPart() | ToolReturnPart():
                name = self.wire.of(part.tool_name)
                return cast("Any", part if name == part.tool_name else replace(cast("Any", part), tool_name=name))
            case _:
                return part


class NamesOfApis:
    """The names of the tools of one agent for the models that it is run with."""

    def __init__(self) -> None:
        self._by_length: dict[int, ApiNames] = {}

    def of(self, model: Any) -> ApiNames | None:
        """The names for `model`; None if it takes any name."""
        longest = min(map(_longest, _models(model)), default=None)
        if longest is None:
            return None
        return self._by_length.setdefault(longest, ApiNames(WireNames(longest=longest)))

    def original(self, name: str) -> str:
        """The tool's own name."""
        for names in self._by_length.values():
            if (own := names.wire.original(name)) is not None:
                return own
        return name


@dataclass
class NamedForApi(WrapperToolset[Any]):
    """A toolset whose tools have names that the API of the model accepts; calls reach the tools under their own."""

    names: NamesOfApis

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        tools = await super().get_tools(ctx)
        names = self.names.of(ctx.model)
        if names is None:
            return tools
        names.wire.add(tools)
        return {names.wire.of(name): self._named(tool, names) for name, tool in tools.items()}

    def _named(self, tool: ToolsetTool[Any], names: ApiNames) -> ToolsetTool[Any]:
        offered = names.offered(tool.tool_def)
        return tool if offered is tool.tool_def else replace(tool, toolset=self, tool_def=offered)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        names = self.names.of(ctx.model)
        own = None if names is None else names.wire.original(name)
        if names is not None and own is not None and own != name:
            name, ctx = own, replace(ctx, tool_name=own)
            tool = replace(tool, tool_def=names.made[own][0])
        return await super().call_tool(name, tool_args, ctx, tool)


def _models(model: Any) -> list[Any]:
    """The models behind `model` whose API checks names."""
    while isinstance(model, WrapperModel):  # instrumented, limited in its concurrency
        model = cast("Any", model).wrapped
    inner = getattr(model, "models", None)
    if isinstance(inner, Sequence):  # one of them answers: `FallbackModel`
        return [checked for one in cast("Sequence[Any]", inner) for checked in _models(one)]
    kind = type(model).__module__
    return [model] if kind.startswith("pydantic_ai.models.") and not kind.startswith(_ANY_NAME) else []


def _longest(model: Any) -> int:
    is_anthropic = type(model).__module__ == "pydantic_ai.models.anthropic" and model.system == "anthropic"
    return _LONGEST_ANTHROPIC if is_anthropic else _LONGEST


def _renamed(tool: ToolDefinition, name: str) -> ToolDefinition:
    """`tool` under another name, found by its own name too."""
    metadata: Mapping[str, Any] = tool.metadata or {}
    meta = mapping(metadata.get("meta"))
    aliases = [*strings(meta.get(ALIASES)), tool.name]
    return replace(
        tool,
        name=name,
        description=tool.description or tool.name,
        metadata={**metadata, "meta": {**meta, ALIASES: aliases}},
    )
