"""The tools, prompts and resources of all servers under unique names, and which server each belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..errors import MissingExtra
from .names import LONGEST_NAME, NameStyle, exposed_names
from .upstream.listing import Listing

try:
    import mcp_types as types
    from mcp.shared.uri_template import UriTemplate
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["Merged", "Place", "merged"]


@dataclass(frozen=True, slots=True)
class Place:
    """The server of a tool, prompt or resource, and its name or URI there."""

    server: str
    name: str


@dataclass(frozen=True, slots=True)
class Merged:
    """All tools, prompts and resources by the names under which they are offered."""

    tools: Mapping[str, types.Tool] = field(default_factory=dict[str, types.Tool])
    tool_places: Mapping[str, Place] = field(default_factory=dict[str, Place])
    own_tools: Mapping[str, types.Tool] = field(default_factory=dict[str, types.Tool])
    """The tools as their servers list them, under the names of those."""
    prompts: Mapping[str, types.Prompt] = field(default_factory=dict[str, types.Prompt])
    prompt_places: Mapping[str, Place] = field(default_factory=dict[str, Place])
    resources: Mapping[str, types.Resource] = field(default_factory=dict[str, types.Resource])
    resource_places: Mapping[str, Place] = field(default_factory=dict[str, Place])
    templates: tuple[types.ResourceTemplate, ...] = ()
    template_servers: tuple[str, ...] = ()
    with_resources: tuple[str, ...] = ()
    """The servers with the resources capability."""

    def has_resource(self, uri: str) -> bool:
        """Whether a resource is listed, or fits a template that is."""
        return uri in self.resource_places or bool(self._fitting(uri))

    def places_of(self, uri: str) -> list[Place]:
        """The servers that may have a resource, the likeliest first."""
        if place := self.resource_places.get(uri):
            return [place]
        return [Place(server, uri) for server in dict.fromkeys((*self._fitting(uri), *self.with_resources))]

    def template_place(self, uri_template: str) -> Place | None:
        """The server of a resource template."""
        for server, template in zip(self.template_servers, self.templates, strict=True):
            if template.uri_template == uri_template:
                return Place(server, uri_template)
        return None

    def _fitting(self, uri: str) -> list[str]:
        """The servers with a template that `uri` fits."""
        return [
            server
            for server, template in zip(self.template_servers, self.templates, strict=True)
            if _fits(template.uri_template, uri)
        ]


def merged(
    listings: Mapping[str, Listing], style: NameStyle, *, longest: int = LONGEST_NAME, reserved: Iterable[str] = ()
) -> Merged:
    """Merge the listings of servers, in their order."""
    tool_names = exposed_names(
        {server: [tool.name for tool in listing.tools] for server, listing in listings.items()},
        style,
        longest=longest,
        reserved=reserved,
    )
    prompt_names = exposed_names(
        {server: [prompt.name for prompt in listing.prompts] for server, listing in listings.items()},
        style,
        longest=longest,
    )
    tools: dict[str, types.Tool] = {}
    tool_places: dict[str, Place] = {}
    own_tools: dict[str, types.Tool] = {}
    prompts: dict[str, types.Prompt] = {}
    prompt_places: dict[str, Place] = {}
    resources: dict[str, types.Resource] = {}
    resource_places: dict[str, Place] = {}
    templates: list[types.ResourceTemplate] = []
    template_servers: list[str] = []
    for server, listing in listings.items():
        for tool in listing.tools:
            shown = tool_names[server, tool.name]
            tools[shown] = tool.model_copy(update={"name": shown})
            tool_places[shown] = Place(server, tool.name)
            own_tools[shown] = tool
        for prompt in listing.prompts:
            shown = prompt_names[server, prompt.name]
            prompts[shown] = prompt.model_copy(update={"name": shown})
            prompt_places[shown] = Place(server, prompt.name)
        for resource in listing.resources:
            uri = str(resource.uri)
            shown = uri if uri not in resources else f"{server}+{uri}"
            resources[shown] = resource.model_copy(update={"uri": shown})
            resource_places[shown] = Place(server, uri)
        templates += listing.templates
        template_servers += [server] * len(listing.templates)
    return Merged(
        tools=tools,
        tool_places=tool_places,
        own_tools=own_tools,
        prompts=prompts,
        prompt_places=prompt_places,
        resources=resources,
        resource_places=resource_places,
        templates=tuple(templates),
        template_servers=tuple(template_servers),
        with_resources=tuple(
            server for server, listing in listings.items() if listing.capabilities.resources is not None
        ),
    )


def _fits(template: str, uri: str) -> bool:
    try:
        return UriTemplate.parse(template).match(uri) is not None
    except ValueError:
        return False
