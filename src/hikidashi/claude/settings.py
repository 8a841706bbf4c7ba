"""Model settings: validated, and as environment and options of the Claude Code CLI."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from claude_agent_sdk import EffortLevel, PermissionMode, ThinkingConfig
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError
from pydantic_ai.settings import ModelSettings, ThinkingLevel, ToolOrOutput
from pydantic_ai.tools import ToolDefinition

from ..common.exceptions import without_prefix
from ..common.json import is_list
from ..errors import InvalidSettingError

logger = logging.getLogger("hikidashi")


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

    def on_the_wire(self, wire_name: Callable[[str], str], parallel: bool | None) -> dict[str, Any] | None:
        """The choice as the API gets it; None is up to Claude Code."""
        if self.named and len(self.offered) == 1:
            choice: dict[str, Any] = {"type": "tool", "name": wire_name(self.offered[0].name)}
        elif self.mode in ("required", "none"):
            choice = {"type": "any" if self.mode == "required" else "none"}
        elif parallel is False:
            choice = {"type": "auto"}
        else:
            return None
        return choice if parallel is not False or self.mode == "none" else {**choice, "disable_parallel_tool_use": True}


def chosen_tools(choice: Any, tools: Sequence[ToolDefinition]) -> ChosenTools:
    """`tools` after `choice`, with the same meaning as in pydantic-ai's own models.

    Without function tools the agent's output still has its tools. They are offered and not forced: the API refuses a
    forced call while the model thinks.

    Raises:
        InvalidSettingError: `choice` is none of pydantic-ai's, or names no tool of the request.
    """
    match choice:
        case None | "auto" | "required":
            return ChosenTools(tools, choice)
        case "none" | []:
            return _with_output(tools, ())
        case _ if is_list(choice):
            return ChosenTools(_named(choice, tools, choice), "required", named=True)
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


# All settings


PositiveSeconds = Annotated[float, Field(gt=0)]


class ClaudeCodeModelSettings(ModelSettings, total=False):
    """Settings of `ClaudeCodeModel`, beyond those every pydantic-ai model takes."""

    max_turns: int
    """How many turns Claude Code may take for one request."""

    max_budget_usd: float
    """How much one request may cost."""

    resume: str
    """Id of a Claude Code session to continue; only the newest user turn is sent to it."""

    working_directory: str | Path
    """Where Claude Code runs."""

    permission_mode: PermissionMode
    """How Claude Code decides about tools that are not allowed explicitly."""


class CheckedSettings(BaseModel):
    """The settings of one request that Claude Code uses, validated."""

    model_config = ConfigDict(strict=True, extra="ignore", arbitrary_types_allowed=True)

    max_tokens: PositiveInt | None = None
    temperature: Annotated[float, Field(ge=0, le=1)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: PositiveInt | None = None
    stop_sequences: list[str] | None = None
    parallel_tool_calls: bool | None = None
    tool_choice: Any = None
    extra_body: dict[str, Any] | None = None
    extra_headers: dict[str, str] | None = None
    timeout: PositiveSeconds | None = None
    max_retries: Annotated[int, Field(ge=0)] | None = None
    max_turns: PositiveInt | None = None
    max_budget_usd: Annotated[float, Field(gt=0)] | None = None
    resume: Annotated[str, Field(min_length=1)] | None = None
    working_directory: str | Path | None = None
    permission_mode: Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"] | None = None


def checked(settings: Mapping[str, Any] | None) -> CheckedSettings:
    """The settings that Claude Code uses, validated.

    Raises:
        InvalidSettingError: a value has the wrong type, or is out of range.
    """
    given = dict(settings or {})
    seconds = getattr(given.get("timeout"), "read", None)  # of an HTTP timeout object, the time to read
    if seconds is not None:
        given["timeout"] = float(seconds)
    try:
        result = CheckedSettings.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise InvalidSettingError(name, given[name], without_prefix(first["msg"])) from error
    if result.working_directory is not None and not Path(result.working_directory).is_dir():
        raise InvalidSettingError("working_directory", str(result.working_directory), "it must be an existing folder")
    return result


def overridden(defaults: CheckedSettings, given: CheckedSettings) -> CheckedSettings:
    """`defaults`, overridden by what is set in `given`."""
    return defaults.model_copy(update={name: getattr(given, name) for name in given.model_fields_set})


def environment(settings: CheckedSettings) -> dict[str, str]:
    """The settings that the CLI takes as environment variables, with the `tool_choice` of the API."""
    body: dict[str, Any] = {}
    for name in ("temperature", "top_p", "top_k", "stop_sequences", "tool_choice"):
        if (value := getattr(settings, name)) is not None:
            body[name] = value
    body |= settings.extra_body or {}
    env: dict[str, str] = {}
    if body:
        env["CLAUDE_CODE_EXTRA_BODY"] = json.dumps(body)
    if settings.max_tokens is not None:
        env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = str(settings.max_tokens)
    if settings.max_retries is not None:
        env["CLAUDE_CODE_MAX_RETRIES"] = str(settings.max_retries)
    if settings.extra_headers:
        env["ANTHROPIC_CUSTOM_HEADERS"] = "\n".join(
            f"{name}: {value}" for name, value in settings.extra_headers.items()
        )
    return env


class Thinking(TypedDict, total=False):
    """The part of `ClaudeAgentOptions` that is about thinking."""

    thinking: ThinkingConfig
    effort: EffortLevel


def thinking(level: ThinkingLevel | None) -> Thinking:
    """The options for a thinking level; none for None."""
    match level:
        case None:
            return {}
        case False:
            return {"thinking": {"type": "disabled"}}
        case True:
            return {"thinking": {"type": "adaptive"}}
        case "minimal":  # lower than any effort of Claude
            return {"thinking": {"type": "adaptive"}, "effort": "low"}
        case effort:
            return {"thinking": {"type": "adaptive"}, "effort": effort}
