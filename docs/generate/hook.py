"""What mkdocs calls while it builds: generated parts, links between the languages, and a check of what is loaded."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

from docs.generate.pages import ROOT, generated

__all__ = ["on_page_context", "on_page_markdown", "on_post_build"]

log = logging.getLogger("mkdocs.hooks.generate")

_MARK = re.compile(r"^<!-- (generated|included): ([\w./]+) -->$", re.MULTILINE)
# What a browser would fetch by itself from elsewhere; links that a person follows are no matter.
_REMOTE = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with what it asks for: `<!-- generated: cli -->`, `<!-- included: CHANGELOG.md -->`."""
    return _MARK.sub(lambda found: generated(found[2]) if found[1] == "generated" else _included(found[2]), markdown)


def on_page_context(context: Any, *, page: Any, config: Any, **_: Any) -> Any:
    """The language switch leads to the same page, not to the start."""
    for other in config.extra["alternate"]:
        other["link"] = config.extra["languages"][other["lang"]] + (page.url or "index.html")
    return context


def on_post_build(*, config: Any, **_: Any) -> None:
    """The site loads nothing from other hosts."""
    for file in Path(config.site_dir).rglob("*.html"):
        for found in _REMOTE.finditer(file.read_text(encoding="utf-8")):
            if 'rel="canonical"' not in found[0]:
                log.warning("%s loads something from another host: %s", file.name, found[0][:200])


def _included(path: str) -> str:
    """A page of the project without its title, which the including page has in its own language."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.sub(r"\A# .*\n", "", text)
