"""The generated pages by name, each made once for all languages."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from . import commands, config_keys, error_tree, python_api

__all__ = ["GENERATED", "ROOT", "generated", "links"]

ROOT = Path(__file__).parents[2]

GENERATED: dict[str, Callable[[], str]] = {
    "api": python_api.reference,
    "cli": commands.reference,
    "config": lambda: config_keys.reference((ROOT / "config.yaml.example").read_text(encoding="utf-8")),
    "errors": error_tree.reference,
}


links = cache(python_api.links)


@cache
def generated(name: str) -> str:
    """What a page asks for with `<!-- generated: name -->`."""
    return GENERATED[name]()
