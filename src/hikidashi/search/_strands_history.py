"""What an agent's messages and state say about its tools: which were found, how, and for which messages of the user.

The state is kept by a session even when messages are summarised or truncated; messages are all there is for an agent
that starts with the history of another.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast, get_args

from ..convert.wire import strings
from .answers.texts import SEARCH_TOOLS, found_names
from .records.log import FoundBy

__all__ = [
    "called_in_messages",
    "conversation_of",
    "found_by_of",
    "keep",
    "keep_found_by",
    "kept",
    "loaded_by_searches",
    "was_replayed",
]

_FOUND = "hikidashi_found_tools"
_FOUND_BY = "hikidashi_found_by"
_CONVERSATION = "hikidashi_conversation"


def kept(agent: Any) -> list[str]:
    """The names of the tools in the agent's state, in the order in which they were loaded."""
    return strings(agent.state.get(_FOUND))


def keep(agent: Any, names: Iterable[str]) -> None:
    """Add `names` to the tools in the agent's state."""
    before = kept(agent)
    after = list(dict.fromkeys([*before, *names]))
    if after != before:
        agent.state.set(_FOUND, after)


def found_by_of(agent: Any) -> dict[str, FoundBy]:
    """How tools were found, where it was not a search."""
    told: object = agent.state.get(_FOUND_BY)
    if not isinstance(told, Mapping):
        return {}
    ways = cast("Mapping[str, FoundBy]", told)
    return {name: way for name, way in ways.items() if way in get_args(FoundBy)}


def keep_found_by(agent: Any, names: Iterable[str], found_by: FoundBy) -> None:
    """Add to the agent's state how `names` were found, unless it says so already."""
    before = found_by_of(agent)
    after = {**dict.fromkeys(names, found_by), **before}
    if after != before or not was_replayed(agent):
        agent.state.set(_FOUND_BY, {**before, **after})


def was_replayed(agent: Any) -> bool:
    """Whether the state says what earlier messages loaded."""
    return isinstance(agent.state.get(_FOUND_BY), Mapping)


def conversation_of(agent: Any) -> str:
    """A name for the agent's conversation, the same when its session is restored."""
    name = agent.state.get(_CONVERSATION)
    if not isinstance(name, str) or not name:
        name = secrets.token_hex(6)
        agent.state.set(_CONVERSATION, name)
    return name


def loaded_by_searches(messages: Iterable[Mapping[str, Any]]) -> Iterator[list[str]]:
    """For each message, the names of the tools that searches in it found."""
    searches: set[str] = set()
    for message in messages:
        names: list[str] = []
        for block in message["content"]:
            if use := block.get("toolUse"):
                if use["name"] == SEARCH_TOOLS:
                    searches.add(use["toolUseId"])
            elif (result := block.get("toolResult")) and result["toolUseId"] in searches:
                for content in result["content"]:
                    names += found_names(content.get("text", ""))
        yield names


def called_in_messages(messages: Iterable[Mapping[str, Any]]) -> Iterator[list[str]]:
    """For each message, the names of the tools whose results in it are no errors."""
    calls: dict[str, str] = {}
    for message in messages:
        names: list[str] = []
        for block in message["content"]:
            if use := block.get("toolUse"):
                calls[use["toolUseId"]] = use["name"]
            elif (result := block.get("toolResult")) and result.get("status") != "error":
                names += [calls[result["toolUseId"]]] if result["toolUseId"] in calls else []
        yield names
