"""Entries of the MCP clients that have other keys than `.mcp.json`, and the folders that their files are in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ....common.folders import config_folder

__all__ = ["common_form", "project_folder", "working_folder"]

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


def working_folder(cwd: str | None, file: Path) -> str | None:
    """The absolute path of the folder that a process in `file` runs in: its `cwd`, or that of the project.

    A `cwd` may be relative to the folder of the project. A file among the user's settings has the home folder.
    """
    folder = project_folder(file)
    try:
        if cwd:
            return str(folder / Path(cwd).expanduser())
        return str(Path.home() if folder == config_folder().absolute() else folder)
    except RuntimeError:  # no home folder, or an unknown user: starting it reports that
        return cwd
