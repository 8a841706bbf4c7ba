"""Servers taken out of a client's file, each kept as it was written there, and put back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from ...common.jsonc import parse
from ...servers.clients import Client, Place
from ._json_edit import EditError, member_source, put_member_source, remove
from ._toml_edit import parse_toml, put_table_source, remove_table, table_source

__all__ = ["put_back", "server_in", "take_out", "value_at"]

_ANOTHER = "the file has another server of that name now; backups with the moved one are beside the file"


def take_out(
    client: Client, place: Place, text: str, names: Iterable[str]
) -> tuple[str, dict[str, str], dict[str, str]]:
    """`text` without the servers `names`, each of these as it was written, and why some stay.

    Raises:
        TextError: `text` is invalid.
    """
    taken: dict[str, str] = {}
    left: dict[str, str] = {}
    for name in names:
        value = _value(client, place, text, name)
        if value is None:
            continue
        try:
            source = _source(client, place, text, name)
            if server_in(client, place, name, source) != value:
                example = f"[{place.key[0]}.{name}]"
                raise EditError(f"it is written in a form that cannot be moved; write it as a table, {example}", 1, 1)
            text = _without(client, place, text, name)
        except EditError as error:
            left[name] = error.reason
        else:
            taken[name] = source
    return text, taken, left


def put_back(
    client: Client, place: Place, text: str, moved: Mapping[str, str]
) -> tuple[str, list[str], dict[str, str]]:
    """`text` with those of the servers that it does not have, their names, and why others were not put back.

    Raises:
        TextError: `text` is invalid, or cannot be added to.
    """
    back: list[str] = []
    left: dict[str, str] = {}
    for name, source in moved.items():
        there = _value(client, place, text, name)
        if there is not None:
            if there != server_in(client, place, name, source):
                left[name] = _ANOTHER
            continue
        if client.format == "toml":
            text = put_table_source(text, (place.key[0], name), source)
        else:
            text = put_member_source(text, (*place.key, name), source, comments=client.format == "jsonc")
        back.append(name)
    return text, back, left


def server_in(client: Client, place: Place, name: str, source: str) -> Any:
    """The server that was kept as `source`.

    Raises:
        TextError: `source` is invalid.
    """
    if client.format == "toml":
        return value_at(parse_toml(source), (*place.key, name))
    return value_at(_parsed(client, f"{{{source}}}"), (name,))


def value_at(content: Any, path: Iterable[str]) -> Any:
    """The value at `path` in objects; None if it is not there."""
    for key in path:
        content = cast("dict[str, Any]", content).get(key) if isinstance(content, dict) else None
    return content


def _value(client: Client, place: Place, text: str, name: str) -> Any:
    return value_at(_parsed(client, text), (*place.key, name))


def _parsed(client: Client, text: str) -> Any:
    if client.format == "toml":
        return parse_toml(text)
    node = parse(text, comments=client.format == "jsonc")
    return None if node is None else node.value


def _source(client: Client, place: Place, text: str, name: str) -> str:
    if client.format == "toml":
        return table_source(text, (place.key[0], name))
    return member_source(text, (*place.key, name), comments=client.format == "jsonc")


def _without(client: Client, place: Place, text: str, name: str) -> str:
    if client.format == "toml":
        return remove_table(text, (place.key[0], name))
    return remove(text, (*place.key, name), comments=client.format == "jsonc")
