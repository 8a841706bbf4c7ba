"""The files that `hikidashi serve` reads its servers from."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from hikidashi.common.files import config_folder

__all__ = ["config_files", "default_files"]

_NAMES = ("config.yaml", "config.yml", "config.toml")
_SECTION = re.compile(r"^[\"']?(servers|gateway)[\"']?\s*:|^\s*\[\s*(servers|gateway)\b", re.MULTILINE)


def config_files(named: Sequence[Path]) -> tuple[Path, ...]:
    """The files that were named, or the default ones.

    Raises:
        typer.BadParameter: there are none.
    """
    files = tuple(named) or default_files()
    if not files:
        import typer  # takes longer than the rest: the process that a client starts does without it

        from hikidashi.gateway.clients.takeover import default_config

        raise typer.BadParameter(
            f"no servers are configured: no config.yaml has a section `servers`, and there is no {default_config()}. "
            "Run `hikidashi serve import` to take over the servers of your MCP clients, or name a file such as "
            ".mcp.json.",
            param_hint="--config",
        )
    return files


def default_files() -> tuple[Path, ...]:
    """The `config.yaml` with servers, or else the file of `hikidashi serve import`; none where there are neither.

    The `config.yaml` is the one that HIKIDASHI_CONFIG names, that of the current folder, or that of the user's config
    folder. Its section `gateway` also holds for the servers of `hikidashi serve import`.
    """
    from hikidashi.gateway.clients.takeover import default_config  # not needed where a file is named

    named = os.environ.get("HIKIDASHI_CONFIG")
    folders = (Path(), config_folder())
    candidates = [Path(named)] if named else [folder / name for folder in folders for name in _NAMES]
    own = default_config()
    if named and not Path(named).is_file():
        return (Path(named),)  # reading it reports what is wrong
    for file in candidates:
        sections = _sections_of(file)
        if "servers" in sections:
            return (file,)
        if "gateway" in sections and own.exists():
            return (file, own)
    return (own,) if own.exists() else ()


def _sections_of(file: Path) -> set[str]:
    """Which of our sections a file has; the whole file is checked when it is read."""
    try:
        text = file.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return set()
    if text.lstrip().startswith("{"):  # a mapping in one pair of braces: rare, and worth the import
        import yaml

        try:
            content: object = yaml.safe_load(text)
        except yaml.YAMLError:
            return {"servers"}  # reading it says what is wrong
        return {"servers", "gateway"} & set(cast("dict[str, object]", content)) if isinstance(content, dict) else set()
    return {found[1] or found[2] for found in _SECTION.finditer(text)}
