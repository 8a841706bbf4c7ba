"""The tools, prompts and resources of a server, in a form that can be kept on disk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import mcp_types as types
from mcp import MCPError
from mcp.client import Client
from pydantic import ValidationError

from ...servers.listing import ListRepairs

_MOST_PAGES = 1_000

_Page = TypeVar("_Page", bound=types.PaginatedResult)


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools, prompts, resources and templates of one server."""

    tools: tuple[types.Tool, ...] = ()
    prompts: tuple[types.Prompt, ...] = ()
    resources: tuple[types.Resource, ...] = ()
    templates: tuple[types.ResourceTemplate, ...] = ()
    capabilities: types.ServerCapabilities = field(default_factory=types.ServerCapabilities)
    instructions: str | None = None
    info: types.Implementation | None = None
    protocol: str = ""
    notes: tuple[str, ...] = ()
    """What was left out, with the reason."""

    def to_json(self) -> dict[str, Any]:
        """The listing as JSON values."""
        return {
            "tools": [_dumped(tool) for tool in self.tools],
            "prompts": [_dumped(prompt) for prompt in self.prompts],
            "resources": [_dumped(resource) for resource in self.resources],
            "templates": [_dumped(template) for template in self.templates],
            "capabilities": _dumped(self.capabilities),
            "instructions": self.instructions,
            "info": None if self.info is None else _dumped(self.info),
            "protocol": self.protocol,
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Listing:
        """The listing that `to_json` returned as `value`.

        Raises:
            ValueError, KeyError, TypeError: `value` is not from `to_json`.
        """
        return cls(
            tools=tuple(map(types.Tool.model_validate, value["tools"])),
            prompts=tuple(map(types.Prompt.model_validate, value["prompts"])),
            resources=tuple(map(types.Resource.model_validate, value["resources"])),
            templates=tuple(map(types.ResourceTemplate.model_validate, value["templates"])),
            capabilities=types.ServerCapabilities.model_validate(value["capabilities"]),
            instructions=None if value["instructions"] is None else _text(value["instructions"]),
            info=None if value["info"] is None else types.Implementation.model_validate(value["info"]),
            protocol=_text(value["protocol"]),
            notes=tuple(map(_text, value["notes"])),
        )


async def list_everything(client: Client, repairs: ListRepairs) -> Listing:
    """List the tools, prompts, resources and templates of a connected server, on all pages.

    A list that the server refuses is empty: some servers declare capabilities that they do not have. Invalid items are
    left out, and noted.
    """
    capabilities = client.server_capabilities
    notes: list[str] = []
    session = client.session

    async def pages(send: Callable[[types.PaginatedRequestParams], Awaitable[_Page]]) -> list[_Page]:
        found: list[_Page] = []
        cursor, seen = None, set[str]()
        while len(found) < _MOST_PAGES:
            params = types.PaginatedRequestParams(cursor=cursor)
            try:
                found.append(await send(params))
            except ValidationError:
                with repairs.on(client.protocol_version, notes):
                    found.append(await send(params))
            cursor = found[-1].next_cursor
            if cursor is None or cursor in seen:
                return found
            seen.add(cursor)
        return found

    async def optional(
        send: Callable[[types.PaginatedRequestParams], Awaitable[_Page]], declared: object
    ) -> list[_Page]:
        if declared is None:
            return []
        try:
            return await pages(send)
        except MCPError as refused:
            if refused.code not in {types.METHOD_NOT_FOUND, types.INVALID_PARAMS, types.INVALID_REQUEST}:
                raise
            return []

    listed = await optional(lambda params: session.list_tools(params=params), capabilities.tools)
    tools: dict[str, types.Tool] = {}
    for tool in (tool for page in listed for tool in page.tools):
        if tool.name in tools:
            notes.append(f"two tools are named {tool.name!r}; the first is used")
        else:
            tools[tool.name] = tool
    prompts = await optional(lambda params: session.list_prompts(params=params), capabilities.prompts)
    resources = await optional(lambda params: session.list_resources(params=params), capabilities.resources)
    templates = await optional(lambda params: session.list_resource_templates(params=params), capabilities.resources)
    return Listing(
        tools=tuple(tools.values()),
        prompts=tuple({prompt.name: prompt for page in prompts for prompt in page.prompts}.values()),
        resources=tuple({str(one.uri): one for page in resources for one in page.resources}.values()),
        templates=tuple({one.uri_template: one for page in templates for one in page.resource_templates}.values()),
        capabilities=capabilities,
        instructions=client.instructions,
        info=client.server_info,
        protocol=client.protocol_version,
        notes=tuple(notes),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a string")
    return value


def _dumped(model: Any) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
