"""The tools, prompts and resources of all servers under unique names, and which server each belongs to.

A URI that two servers have stays that of the first; for the others, the name of the server comes in front of it, as a
part of the scheme: `notes+memo://insights`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.shared.uri_template import UriTemplate

from ..common.json import is_list, is_object
from ..config.gateway import LONGEST_NAME, NameStyle
from .names import exposed_names
from .upstream.listing import Listing

_DIGEST = 6


@dataclass(frozen=True, slots=True)
class Origin:
    """The server of a tool, prompt or resource, and its name or URI there."""

    server: str
    name: str


@dataclass(frozen=True, slots=True)
class _Template:
    place: Origin
    shown: types.ResourceTemplate

    @property
    def prefix(self) -> str:
        """What comes in front of its URIs."""
        return self.shown.uri_template.removesuffix(self.place.name)

    def fits(self, uri: str) -> bool:
        """Whether `uri` is one of its resources."""
        try:
            return UriTemplate.parse(self.shown.uri_template).match(uri) is not None
        except ValueError:
            return False


@dataclass(frozen=True, slots=True)
class MergedResources:
    """All resources and templates by the URIs under which they are offered."""

    listed: Mapping[str, types.Resource] = field(default_factory=dict[str, types.Resource])
    _places: Mapping[str, Origin] = field(default_factory=dict[str, Origin])
    _templates: tuple[_Template, ...] = ()
    _renamed: Mapping[Origin, str] = field(default_factory=dict[Origin, str])
    _servers: tuple[str, ...] = ()
    """The servers with the resources capability."""
    renaming: frozenset[str] = frozenset()
    """The servers of which a URI, or a template, is not offered as it is."""

    @property
    def templates(self) -> list[types.ResourceTemplate]:
        """The templates, as they are listed."""
        return [template.shown for template in self._templates]

    def __contains__(self, uri: str) -> bool:
        """Whether a resource is listed, or fits a template that is."""
        return uri in self._places or any(template.fits(uri) for template in self._templates)

    def places_of(self, uri: str) -> list[Origin]:
        """The servers that may have a resource, the likeliest first."""
        if place := self._places.get(uri):
            return [place]
        fitting = [
            Origin(template.place.server, uri.removeprefix(template.prefix))
            for template in self._templates
            if template.fits(uri)
        ]
        return list(dict.fromkeys([*fitting, *(Origin(server, uri) for server in self._servers)]))

    def template_place(self, uri_template: str) -> Origin | None:
        """The server of a resource template, and the template there."""
        found = (one.place for one in self._templates if one.shown.uri_template == uri_template)
        return next(found, None)

    def shown_uri(self, place: Origin) -> str:
        """The URI under which a resource of a server is offered."""
        if (shown := self._renamed.get(place)) is not None:
            return shown
        for template in self._templates:
            if (
                template.prefix
                and template.place.server == place.server
                and template.fits(template.prefix + place.name)
            ):
                return template.prefix + place.name
        return place.name

    def with_shown_uris(self, server: str, result: dict[str, Any]) -> dict[str, Any]:
        """A result of `server` in which each link to one of its resources leads to that server."""
        return self._with_shown(server, result)

    def _with_shown(self, server: str, value: Any) -> Any:
        """The content of a result, or a part of it, with the URIs under which resources are offered."""
        if is_list(value):
            return [self._with_shown(server, item) for item in value]
        if not is_object(value):
            return value
        given = dict(value)
        for key in ("content", "contents", "messages", "resource"):
            if key in given:
                given[key] = self._with_shown(server, given[key])
        if isinstance(uri := given.get("uri"), str):
            given["uri"] = self.shown_uri(Origin(server, uri))
        return given


@dataclass(frozen=True, slots=True)
class Merged:
    """All tools, prompts and resources by the names under which they are offered."""

    tools: Mapping[str, types.Tool] = field(default_factory=dict[str, types.Tool])
    tool_places: Mapping[str, Origin] = field(default_factory=dict[str, Origin])
    own_tools: Mapping[str, types.Tool] = field(default_factory=dict[str, types.Tool])
    """The tools as their servers list them, under the names of those."""
    prompts: Mapping[str, types.Prompt] = field(default_factory=dict[str, types.Prompt])
    prompt_places: Mapping[str, Origin] = field(default_factory=dict[str, Origin])
    resources: MergedResources = field(default_factory=MergedResources)


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
    tool_places: dict[str, Origin] = {}
    own_tools: dict[str, types.Tool] = {}
    prompts: dict[str, types.Prompt] = {}
    prompt_places: dict[str, Origin] = {}
    for server, listing in listings.items():
        for tool in listing.tools:
            shown = tool_names[server, tool.name]
            tools[shown] = tool.model_copy(update={"name": shown})
            tool_places[shown] = Origin(server, tool.name)
            own_tools[shown] = tool
        for prompt in listing.prompts:
            shown = prompt_names[server, prompt.name]
            prompts[shown] = prompt.model_copy(update={"name": shown})
            prompt_places[shown] = Origin(server, prompt.name)
    return Merged(
        tools=tools,
        tool_places=tool_places,
        own_tools=own_tools,
        prompts=prompts,
        prompt_places=prompt_places,
        resources=merged_resources(listings),
    )


def merged_resources(listings: Mapping[str, Listing]) -> MergedResources:
    """Merge the resources of servers, in their order."""
    listed: dict[str, types.Resource] = {}
    places: dict[str, Origin] = {}
    templates: dict[str, _Template] = {}
    renamed: dict[Origin, str] = {}
    for server, listing in listings.items():
        for resource in listing.resources:
            place = Origin(server, str(resource.uri))
            shown = _unique(place, listed)
            listed[shown] = resource.model_copy(update={"uri": shown})
            places[shown] = place
            if shown != place.name:
                renamed[place] = shown
        for template in listing.templates:
            place = Origin(server, template.uri_template)
            shown = _unique(place, templates)
            templates[shown] = _Template(place, template.model_copy(update={"uri_template": shown}))
    servers = tuple(server for server, listing in listings.items() if listing.capabilities.resources is not None)
    renaming = {place.server for place in renamed} | {one.place.server for one in templates.values() if one.prefix}
    return MergedResources(listed, places, tuple(templates.values()), renamed, servers, frozenset(renaming))


def _unique(place: Origin, taken: Iterable[str]) -> str:
    uri = place.name
    while uri in taken:
        uri = f"{_scheme(place.server)}+{uri}"
    return uri


def _scheme(server: str) -> str:
    """The name of a server as a part of a scheme: in lower case, since clients may change that (RFC 3986, 3.1)."""
    scheme = re.sub(r"[^a-z0-9.-]+", "-", server.lower()).strip("-.")
    if scheme == server and scheme[:1].isalpha():
        return scheme
    digest = hashlib.sha256(server.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"s-{scheme}-{digest}" if scheme else f"s-{digest}"
