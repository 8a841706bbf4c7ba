"""Entries of the MCP clients that have other keys than `.mcp.json`, and the folders that their files are in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["common_form", "project_folder"]

_FOLDERS_OF_CLIENTS = frozenset({".codex", ".cursor", ".gemini", ".vscode", ".zed"})


def common_form(given: Mapping[str, Any]) -> dict[str, Any]:
    """An entry with the keys of `.mcp.json`: `url` for Windsurf's `serverUrl` and Gemini CLI's `httpUrl`.

    `type` stands for `transport`, and `disabled` for an `enabled` that is false.
    """
    entry = dict(given)
    for key in ("serverUrl", "httpUrl"):
        if isinstance(entry.get(key), str) and "url" not in entry:
            entry["url"] = entry[key]
            if key == "httpUrl":
                entry["type"] = "http"
        elif key in entry and entry.get("url") != entry[key]:
            entry["url"], entry["type"] = entry[key], "http"
    if "transport" in entry and "type" not in entry:
        entry["type"] = entry["transport"]
    if entry.get("enabled") is False:
        entry["disabled"] = True
    return entry


def project_folder(file: Path) -> Path:
    """The folder that a file of servers is for: its own, or the one above where that is a client's, as `.vscode` is."""
    folder = file.absolute().parent
    return folder.parent if folder.name in _FOLDERS_OF_CLIENTS else folder
